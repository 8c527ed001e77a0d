//! CREATE (3.3.5.9).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use smbd_core::endpoint::Chunks;

use crate::server::action::{Done, OpenParameters, Operation};
use crate::server::answer::{answer, failure, of_file};
use crate::server::chain::{Answer, Asked};
use crate::server::file::Attributes;
use crate::server::inner::Inner;
use crate::server::path::SharePath;
use crate::server::pending::{Creating, Outcome, Task, What};
use crate::server::session::{Open, Tree};
use crate::server::status;
use crate::wire::{
    AccessMask, ContextData as _, CreateAction, CreateContext, CreateContexts, CreateDisposition,
    CreateOptions, CreateRequest, CreateResponse, ErrorResponse, FileAttributes, FileId, ImpersonationLevel,
    NtStatus, OplockLevel, QueryMaximalAccessResponse, QueryOnDiskIdResponse, Records, Text, WireError,
};

/// Attributes that a client may give a new file.
const SETTABLE: FileAttributes = FileAttributes(0x0000_31A7);

/// Options that are not supported (2.2.13), CREATE_TREE_CONNECTION of MS-FSA among them.
const UNSUPPORTED: u32 = CreateOptions::OPEN_BY_FILE_ID.0 | CreateOptions::RESERVE_OPFILTER.0 | 0x0000_0080;
/// Options that nobody has defined.
const UNDEFINED: u32 = 0xFF00_0000;

const BACKSLASH: u16 = 0x5C;

/// 3.3.5.9.
pub(in crate::server) fn request(inner: &mut Inner, asked: &Asked, request: &CreateRequest<'_>) -> Outcome {
    begin(inner, asked, request).unwrap_or_else(|status| failed(&mut inner.chunks, asked, status))
}

/// Those that are related to it have no file.
fn failed(room: &mut Chunks, asked: &Asked, status: NtStatus) -> Outcome {
    Outcome::Answer(Answer {
        file: Some(Err(status)),
        ..answer(room, asked, status, &ErrorResponse::default())
    })
}

fn begin(inner: &mut Inner, asked: &Asked, request: &CreateRequest<'_>) -> Result<Outcome, NtStatus> {
    let tree = inner.tree(asked)?;
    check(request)?;
    let (share, maximal_access) = match tree {
        // There is no pipe that anybody listens on.
        Tree::Pipes => return Err(NtStatus::OBJECT_NAME_NOT_FOUND),
        Tree::Files { share, maximal_access, .. } => (share, maximal_access),
    };
    let (path, options, disposition) = named(request)?;
    let (access, read_only_access) = granted(request.desired_access, maximal_access)?;
    let makes = request.create_disposition != CreateDisposition::OPEN;
    let deletes = options.contains(CreateOptions::DELETE_ON_CLOSE);
    if (makes && !maximal_access.contains(AccessMask::WRITE_DATA))
        || (deletes && !access.contains(AccessMask::DELETE))
    {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let asks_for_access = request.contexts.read().map_err(|_: WireError| NtStatus::INVALID_PARAMETER)?;
    if !inner.has_room_for_a_file() {
        return Err(NtStatus::INSUFFICIENT_RESOURCES);
    }
    let handle = inner.new_handle();
    let parameters = OpenParameters {
        share,
        path: path.clone(),
        access,
        read_only_access,
        share_access: request.share_access,
        disposition,
        options,
        file_attributes: FileAttributes(request.file_attributes.0 & SETTABLE.0),
    };
    let creating = Creating {
        handle,
        tree: asked.tree_id,
        path,
        access,
        read_only_access,
        maximal_access,
        options,
        channel_sequence: asked.header.channel_sequence(),
        asks_for_access,
        wants_id: request.contexts.find(CreateContext::QUERY_ON_DISK_ID).is_some(),
    };
    Ok(Outcome::Wait(What::Create(creating), Task::File(Operation::Open(handle, parameters))))
}

/// What has to be right before anything is opened.
fn check(request: &CreateRequest<'_>) -> Result<(), NtStatus> {
    let options = request.create_options;
    let (directory, file) = (CreateOptions::DIRECTORY_FILE, CreateOptions::NON_DIRECTORY_FILE);
    let is_valid = request.create_disposition.name().is_some()
        && request.share_access.unknown() == 0
        && options.0 & UNDEFINED == 0
        && !options.contains(directory | file);
    if !is_valid {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if request.impersonation_level > ImpersonationLevel::DELEGATE {
        return Err(status::BAD_IMPERSONATION_LEVEL);
    }
    // A directory is opened or made, never replaced (MS-FSA 2.1.5.1).
    let replaces = matches!(
        request.create_disposition,
        CreateDisposition::SUPERSEDE | CreateDisposition::OVERWRITE | CreateDisposition::OVERWRITE_IF
    );
    let is_temporary = request.file_attributes.contains(FileAttributes::TEMPORARY);
    if options.contains(directory) && (replaces || is_temporary) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    // 2.2.13
    if options.0 & UNSUPPORTED != 0 {
        return Err(NtStatus::NOT_SUPPORTED);
    }
    contexts(&request.contexts, options)
}

/// The path, the options and the disposition: a backslash at the end of a name makes it that of a directory (MS-FSA 2.1.5.1). What does
/// not say that it makes one opens what is there.
fn named(request: &CreateRequest<'_>) -> Result<(SharePath, CreateOptions, CreateDisposition), NtStatus> {
    let (options, disposition) = (request.create_options, request.create_disposition);
    let units: Vec<u16> = request.name.units().collect();
    let Some((&BACKSLASH, name)) = units.split_last().filter(|(_, name)| !name.is_empty()) else {
        return Ok((SharePath::parse(request.name)?, options, disposition));
    };
    let name: Vec<u8> = name.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let path = SharePath::parse(Text::from_wire(&name))?;
    let opens = matches!(disposition, CreateDisposition::OPEN | CreateDisposition::OPEN_IF);
    let makes = options.contains(CreateOptions::DIRECTORY_FILE);
    if options.contains(CreateOptions::NON_DIRECTORY_FILE) || !(opens || makes) {
        return Err(NtStatus::OBJECT_NAME_INVALID);
    }
    let disposition = if makes { disposition } else { CreateDisposition::OPEN };
    Ok((path, options | CreateOptions::DIRECTORY_FILE, disposition))
}

/// Contexts that ask for more than is there are not answered, which declines it: leases, durable handles. What would open another file than
/// the one that is named is refused.
fn contexts(contexts: &CreateContexts<'_>, options: CreateOptions) -> Result<(), NtStatus> {
    for context in contexts.iter() {
        let context = context.map_err(|_: WireError| NtStatus::INVALID_PARAMETER)?;
        match context.name {
            // 3.3.5.9.7, 3.3.5.9.12: nothing is kept to be reconnected.
            CreateContext::DURABLE_HANDLE_RECONNECT | CreateContext::DURABLE_HANDLE_RECONNECT_V2 => {
                return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
            }
            // 2.2.13
            CreateContext::EA_BUFFER if options.contains(CreateOptions::NO_EA_KNOWLEDGE) => {
                return Err(NtStatus::ACCESS_DENIED);
            }
            // 3.3.5.9.1
            CreateContext::EA_BUFFER => return Err(status::EAS_NOT_SUPPORTED),
            // 3.3.5.9.4: there is no version of before.
            CreateContext::TIMEWARP_TOKEN => return Err(NtStatus::OBJECT_NAME_NOT_FOUND),
            name if name.len() < 4 => return Err(NtStatus::INVALID_PARAMETER),
            _ => {}
        }
    }
    Ok(())
}

/// Open.GrantedAccess: generic rights as files have them, and no more than the share allows; and what it is of a READONLY file.
fn granted(desired: AccessMask, maximal: AccessMask) -> Result<(AccessMask, AccessMask), NtStatus> {
    const WRITES: u32 = AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0;
    const GENERIC: [(AccessMask, u32); 4] = [
        (AccessMask::GENERIC_READ, 0x0012_0089),
        (AccessMask::GENERIC_WRITE, 0x0012_0116),
        (AccessMask::GENERIC_EXECUTE, 0x0012_00A0),
        (AccessMask::GENERIC_ALL, 0x001F_01FF),
    ];
    let mut access = desired.with(AccessMask::ACCESS_SYSTEM_SECURITY, false);
    for (generic, rights) in GENERIC {
        if access.contains(generic) {
            access = AccessMask(access.with(generic, false).0 | rights);
        }
    }
    let mut read_only = access;
    if access.contains(AccessMask::MAXIMUM_ALLOWED) {
        let asked = access.with(AccessMask::MAXIMUM_ALLOWED, false);
        access = asked | maximal;
        read_only = asked | AccessMask(maximal.0 & !WRITES);
    }
    if access == AccessMask::NONE || !maximal.contains(access) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    Ok((access, read_only))
}

/// The file is open, or is not.
pub(in crate::server) fn done(
    inner: &mut Inner,
    asked: &Asked,
    creating: Creating,
    done: Result<Done, NtStatus>,
) -> Outcome {
    let (action, attributes) = match done {
        Ok(Done::Opened { action, attributes }) => (action, attributes),
        Ok(_) => return failed(&mut inner.chunks, asked, NtStatus::INTERNAL_ERROR),
        Err(status) => return failed(&mut inner.chunks, asked, status),
    };
    // What it made itself it may write.
    let is_read_only = action == CreateAction::OPENED
        && !attributes.is_directory()
        && attributes.file_attributes.contains(FileAttributes::READONLY);
    let access = if is_read_only { creating.read_only_access } else { creating.access };
    inner.on_opened(creating.handle, asked);
    // Session or tree connect may have gone in the meantime.
    if let Err(status) = inner.tree(asked) {
        inner.close_silently(creating.handle);
        return failed(&mut inner.chunks, asked, status);
    }
    match inner.session(asked) {
        Ok(session) => {
            let open = Open {
                handle: creating.handle,
                tree: creating.tree,
                access,
                options: creating.options,
                is_directory: attributes.is_directory(),
                path: creating.path.clone(),
                channel_sequence: creating.channel_sequence,
                position: 0,
                listing: None,
                lock_sequences: BTreeMap::new(),
            };
            session.opens.insert(creating.handle.0, open);
            respond(&mut inner.chunks, asked, &creating, action, &attributes)
        }
        Err(status) => failure(&mut inner.chunks, asked, status),
    }
}

fn respond(
    room: &mut Chunks,
    asked: &Asked,
    creating: &Creating,
    action: CreateAction,
    attributes: &Attributes,
) -> Outcome {
    let file_id = FileId { persistent: creating.handle.0, volatile: creating.handle.0 };
    let access = creating.asks_for_access.map(|request| {
        // 3.3.5.9.5. A time of 0 is none.
        let is_known = request.timestamp.is_some_and(|time| time != 0 && time == attributes.change_time);
        let (query_status, maximal_access) = match is_known {
            true => (NtStatus::NONE_MAPPED, AccessMask::NONE),
            false => (NtStatus::SUCCESS, creating.maximal_access),
        };
        QueryMaximalAccessResponse { query_status, maximal_access }.to_bytes()
    });
    // 3.3.5.9.9
    let on_disk = creating
        .wants_id
        .then(|| QueryOnDiskIdResponse { disk_file_id: attributes.id, volume_id: 0 }.to_bytes());
    let access = access.as_deref().map(CreateContext::of::<QueryMaximalAccessResponse>);
    let on_disk = on_disk.as_deref().map(CreateContext::of::<QueryOnDiskIdResponse>);
    let contexts: Vec<CreateContext<'_>> = access.into_iter().chain(on_disk).collect();
    let response = CreateResponse {
        oplock_level: OplockLevel::NONE,
        create_action: action,
        creation_time: attributes.creation_time,
        last_access_time: attributes.last_access_time,
        last_write_time: attributes.last_write_time,
        change_time: attributes.change_time,
        allocation_size: attributes.allocation_size,
        end_of_file: attributes.end_of_file,
        file_attributes: attributes.file_attributes,
        file_id,
        contexts: Records::from(contexts.as_slice()),
        ..CreateResponse::default()
    };
    of_file(room, asked, file_id, NtStatus::SUCCESS, &response)
}
