//! QUERY_INFO and SET_INFO.

use smbd_smb2::wire::info::class;
use smbd_smb2::wire::{
    FileId, InfoType, NtStatus, QueryInfoRequest, QueryInfoResponse, SetInfoRequest, SetInfoResponse, Text,
};

use super::files::{LEN_MAX, ROOT, Times};
use super::record::{self, Opened};
use super::request::{Reply, Request};
use super::state::{Failed, State};

/// 3.3.5.20
pub(super) fn query(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let query = QueryInfoRequest::parse(request.bytes)?;
    let file = request.file(query.file_id)?;
    let open = state.open(&request.header, file)?.clone();
    if query.output_buffer_length > state.options.max_transact {
        return Err(NtStatus::INVALID_PARAMETER.into());
    }
    state.pays(&request.header, query.output_buffer_length)?;
    let facts = state.files.facts(open.number).ok_or(NtStatus::FILE_CLOSED)?;
    let created = state.files.facts(ROOT).unwrap_or(facts).times.created;
    let class = query.info_class;
    let delete_pending = state.is_going(open.number);
    let opened = Opened { facts, name: &open.name, access: open.access, delete_pending };
    let known = match query.info_type {
        InfoType::FILE => record::file(class, &opened),
        InfoType::FILESYSTEM => record::file_system(class, created),
        _ => return Err(NtStatus::NOT_SUPPORTED.into()),
    };
    let (mut bytes, fixed) = known.ok_or(NtStatus::INVALID_INFO_CLASS)?;
    let room = query.output_buffer_length as usize;
    if room < fixed {
        return Err(NtStatus::INFO_LENGTH_MISMATCH.into());
    }
    // What varies in length is cut, and the client told.
    let is_whole = bytes.len() <= room;
    bytes.truncate(room);
    let body = QueryInfoResponse { output: &bytes };
    let status = if is_whole { NtStatus::SUCCESS } else { NtStatus::BUFFER_OVERFLOW };
    Ok(request.done_with(status, &body)?.about(file))
}

/// 3.3.5.21
pub(super) fn set(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let set = SetInfoRequest::parse(request.bytes)?;
    let file = request.file(set.file_id)?;
    let number = state.open(&request.header, file)?.number;
    state.pays(&request.header, u32::try_from(set.input.len()).unwrap_or(u32::MAX))?;
    if set.info_type != InfoType::FILE {
        return Err(NtStatus::NOT_SUPPORTED.into());
    }
    match set.info_class {
        class::FILE_BASIC => {
            let [created, accessed, written, changed] = [0, 8, 16, 24].map(|at| long(set.input, at));
            let times =
                Times { created: created?, accessed: accessed?, written: written?, changed: changed? };
            state.files.set_times(number, times)?;
        }
        class::FILE_END_OF_FILE => state.files.set_len(number, long(set.input, 0)?)?,
        // Room is not kept for anybody.
        class::FILE_ALLOCATION if long(set.input, 0)? <= LEN_MAX => {}
        class::FILE_ALLOCATION => return Err(NtStatus::DISK_FULL.into()),
        class::FILE_DISPOSITION => {
            let delete = *set.input.first().ok_or(NtStatus::INFO_LENGTH_MISMATCH)? != 0;
            if delete && number == ROOT {
                return Err(NtStatus::CANNOT_DELETE.into());
            }
            state.open(&request.header, file)?.delete = delete;
        }
        class::FILE_RENAME | class::FILE_LINK => {
            let (name, replace) = new_name(set.input)?;
            rename(state, request, file, &name, (replace, set.info_class == class::FILE_RENAME))?;
        }
        _ => return Err(NtStatus::INVALID_INFO_CLASS.into()),
    }
    Ok(request.done(&SetInfoResponse::default())?.about(file))
}

/// A number of 64 bits.
fn long(buffer: &[u8], at: usize) -> Result<u64, Failed> {
    let bytes = buffer.get(at..).and_then(<[u8]>::first_chunk);
    Ok(u64::from_le_bytes(*bytes.ok_or(NtStatus::INFO_LENGTH_MISMATCH)?))
}

/// FileName and ReplaceIfExists (MS-FSCC 2.4.28.2, 2.4.42.2).
fn new_name(buffer: &[u8]) -> Result<(String, bool), Failed> {
    const LENGTH_AT: usize = 16;
    const NAME_AT: usize = 20;
    let replace = buffer.first().is_some_and(|byte| *byte != 0);
    let len = buffer.get(LENGTH_AT..).and_then(<[u8]>::first_chunk);
    let len = u32::from_le_bytes(*len.ok_or(NtStatus::INFO_LENGTH_MISMATCH)?) as usize;
    let name =
        buffer.get(NAME_AT..).and_then(|name| name.get(..len)).ok_or(NtStatus::INFO_LENGTH_MISMATCH)?;
    Ok((Text::from_wire(name).to_string(), replace))
}

/// Another name for a file, and away with the one that it was opened by if it is moved.
fn rename(
    state: &mut State,
    request: &Request<'_>,
    file: FileId,
    name: &str,
    (replace, moves): (bool, bool),
) -> Result<(), Failed> {
    let open = state.open(&request.header, file)?;
    let (number, old) = (open.number, open.name.clone());
    let name = name.strip_prefix('\\').unwrap_or(name);
    if number == ROOT || name.contains('\\') {
        return Err(NtStatus::ACCESS_DENIED.into());
    }
    let replaced = state.files.find(name).filter(|replaced| *replaced != number);
    if replaced.is_some_and(|replaced| state.is_open(replaced)) {
        return Err(NtStatus::ACCESS_DENIED.into());
    }
    state.files.link(number, name, replace)?;
    if let Some(replaced) = replaced {
        state.files.forget(replaced);
    }
    if moves && old != name {
        state.files.unlink(&old);
        state.renamed(number, &old, name);
    }
    Ok(())
}
