//! QUERY_DIRECTORY (3.3.5.18).

use alloc::vec::Vec;

use crate::server::action::{Done, Operation};
use crate::server::answer::{failure_of_file, of_file};
use crate::server::chain::Asked;
use crate::server::encode::entries;
use crate::server::file::Entry;
use crate::server::inner::Inner;
use crate::server::pattern::Pattern;
use crate::server::pending::{Enumeration, Outcome, Task, What};
use crate::server::session::Listing;
use crate::wire::{AccessMask, NtStatus, QueryDirectoryFlags, QueryDirectoryRequest, QueryDirectoryResponse};

/// The most entries that are asked for at once.
const ENTRIES_MAX: usize = 512;
/// What an entry needs of an answer, more or less, in bytes.
const ENTRY_LEN: usize = 128;

/// 3.3.5.18.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &QueryDirectoryRequest<'_>,
) -> Result<Outcome, NtStatus> {
    let max = inner.max_transact();
    let (file_id, open) = inner.open(asked, request.file_id)?;
    let fixed = entries::fixed_len(request.information_class);
    let status = if !open.is_directory || request.output_buffer_length > max {
        NtStatus::INVALID_PARAMETER
    } else if !open.access.contains(AccessMask::READ_DATA) {
        NtStatus::ACCESS_DENIED
    } else if let Err(status) = fixed {
        status
    } else if (request.output_buffer_length as usize) < fixed.unwrap_or_default() {
        NtStatus::INFO_LENGTH_MISMATCH
    } else {
        let restart = [QueryDirectoryFlags::RESTART_SCANS, QueryDirectoryFlags::REOPEN];
        let begins = restart.into_iter().any(|flag| request.flags.contains(flag));
        let listing = match open.listing.take().filter(|_| !begins) {
            Some(listing) => listing,
            None => Listing { pattern: Pattern::new(request.pattern), after: 0, has_told: false },
        };
        // Another request meanwhile goes on from the same place.
        open.listing = Some(listing.clone());
        let enumeration = Enumeration {
            file_id,
            handle: open.handle,
            class: request.information_class,
            listing,
            is_single: request.flags.contains(QueryDirectoryFlags::RETURN_SINGLE_ENTRY),
            output_max: request.output_buffer_length,
        };
        return Ok(go_on(enumeration));
    };
    Ok(failure_of_file(asked, file_id, status))
}

fn go_on(enumeration: Enumeration) -> Outcome {
    let max = if enumeration.is_single {
        1
    } else {
        (enumeration.output_max as usize).checked_div(ENTRY_LEN).unwrap_or(0).clamp(1, ENTRIES_MAX)
    };
    let operation = Operation::List { handle: enumeration.handle, after: enumeration.listing.after, max };
    Outcome::Wait(What::List(enumeration), Task::File(operation))
}

/// Entries are there.
pub(in crate::server) fn done(
    inner: &mut Inner,
    asked: &Asked,
    mut enumeration: Enumeration,
    done: Result<Done, NtStatus>,
) -> Outcome {
    let file_id = enumeration.file_id;
    let found = match done {
        Ok(Done::Entries(found)) => found,
        Ok(_) => return failure_of_file(asked, file_id, NtStatus::INTERNAL_ERROR),
        Err(status) => return failure_of_file(asked, file_id, status),
    };
    let before = enumeration.listing.after;
    let has_told = enumeration.listing.has_told;
    let (output, is_full) = match encode(&mut enumeration, &found) {
        Ok(encoded) => encoded,
        Err(status) => return failure_of_file(asked, file_id, status),
    };
    if output.is_empty() && is_full {
        // The first entry does not fit. It is told to a request with more room.
        return failure_of_file(asked, file_id, NtStatus::BUFFER_OVERFLOW);
    }
    // None of these was wanted, and there are others.
    if output.is_empty() && !found.is_empty() && enumeration.listing.after > before {
        return go_on(enumeration);
    }
    let status = match (output.is_empty(), has_told) {
        (false, _) => NtStatus::SUCCESS,
        (true, false) => NtStatus::NO_SUCH_FILE,
        (true, true) => NtStatus::NO_MORE_FILES,
    };
    // A search that has found nothing has begun nevertheless.
    enumeration.listing.has_told = true;
    if let Ok(session) = inner.session(asked)
        && let Some(open) = session.opens.get_mut(&file_id.volatile)
    {
        open.listing = Some(enumeration.listing);
    }
    if status == NtStatus::SUCCESS {
        of_file(asked, file_id, status, &QueryDirectoryResponse { output: &output })
    } else {
        failure_of_file(asked, file_id, status)
    }
}

/// Entries that match, as many as there is room for; and whether there was none for the next. The enumeration goes on behind them.
fn encode(enumeration: &mut Enumeration, found: &[Entry]) -> Result<(Vec<u8>, bool), NtStatus> {
    let mut output = Vec::new();
    let mut last = None;
    for entry in found {
        // Positions that do not rise would never end.
        if entry.position <= enumeration.listing.after {
            return Err(NtStatus::INTERNAL_ERROR);
        }
        if enumeration.listing.pattern.matches(&entry.name) {
            let start = last.map_or(0, |_| output.len().checked_next_multiple_of(8).unwrap_or(0));
            let max = enumeration.output_max as usize;
            if !entries::append(&mut output, last, enumeration.class, entry, max)? {
                return Ok((output, true));
            }
            last = Some(start);
            enumeration.listing.has_told = true;
        }
        enumeration.listing.after = entry.position;
        if enumeration.is_single && last.is_some() {
            break;
        }
    }
    Ok((output, false))
}
