//! CREATE and CLOSE.

use smbd_smb2::wire::{
    AccessMask, CloseFlags, CloseRequest, CloseResponse, CreateAction, CreateDisposition, CreateOptions,
    CreateRequest, CreateResponse, NtStatus,
};

use super::files::Facts;
use super::record::{allocated, attributes};
use super::request::{Reply, Request};
use super::state::{Failed, OPENS_MAX, Open, Share, State};

/// Rights that stand for others (2.2.13.1), and those for which they stand.
const GENERIC: [(AccessMask, AccessMask); 5] = [
    (AccessMask::GENERIC_READ, AccessMask(0x0012_0089)),
    (AccessMask::GENERIC_WRITE, AccessMask(0x0012_0116)),
    (AccessMask::GENERIC_EXECUTE, AccessMask(0x0012_00a0)),
    (AccessMask::GENERIC_ALL, AccessMask(0x001f_01ff)),
    (AccessMask::MAXIMUM_ALLOWED, AccessMask(0x001f_01ff)),
];

fn granted(desired: AccessMask) -> AccessMask {
    GENERIC.into_iter().fold(desired, |access, (generic, rights)| {
        if desired.contains(generic) { (access | rights).with(generic, false) } else { access }
    })
}

/// 3.3.5.9
pub(super) fn create(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let create = CreateRequest::parse(request.bytes)?;
    let (tree, share) = state.tree(&request.header)?;
    if share == Share::Pipes {
        return Err(NtStatus::OBJECT_NAME_NOT_FOUND.into());
    }
    if state.session(request.header.session_id)?.opens.len() >= OPENS_MAX {
        return Err(NtStatus::INSUFFICIENT_RESOURCES.into());
    }
    let name = create.name.to_string();
    if name.starts_with('\\') {
        return Err(NtStatus::INVALID_PARAMETER.into());
    }
    if name.contains('\\') {
        return Err(NtStatus::OBJECT_PATH_NOT_FOUND.into());
    }
    let delete = create.create_options.contains(CreateOptions::DELETE_ON_CLOSE);
    let (number, action) = opened(state, &name, &create)?;
    let facts = state.files.facts(number).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    if delete && facts.is_folder {
        return Err(NtStatus::CANNOT_DELETE.into());
    }
    let access = granted(create.desired_access);
    let open = Open { tree, number, name, access, delete, scan: None };
    let file_id = state.new_open(request.header.session_id, open)?;
    let body = CreateResponse {
        create_action: action,
        creation_time: facts.times.created,
        last_access_time: facts.times.accessed,
        last_write_time: facts.times.written,
        change_time: facts.times.changed,
        allocation_size: allocated(&facts),
        end_of_file: facts.len,
        file_attributes: attributes(&facts),
        file_id,
        ..CreateResponse::default()
    };
    Ok(request.done(&body)?.about(file_id))
}

/// The file that is opened, and what was done for it.
fn opened(state: &mut State, name: &str, create: &CreateRequest<'_>) -> Result<(u64, CreateAction), Failed> {
    let wants = |option| create.create_options.contains(option);
    let how = create.create_disposition;
    if how > CreateDisposition::OVERWRITE_IF {
        return Err(NtStatus::INVALID_PARAMETER.into());
    }
    let Some(number) = state.files.find(name) else {
        if [CreateDisposition::OPEN, CreateDisposition::OVERWRITE].contains(&how) {
            return Err(NtStatus::OBJECT_NAME_NOT_FOUND.into());
        }
        if wants(CreateOptions::DIRECTORY_FILE) {
            // There are no folders in the folder.
            return Err(NtStatus::ACCESS_DENIED.into());
        }
        return Ok((state.files.create(name)?, CreateAction::CREATED));
    };
    let facts: Facts = state.files.facts(number).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    if state.is_going(number) {
        return Err(NtStatus::DELETE_PENDING.into());
    }
    if how == CreateDisposition::CREATE {
        return Err(NtStatus::OBJECT_NAME_COLLISION.into());
    }
    if facts.is_folder && wants(CreateOptions::NON_DIRECTORY_FILE) {
        return Err(NtStatus::FILE_IS_A_DIRECTORY.into());
    }
    if !facts.is_folder && wants(CreateOptions::DIRECTORY_FILE) {
        return Err(NtStatus::NOT_A_DIRECTORY.into());
    }
    let action = match how {
        CreateDisposition::OPEN | CreateDisposition::OPEN_IF => CreateAction::OPENED,
        _ if facts.is_folder => return Err(NtStatus::OBJECT_NAME_COLLISION.into()),
        CreateDisposition::SUPERSEDE => CreateAction::SUPERSEDED,
        _ => CreateAction::OVERWRITTEN,
    };
    if action != CreateAction::OPENED {
        state.files.set_len(number, 0)?;
    }
    Ok((number, action))
}

/// 3.3.5.10
pub(super) fn close(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let close = CloseRequest::parse(request.bytes)?;
    let file = request.file(close.file_id)?;
    let number = state.open(&request.header, file)?.number;
    let facts = state.files.facts(number);
    if let Some(open) = state.session(request.header.session_id)?.opens.remove(&file.volatile) {
        state.close(&open);
    }
    let body = match facts {
        Some(facts) if close.flags.contains(CloseFlags::POSTQUERY_ATTRIB) => CloseResponse {
            flags: CloseFlags::POSTQUERY_ATTRIB,
            creation_time: facts.times.created,
            last_access_time: facts.times.accessed,
            last_write_time: facts.times.written,
            change_time: facts.times.changed,
            allocation_size: allocated(&facts),
            end_of_file: facts.len,
            file_attributes: attributes(&facts),
        },
        _ => CloseResponse::default(),
    };
    Ok(request.done(&body)?.about(file))
}
