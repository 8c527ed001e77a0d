//! What only the end of a run shows.

use smbd_sim::loops::Stage;
use smbd_smb2::server::{Completion, Done, Handle, OpenParameters, Operation, OperationId, SharePath};
use smbd_smb2::wire::{AccessMask, CreateDisposition, CreateOptions, FileAttributes, ShareAccess, Text};

use crate::common::{Breach, law};
use crate::plan::End;
use crate::server_task::{EPOCH, Shared};
use crate::work::File;

/// By which the files know who looks at them.
const OTHER: u64 = 2;

/// The laws of a run that is over.
pub fn judge(shared: &Shared, files: &[File], stage: &Stage) -> Result<(), Breach> {
    let Shared { plan, notes, ledger, .. } = shared;
    law!("stall", stage.tasks() == 0, "{} tasks have not ended: {}", stage.tasks(), stage.story());
    let seen = notes.seen();
    if seen.is_refused {
        law!("ends", !plan.is_gentle, "the connection was not established");
        return Ok(());
    }
    let is_alone = plan.channels.is_none();
    let is_left_alone =
        is_alone && plan.is_gentle && plan.mischief.is_none() && !plan.is_hasty && !seen.is_asked;
    let (client, server) = (&seen.own.client_ended, &seen.own.server_ended);
    law!(
        "ends",
        seen.is_done || !is_left_alone || plan.end != End::Quiet,
        "too early: client: {client:?}, server: {server:?}"
    );
    law!("ends", server.is_some(), "the server has not heard of the end");
    let is_gone = plan.end == End::ClientVanishes && seen.is_struck;
    law!("ends", client.is_some() || is_gone, "the client has not heard of the end");
    // Whoever gives up does not wait for the answer.
    if seen.is_done && !plan.is_hasty && plan.is_gentle && is_alone {
        ledger.borrow().is_over()?;
    }
    for (at, file) in files.iter().enumerate() {
        if file.is_there && !file.is_lost && !is_gone {
            look(shared, at, file, seen.is_done)?;
        }
    }
    Ok(())
}

/// Whether the server has what is known to be in a file.
fn look(shared: &Shared, at: usize, file: &File, is_done: bool) -> Result<(), Breach> {
    let shares = if shared.plan.protection.has_secret { 2 } else { 1 };
    let path =
        SharePath::parse(Text::from(file.name.as_str())).map_err(|status| format!("plan: {status}"))?;
    let handle = Handle(u64::MAX - at as u64);
    let open = OpenParameters {
        share: file.tree % shares,
        path,
        access: AccessMask(0x0012_0089),
        read_only_access: AccessMask(0x0012_0089),
        share_access: ShareAccess(7),
        disposition: CreateDisposition::OPEN,
        options: CreateOptions(0),
        file_attributes: FileAttributes(0),
    };
    let mut files = shared.files.borrow_mut();
    let mut bytes = Vec::new();
    let mut ask = |operation| -> Completion {
        let id = OperationId(at as u64);
        files.carry_out(OTHER, id, operation, Some(&mut bytes), EPOCH).unwrap_or(Ok(Done::Nothing))
    };
    let size = match ask(Operation::Open(handle, open)) {
        Ok(Done::Opened { attributes, .. }) => attributes.end_of_file,
        other => return Err(format!("bytes: {} cannot be opened: {other:?}", file.name)),
    };
    let there = file.content.len() as u64;
    law!("bytes", !is_done || size == there, "{} has {size} bytes, and there have to be {there}", file.name);
    let len = u32::try_from(size).unwrap_or(u32::MAX);
    if let Err(status) = ask(Operation::ReadChannel { handle, offset: 0, len }) {
        return Err(format!("bytes: {} cannot be read: {status}", file.name));
    }
    let wrong = file.content.wrong(0, &bytes);
    law!("bytes", wrong.is_none(), "byte {wrong:?} of {} is another one on the server", file.name);
    Ok(())
}
