//! QUERY_INFO (3.3.5.20).

use smbd_core::endpoint::Chunks;

use crate::server::action::{Done, Operation};
use crate::server::answer::{failure_of_file, failure_with, of_file};
use crate::server::chain::Asked;
use crate::server::encode::file::{About as AboutFile, Information};
use crate::server::encode::{file, security, volume};
use crate::server::inner::Inner;
use crate::server::pending::{About, Outcome, Query, Task, What};
use crate::wire::{
    AccessMask, AdditionalInformation, Dialect, InfoType, NtStatus, QueryInfoRequest, QueryInfoResponse,
};

/// 3.3.5.20.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &QueryInfoRequest<'_>,
) -> Result<Outcome, NtStatus> {
    let (max, dialect) = (inner.max_transact(), inner.dialect());
    let (file_id, open) = inner.open(asked, request.file_id)?;
    let (handle, access, options, path) = (open.handle, open.access, open.options, open.path.clone());
    let position = open.position;
    let about = about(request, access).and_then(|about| {
        if request.output_buffer_length > max { Err(NtStatus::INVALID_PARAMETER) } else { Ok(about) }
    });
    let about = match about {
        Ok(about) => about,
        Err(status) => return Ok(failure_of_file(&mut inner.chunks, asked, file_id, status)),
    };
    let query =
        Query { file_id, about, output_max: request.output_buffer_length, path, access, options, position };
    let operation = match about {
        About::File(_) => Operation::Attributes(handle),
        About::Volume(_) => Operation::Volume(handle),
        About::Security(parts) => {
            let descriptor = security::descriptor(parts, 0x001F_01FF);
            return Ok(of_security(&mut inner.chunks, asked, &query, dialect, &descriptor));
        }
    };
    Ok(Outcome::Wait(What::Query(query), Task::File(operation)))
}

fn about(request: &QueryInfoRequest<'_>, access: AccessMask) -> Result<About, NtStatus> {
    match request.info_type {
        InfoType::FILE => {
            if file::needs_attributes(request.info_class) && !access.contains(AccessMask::READ_ATTRIBUTES) {
                return Err(NtStatus::ACCESS_DENIED);
            }
            Ok(About::File(request.info_class))
        }
        InfoType::FILESYSTEM => Ok(About::Volume(request.info_class)),
        InfoType::SECURITY => {
            let parts = request.additional_information;
            let system = parts.contains(AdditionalInformation::SACL);
            // Nobody has ACCESS_SYSTEM_SECURITY.
            if !access.contains(AccessMask::READ_CONTROL) || system {
                return Err(NtStatus::ACCESS_DENIED);
            }
            Ok(About::Security(parts))
        }
        // 3.3.5.20.4
        InfoType::QUOTA => Err(NtStatus::NOT_SUPPORTED),
        _ => Err(NtStatus::INVALID_PARAMETER),
    }
}

/// 3.3.5.20.3.
fn of_security(
    room: &mut Chunks,
    asked: &Asked,
    query: &Query,
    dialect: Dialect,
    descriptor: &[u8],
) -> Outcome {
    let len = u32::try_from(descriptor.len()).unwrap_or(u32::MAX);
    if len > query.output_max {
        let status = NtStatus::BUFFER_TOO_SMALL;
        return failure_with(room, asked, query.file_id, status, dialect, &len.to_le_bytes());
    }
    of_file(room, asked, query.file_id, NtStatus::SUCCESS, &QueryInfoResponse { output: descriptor })
}

/// The driver knows.
pub(in crate::server) fn done(
    room: &mut Chunks,
    dialect: Dialect,
    asked: &Asked,
    query: &Query,
    done: Result<Done, NtStatus>,
) -> Outcome {
    let information = match (done, query.about) {
        (Err(status), _) => Err(status),
        (Ok(Done::Attributes(attributes)), About::File(class)) => {
            let about = AboutFile {
                attributes: &attributes,
                path: &query.path,
                access: query.access,
                options: query.options,
                position: query.position,
                is_3_1_1: dialect == Dialect::SMB_3_1_1,
            };
            file::class(class, &about)
        }
        (Ok(Done::Volume(known)), About::Volume(class)) => volume::class(class, &known),
        (Ok(_), _) => Err(NtStatus::INTERNAL_ERROR),
    };
    match information {
        Ok(information) => respond(room, asked, query, dialect, &information),
        Err(status) => failure_of_file(room, asked, query.file_id, status),
    }
}

/// As much as the client wants, if that is the fixed part at least.
fn respond(
    room: &mut Chunks,
    asked: &Asked,
    query: &Query,
    dialect: Dialect,
    information: &Information,
) -> Outcome {
    let max = query.output_max as usize;
    if max < information.fixed {
        return failure_with(room, asked, query.file_id, NtStatus::INFO_LENGTH_MISMATCH, dialect, &[]);
    }
    let (output, status) = match information.bytes.get(..max) {
        Some(part) if part.len() < information.bytes.len() => (part, NtStatus::BUFFER_OVERFLOW),
        Some(_) | None => (information.bytes.as_slice(), NtStatus::SUCCESS),
    };
    of_file(room, asked, query.file_id, status, &QueryInfoResponse { output })
}
