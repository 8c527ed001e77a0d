//! What only the end of a run shows.

use smbd_smb2::server::{FileSystem as _, OpenParameters, SharePath};
use smbd_smb2::wire::{AccessMask, CreateDisposition, CreateOptions, FileAttributes, ShareAccess, Text};

use crate::plan::{Carrier, End};
use crate::server::Store;
use crate::shared::{EPOCH, Shared};
use crate::work::File;
use smbd_testkit::{Breach, law};

/// The laws of a run that is over.
pub fn judge(shared: &Shared, (stores, files): (&[Store], &[File]), has_drained: bool) -> Result<(), Breach> {
    let Shared { plan, notes, ledger, .. } = shared;
    let stage = notes.stage();
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
    let is_heard = plan.carrier == Carrier::Tcp || plan.is_gentle;
    if has_drained && is_heard && !seen.is_asked {
        ledger.borrow().is_answered()?;
    }
    for file in files {
        if file.is_there && !file.is_lost && !is_gone {
            look(&stores[file.tree % stores.len()], file, seen.is_done)?;
        }
    }
    Ok(())
}

/// Whether the server has what is known to be in a file.
fn look(store: &Store, file: &File, is_done: bool) -> Result<(), Breach> {
    let path =
        SharePath::parse(Text::from(file.name.as_str())).map_err(|status| format!("plan: {status}"))?;
    let how = OpenParameters {
        share: 0,
        path,
        access: AccessMask(0x0012_0089),
        read_only_access: AccessMask(0x0012_0089),
        share_access: ShareAccess(7),
        disposition: CreateDisposition::OPEN,
        options: CreateOptions(0),
        file_attributes: FileAttributes(0),
    };
    let mut store = store.clone();
    let failed = |what: &str, status| format!("bytes: {} cannot be {what}: {status}", file.name);
    let (opened, _) = store.open(&how, EPOCH).map_err(|status| failed("opened", status))?;
    let size = store.attributes(&opened).map_err(|status| failed("opened", status))?.end_of_file;
    let there = file.content.len() as u64;
    law!("bytes", !is_done || size == there, "{} has {size} bytes, and there have to be {there}", file.name);
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    store.read(&opened, 0, &mut bytes).map_err(|status| failed("read", status))?;
    store.close(opened, EPOCH);
    let wrong = file.content.wrong(0, &bytes);
    law!("bytes", wrong.is_none(), "byte {wrong:?} of {} is another one on the server", file.name);
    Ok(())
}
