//! What came of an operation, and whether it is what has to come of it.

use std::collections::BTreeSet;

use smbd_smb2::client::{Failure, OperationId, Reply};
use smbd_smb2::wire::{NtStatus, Response};

use super::state::{Claim, File, Kept, Running, Step, What, expected, names};
use super::{Phase, Work};
use crate::memory::Watched;
use crate::shared::Shared;
use smbd_testkit::{Breach, law};

/// What is kept of a result.
pub fn keep(result: Result<Reply<'_>, Failure>) -> Kept {
    match result {
        Err(failure) => Kept::Failed(failure),
        Ok(Reply::Session(session)) => Kept::Session(session),
        Ok(Reply::Tree(tree, _)) => Kept::Tree(tree),
        Ok(Reply::Read(count) | Reply::Written(count)) => Kept::Moved(count),
        Ok(Reply::Answer(_, Response::Create(created))) => Kept::Created(created.file_id),
        Ok(Reply::Answer(_, Response::QueryDirectory(listed))) => {
            names(listed.output).map_or(Kept::Other, Kept::Listed)
        }
        Ok(Reply::Answer(_, Response::QueryInfo(info))) => {
            // FileStandardInformation (MS-FSCC 2.4.47): EndOfFile
            let size = info.output.get(8..16).and_then(|bytes| bytes.try_into().ok());
            size.map_or(Kept::Other, |size| Kept::Size(u64::from_le_bytes(size)))
        }
        Ok(_) => Kept::Other,
    }
}

impl<M: Watched> Work<M> {
    /// Whether an operation may fail so.
    fn may_fail(&self, running: &Running, failure: &Failure) -> bool {
        match failure {
            Failure::Status(NtStatus::CANCELLED) | Failure::Cancelled => running.is_cancelled,
            // A lock that waits ends with its file, which is closed only when what waits was cancelled.
            Failure::Status(NtStatus::RANGE_NOT_LOCKED) => {
                let closes = |what: &What| matches!(what, What::Close | What::Disconnect | What::Logoff);
                running.waits()
                    && running.is_cancelled
                    && self.running.values().any(|other| closes(&other.what))
            }
            Failure::Transform(error) => self.may_be_bad(running, error.status()),
            Failure::Status(status @ (NtStatus::INVALID_SIGNATURE | NtStatus::AUTH_TAG_MISMATCH)) => {
                self.may_be_bad(running, *status)
            }
            Failure::TimedOut => self.shared.plan.is_hasty || !self.shared.plan.is_gentle,
            Failure::Registration => running.buffer.is_some(),
            // More than the client wants to have, there need not be.
            Failure::Credits { needed, .. } => *needed > self.shared.plan.credits[0],
            _ => false,
        }
    }

    /// Whether data that went by RDMA may not be what was sent, which has this status.
    fn may_be_bad(&self, running: &Running, status: NtStatus) -> bool {
        let is_known = [NtStatus::INVALID_SIGNATURE, NtStatus::AUTH_TAG_MISMATCH].contains(&status);
        is_known && running.buffer.is_some() && self.shared.plan.tampers.is_some()
    }

    pub(super) fn outcome(
        &mut self,
        operation: OperationId,
        running: Running,
        kept: Kept,
    ) -> Result<(), Breach> {
        let memory = running.buffer.and_then(|buffer| self.memory.remove(&buffer));
        if let What::Temp { tree, .. } = &running.what {
            self.trees[*tree].changing = self.trees[*tree].changing.saturating_sub(1);
        }
        match kept {
            Kept::Failed(failure) => {
                self.shared.notes.count("operations that failed");
                let is_fine = self.is_excused() || self.may_fail(&running, &failure);
                self.failed(operation, &running, &failure, is_fine)
            }
            kept => {
                self.shared.notes.count("operations that succeeded");
                self.succeeded(operation, running, kept, memory)
            }
        }
    }

    /// Whether a directory has these names.
    fn listed(&self, at: usize, listed: &[String], files: &[File]) -> Result<(), Breach> {
        let Shared { plan, notes, .. } = &self.shared;
        let got: BTreeSet<String> = listed.iter().cloned().collect();
        let wanted = expected(at, files, &self.trees[at].temps);
        let may_be_late = plan.is_hasty || !plan.is_gentle;
        let is_known = files.iter().all(|file| file.tree != at || file.is_there);
        let is_checked = plan.is_trusted() && is_known && !may_be_late;
        law!("results", !is_checked || listed.len() == got.len(), "a name is listed twice: {listed:?}");
        law!("results", !is_checked || got == wanted, "{got:?} are listed, and there are {wanted:?}");
        notes.count("listings");
        Ok(())
    }

    /// What is known after a failure.
    fn failed(
        &mut self,
        operation: OperationId,
        running: &Running,
        failure: &Failure,
        is_fine: bool,
    ) -> Result<(), Breach> {
        let is_over = self.is_ended;
        let mut files = self.files.borrow_mut();
        match &running.what {
            What::Login(_) | What::Connect(_) | What::MakeRoot(_) | What::Open(_) | What::Reauthenticate => {
                self.has_failed = true;
            }
            What::Read { file, offset, len } => {
                let file = &files[*file];
                shown(file, operation, *offset, running)?;
                let ends = *failure == Failure::Status(NtStatus::END_OF_FILE);
                let is_behind = *offset >= file.content.len() && *len > 0;
                let is_known = file.is_lost || ends == is_behind;
                law!(
                    "results",
                    is_fine || (ends && is_known),
                    "{operation:?}, a READ of {len} at {offset}: {failure}"
                );
                return Ok(());
            }
            What::Write { file, offset, data } => {
                // Whoever does not wait any longer does not know when it is written.
                let is_late = *failure == Failure::TimedOut;
                let is_alone = matches!(running.claim, Some((_, Claim::All)));
                let file = &mut files[*file];
                file.is_lost |= is_alone || is_late || *offset + data.len() > file.content.len();
                file.content.perhaps(*offset, data);
            }
            What::Resize { file, .. } => files[*file].is_lost = true,
            What::Lock { file, handle, waits } => {
                let file = &mut files[*file];
                let is_due = refused_lock(file, *handle, *waits, failure);
                law!("results", is_fine || is_due, "{operation:?}, a LOCK that nobody has: {failure}");
                return Ok(());
            }
            What::Unlock { file, .. } => {
                files[*file].lock.is_busy = false;
                files[*file].is_lost = true;
            }
            What::List(tree) => {
                let listed = self.trees[*tree].listing.take().unwrap_or_default();
                if *failure == Failure::Status(NtStatus::NO_MORE_FILES) {
                    return self.listed(*tree, &listed, &files);
                }
            }
            What::Temp { .. } if matches!(failure, Failure::Credits { .. }) => {}
            What::Temp { tree, name, .. } => {
                // What is there is not known any more; no other file gets its name.
                self.trees[*tree].temps.remove(name);
                self.has_failed |= !is_over;
            }
            What::Notify => {
                let is_closed = *failure == Failure::Status(NtStatus::NOTIFY_CLEANUP);
                let is_due = is_closed && self.phase == Phase::TearDown;
                law!("results", is_fine || is_due, "{operation:?}, a CHANGE_NOTIFY: {failure}");
                return Ok(());
            }
            What::Disconnect | What::Logoff | What::Close | What::Flush | What::Size { .. } | What::Echo => {}
        }
        drop(files);
        law!("results", is_fine, "{operation:?}, {:?}: {failure}", super::brief(running));
        Ok(())
    }

    fn succeeded(
        &mut self,
        operation: OperationId,
        running: Running,
        kept: Kept,
        memory: Option<M>,
    ) -> Result<(), Breach> {
        let (is_trusted, checked) = (self.shared.plan.is_trusted(), running.checked());
        let (notes, files) = (self.shared.notes.clone(), std::rc::Rc::clone(&self.files));
        let mut files = files.borrow_mut();
        match (running.what, kept) {
            (What::Login(at), Kept::Session(session)) => self.sessions[at] = Some(session),
            (What::Connect(at), Kept::Tree(tree)) => self.trees[at].handle = Some(tree),
            (What::MakeRoot(at), Kept::Created(file_id)) => self.trees[at].root = Some(file_id),
            (What::Open(at), Kept::Created(file_id)) => {
                files[at].handles.push(file_id);
                files[at].is_there = true;
            }
            (What::Read { file, offset, len }, Kept::Moved(count)) => {
                notes.add("bytes read", count);
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                let is_enough = checked.is_none_or(|checked| checked >= count.min(len)) || !is_trusted;
                law!("protection", is_enough, "{operation:?}: {checked:?} of {count} bytes were checked");
                let memory = memory.filter(|_| checked.is_none());
                let data = memory.and_then(|memory| memory.settled(count.min(len))).unwrap_or(running.got);
                let is_short = running.is_cancelled;
                return check_read(&files[file], operation, (offset, len), (count, &data), is_short);
            }
            (What::Write { file, offset, data }, Kept::Moved(count)) => {
                notes.add("bytes written", count);
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                let is_whole = count == data.len() || (running.is_cancelled && count < data.len());
                law!(
                    "results",
                    is_whole || !is_trusted,
                    "{operation:?} has written {count} of {}",
                    data.len()
                );
                files[file].content.wrote(offset, data.get(..count).unwrap_or(&data));
            }
            (What::Resize { file, size }, Kept::Other) => files[file].content.resize(size),
            (What::Size { file }, Kept::Size(size)) => {
                let (file, there) = (&files[file], files[file].content.len() as u64);
                law!(
                    "results",
                    file.is_lost || size == there,
                    "{operation:?}: {size} bytes, and there are {there}"
                );
            }
            (What::Lock { file, handle, waits }, Kept::Other) => {
                notes.add("locks that waited", waits.into());
                let is_due = got_lock(&mut files[file], handle, waits);
                law!("results", is_due, "{operation:?} has a lock that another one has");
            }
            (What::Unlock { file, handle }, Kept::Other) => {
                let lock = &mut files[file].lock;
                lock.is_busy = false;
                lock.holder = lock.holder.filter(|holder| *holder != handle);
            }
            (What::List(at), Kept::Listed(names)) => {
                if let Some(listing) = &mut self.trees[at].listing {
                    listing.extend(names);
                    self.goes_on.push(at);
                }
            }
            (What::Temp { tree, name, step }, kept) => {
                drop(files);
                return self.member(operation, (tree, name, step), &running.got, &kept);
            }
            (What::Reauthenticate, Kept::Other) => notes.count("users who authenticated again"),
            (What::Disconnect | What::Logoff | What::Close | What::Flush | What::Echo, Kept::Other) => {}
            (what, kept) => {
                law!("results", !is_trusted, "{operation:?}, {what:?}: {kept:?}");
                self.has_failed = true;
            }
        }
        Ok(())
    }

    /// What came of a member of a compound.
    fn member(
        &mut self,
        operation: OperationId,
        (tree, name, step): (usize, String, Step),
        got: &[u8],
        kept: &Kept,
    ) -> Result<(), Breach> {
        let is_trusted = self.shared.plan.is_trusted();
        let temps = &mut self.trees[tree].temps;
        match (step, kept) {
            (Step::Fill(data), Kept::Moved(count)) => {
                law!(
                    "results",
                    *count == data.len() as u64 || !is_trusted,
                    "{operation:?}: {count} of {}",
                    data.len()
                );
            }
            (Step::Look, Kept::Moved(count)) => {
                let wanted = temps.get(&name).map(Vec::as_slice).unwrap_or_default();
                let is_right = *count == wanted.len() as u64 && got == wanted;
                law!(
                    "bytes",
                    is_right || !is_trusted,
                    "{operation:?}: {count} bytes of {name} are {got:02x?}"
                );
            }
            (Step::Close(Some(data)), Kept::Other) => drop(temps.insert(name, data)),
            (Step::Close(None), Kept::Other) => drop(temps.remove(&name)),
            (Step::Make | Step::Open | Step::Remove, Kept::Created(_)) => {}
            (step, kept) => law!("results", !is_trusted, "{operation:?}, {step:?} of {name}: {kept:?}"),
        }
        Ok(())
    }
}

/// Whether a READ that has failed shows nothing but what is there: what was not good is zeros.
fn shown(file: &File, operation: OperationId, offset: usize, running: &Running) -> Result<(), Breach> {
    for range in &running.checked {
        let shown = running.got.get(range.clone()).unwrap_or_default().iter().zip(range.clone());
        let is_wrong = |at: usize, byte: u8| byte != 0 && file.content.wrong(offset + at, &[byte]).is_some();
        let wrong = shown.into_iter().find(|(byte, at)| !file.is_lost && is_wrong(*at, **byte));
        law!("bytes", wrong.is_none(), "{operation:?} has failed, and shows what is not there: {wrong:?}");
    }
    Ok(())
}

/// Whether a READ has brought what is there.
pub fn check_read(
    file: &File,
    operation: impl std::fmt::Debug,
    (offset, len): (usize, usize),
    (count, data): (usize, &[u8]),
    may_be_short: bool,
) -> Result<(), Breach> {
    if file.is_lost {
        return Ok(());
    }
    let there = file.content.len().saturating_sub(offset).min(len);
    let is_right = count == there || (may_be_short && count < there);
    law!("results", is_right, "{operation:?}: {count} bytes, and {there} are there");
    let wrong = file.content.wrong(offset, data.get(..count).unwrap_or(data));
    law!("bytes", wrong.is_none(), "{operation:?}: byte {wrong:?} of {} is another one", file.name);
    Ok(())
}

/// A LOCK was refused. Whether it had to be.
fn refused_lock(file: &mut File, handle: usize, waits: bool, failure: &Failure) -> bool {
    let is_refused = *failure == Failure::Status(NtStatus::LOCK_NOT_GRANTED);
    file.is_lost |= *failure == Failure::TimedOut;
    if waits {
        file.lock.waiting = None;
        return false;
    }
    file.lock.is_busy = false;
    is_refused && file.lock.holder.is_some_and(|holder| holder != handle)
}

/// A LOCK was granted. Whether nobody else has it.
fn got_lock(file: &mut File, handle: usize, waits: bool) -> bool {
    let is_free = if waits {
        file.lock.waiting = None;
        // Whoever unlocks has not heard of it yet.
        file.lock.is_busy || file.lock.holder.is_none()
    } else {
        file.lock.is_busy = false;
        file.lock.holder.is_none()
    };
    file.lock.holder = Some(handle);
    is_free || file.is_lost
}
