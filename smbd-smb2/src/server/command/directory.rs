//! QUERY_DIRECTORY (3.3.5.18).

use alloc::vec::Vec;

use crate::server::action::{Action, Done, Operation};
use crate::server::answer::{failure_of_file, of_file};
use crate::server::chain::Asked;
use crate::server::encode::entries;
use crate::server::file::Entry;
use crate::server::inner::Inner;
use crate::server::pattern::Pattern;
use crate::server::pending::{Enumeration, Outcome, Task, What};
use crate::server::session::Listing;
use crate::wire::{NtStatus, QueryDirectoryFlags, QueryDirectoryRequest, QueryDirectoryResponse};

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
    } else if !open.reads() {
        NtStatus::ACCESS_DENIED
    } else if let Err(status) = fixed {
        status
    } else if (request.output_buffer_length as usize) < fixed.unwrap_or_default() {
        NtStatus::INFO_LENGTH_MISMATCH
    } else {
        let restart = [QueryDirectoryFlags::RESTART_SCANS, QueryDirectoryFlags::REOPEN];
        let restarts = restart.into_iter().any(|flag| request.flags.contains(flag));
        let mut enumeration = Enumeration {
            file_id,
            handle: open.handle,
            class: request.information_class,
            listing: Listing { pattern: Pattern::new(request.pattern), after: 0, has_told: false },
            restarts,
            is_single: request.flags.contains(QueryDirectoryFlags::RETURN_SINGLE_ENTRY),
            output_max: request.output_buffer_length,
        };
        let before = open.listing.take();
        if inner.lists(enumeration.handle) {
            let task = Task::Turn { handle: enumeration.handle };
            return Ok(Outcome::Wait(What::List(enumeration), task));
        }
        enumeration.follow(before);
        return Ok(go_on(enumeration));
    };
    Ok(failure_of_file(&mut inner.chunks, asked, file_id, status))
}

fn go_on(enumeration: Enumeration) -> Outcome {
    let operation = enumeration.operation();
    Outcome::Wait(What::List(enumeration), Task::File(operation))
}

impl Enumeration {
    /// Goes on where another has ended, unless it restarts.
    fn follow(&mut self, before: Option<Listing>) {
        if let Some(before) = before.filter(|_| !self.restarts) {
            self.listing = before;
        }
    }

    fn operation(&self) -> Operation {
        let max = if self.is_single {
            1
        } else {
            (self.output_max as usize).checked_div(ENTRY_LEN).unwrap_or(0).clamp(1, ENTRIES_MAX)
        };
        Operation::List { handle: self.handle, after: self.listing.after, max }
    }
}

/// Entries are there.
pub(in crate::server) fn done(
    inner: &mut Inner,
    asked: &Asked,
    mut enumeration: Enumeration,
    done: Result<Done, NtStatus>,
) -> Outcome {
    let file_id = enumeration.file_id;
    let outcome = match answer(&mut enumeration, done) {
        Ok(None) => return go_on(enumeration),
        Ok(Some(output)) => of_file(
            &mut inner.chunks,
            asked,
            file_id,
            NtStatus::SUCCESS,
            &QueryDirectoryResponse { output: &output },
        ),
        Err(status) => failure_of_file(&mut inner.chunks, asked, file_id, status),
    };
    leave(inner, asked, enumeration);
    outcome
}

/// The output for these entries; none if nothing of them is wanted, and there may be others.
fn answer(enumeration: &mut Enumeration, done: Result<Done, NtStatus>) -> Result<Option<Vec<u8>>, NtStatus> {
    let Done::Entries(found) = done? else { return Err(NtStatus::INTERNAL_ERROR) };
    let before = enumeration.listing.after;
    let has_told = enumeration.listing.has_told;
    let (output, is_full) = encode(enumeration, &found)?;
    match (output.is_empty(), is_full) {
        (false, _) => Ok(Some(output)),
        // The first entry does not fit. It is told to a request with more room.
        (true, true) => Err(NtStatus::BUFFER_OVERFLOW),
        (true, false) if !found.is_empty() && enumeration.listing.after > before => Ok(None),
        (true, false) => {
            // A search that has found nothing has begun nevertheless.
            enumeration.listing.has_told = true;
            Err(if has_told { NtStatus::NO_MORE_FILES } else { NtStatus::NO_SUCH_FILE })
        }
    }
}

/// Leaves the position to the next enumeration of the directory: one that waits for its turn, or that comes.
pub(in crate::server) fn leave(inner: &mut Inner, asked: &Asked, enumeration: Enumeration) {
    let Enumeration { file_id, handle, listing, .. } = enumeration;
    if let Some((id, next)) = inner.next_listing(handle) {
        next.follow(Some(listing));
        let operation = next.operation();
        inner.push(Action::File { id, operation });
    } else if let Ok(session) = inner.session(asked)
        && let Some(open) = session.opens.get_mut(&file_id.volatile)
    {
        open.listing = Some(listing);
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
