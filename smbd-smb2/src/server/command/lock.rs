//! LOCK (3.3.5.14).

use alloc::vec::Vec;

use crate::server::action::Operation;
use crate::server::answer::{failure_of_file, of_file};
use crate::server::chain::Asked;
use crate::server::inner::Inner;
use crate::server::pending::{Outcome, Task, What};
use crate::server::session::Kept;
use crate::server::status;
use crate::wire::{Capabilities, LockElement, LockFlags, LockRequest, LockResponse, NtStatus};

/// The most ranges of a request.
const RANGES_MAX: usize = 64;

/// 3.3.5.14.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &LockRequest<'_>,
) -> Result<Outcome, NtStatus> {
    let has_room = inner.has_room_for_a_wait();
    let knows_channels = inner.negotiated()?.capabilities.contains(Capabilities::MULTI_CHANNEL);
    let (file_id, open) = inner.open(asked, request.file_id)?;
    let handle = open.handle;
    if open.is_directory {
        return Ok(failure_of_file(&mut inner.chunks, asked, file_id, NtStatus::INVALID_PARAMETER));
    }
    let kept = sequence(request).filter(|_| knows_channels);
    if let Some((index, number)) = kept {
        match open.lock_sequences.remove(&index) {
            // It was done before, and its answer was lost.
            Some(done) if done == number => {
                open.lock_sequences.insert(index, number);
                return Ok(of_file(
                    &mut inner.chunks,
                    asked,
                    file_id,
                    NtStatus::SUCCESS,
                    &LockResponse::default(),
                ));
            }
            Some(_) | None => {}
        }
    }
    let kept = kept.map(|(index, number)| Kept::LockSequence { index, number });
    let ranges: Vec<LockElement> = request.locks.iter().take(RANGES_MAX.saturating_add(1)).collect();
    let operation = check(&ranges).and_then(|is_unlock| {
        if is_unlock {
            return Ok(Operation::Unlock(handle, ranges));
        }
        let waits = ranges.iter().any(|range| !range.flags.contains(LockFlags::FAIL_IMMEDIATELY));
        // 3.3.4.2
        if waits && !has_room {
            Err(NtStatus::INSUFFICIENT_RESOURCES)
        } else {
            Ok(Operation::Lock(handle, ranges))
        }
    });
    Ok(match operation {
        Ok(operation) => Outcome::Wait(What::Plain { file_id, kept }, Task::File(operation)),
        Err(status) => failure_of_file(&mut inner.chunks, asked, file_id, status),
    })
}

/// LockSequenceIndex, from 1 to 64, and LockSequenceNumber, if the client uses them.
fn sequence(request: &LockRequest<'_>) -> Option<(u8, u8)> {
    let number = request.lock_sequence & 0xF;
    let index = u8::try_from(request.lock_sequence >> 4).ok().filter(|index| (1..=64).contains(index))?;
    Some((index, u8::try_from(number).ok()?))
}

/// Whether the ranges are unlocked. All that are to be locked are checked before any of them is; those that are to be unlocked one
/// after the other, each when it is its turn (3.3.5.14.1).
fn check(ranges: &[LockElement]) -> Result<bool, NtStatus> {
    let first = ranges.first().ok_or(NtStatus::INVALID_PARAMETER)?;
    if ranges.len() > RANGES_MAX {
        return Err(NtStatus::INSUFFICIENT_RESOURCES);
    }
    if first.flags == LockFlags::UNLOCK {
        return Ok(true);
    }
    for range in ranges {
        let kind = range.flags.with(LockFlags::FAIL_IMMEDIATELY, false);
        let fails = range.flags.contains(LockFlags::FAIL_IMMEDIATELY);
        let is_known = kind == LockFlags::SHARED_LOCK || kind == LockFlags::EXCLUSIVE_LOCK;
        if !is_known || !(fails || ranges.len() == 1) {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        status::check_range(range)?;
    }
    Ok(false)
}
