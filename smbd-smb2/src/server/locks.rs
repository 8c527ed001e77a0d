//! Locks of ranges of a file (MS-FSA 2.1.4.10).

use alloc::vec::Vec;

use crate::wire::NtStatus;

/// The most locks of a file.
const LOCKS_MAX: usize = 4096;

/// The locks of a file, each with the open that has it: for whoever writes a [`FileSystem`](super::FileSystem).
#[derive(Debug, Default)]
pub struct Locks(Vec<Lock>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lock {
    owner: u64,
    offset: u64,
    len: u64,
    is_exclusive: bool,
}

impl Lock {
    /// Whether it has a byte of the range. One without bytes lies between two.
    fn overlaps(&self, offset: u64, len: u64) -> bool {
        let end = |offset: u64, len: u64| u128::from(offset).saturating_add(len.into());
        u128::from(offset) < end(self.offset, self.len) && u128::from(self.offset) < end(offset, len)
    }
}

impl Locks {
    /// Locks `len` bytes from `offset` on for the open `owner`: what is exclusive overlaps no other, what is shared no exclusive one of
    /// another open.
    ///
    /// # Errors
    /// STATUS_LOCK_NOT_GRANTED: another lock is in the way. STATUS_INSUFFICIENT_RESOURCES: the file has 4096 locks.
    pub fn lock(&mut self, owner: u64, offset: u64, len: u64, is_exclusive: bool) -> Result<(), NtStatus> {
        let conflicts = |lock: &Lock| {
            lock.overlaps(offset, len) && (is_exclusive || (lock.is_exclusive && lock.owner != owner))
        };
        if self.0.iter().any(conflicts) {
            return Err(NtStatus::LOCK_NOT_GRANTED);
        }
        if self.0.len() >= LOCKS_MAX {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        self.0.push(Lock { owner, offset, len, is_exclusive });
        Ok(())
    }

    /// Unlocks a range that was locked as it is.
    ///
    /// # Errors
    /// STATUS_RANGE_NOT_LOCKED: it was not.
    pub fn unlock(&mut self, owner: u64, offset: u64, len: u64) -> Result<(), NtStatus> {
        let is_it = |lock: &Lock| lock.owner == owner && lock.offset == offset && lock.len == len;
        let at = self.0.iter().position(is_it).ok_or(NtStatus::RANGE_NOT_LOCKED)?;
        self.0.remove(at);
        Ok(())
    }

    /// Ends all locks of an open.
    pub fn end(&mut self, owner: u64) {
        self.0.retain(|lock| lock.owner != owner);
    }

    /// Whether the open `reader` may read the range. Nothing can always be read.
    #[must_use]
    pub fn may_read(&self, reader: u64, offset: u64, len: u64) -> bool {
        let conflicts = |lock: &Lock| lock.overlaps(offset, len) && lock.is_exclusive && lock.owner != reader;
        len == 0 || !self.0.iter().any(conflicts)
    }

    /// Whether the open `writer` may write the range. What is shared keeps everybody from writing.
    #[must_use]
    pub fn may_write(&self, offset: u64, len: u64, writer: u64) -> bool {
        let conflicts =
            |lock: &Lock| lock.overlaps(offset, len) && !(lock.is_exclusive && lock.owner == writer);
        len == 0 || !self.0.iter().any(conflicts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENIED: Result<(), NtStatus> = Err(NtStatus::LOCK_NOT_GRANTED);

    #[test]
    fn an_exclusive_lock_overlaps_no_other_and_a_shared_one_shared_ones_only() {
        let mut locks = Locks::default();
        assert_eq!(locks.lock(1, 10, 10, false), Ok(()));
        assert_eq!(locks.lock(2, 15, 10, false), Ok(()));
        assert_eq!(locks.lock(2, 24, 1, true), DENIED);
        assert_eq!(locks.lock(2, 25, 1, true), Ok(()));
        assert_eq!(locks.lock(1, 25, 1, false), DENIED);
        assert_eq!(locks.lock(1, 9, 1, true), Ok(()));
    }

    #[test]
    fn a_lock_at_the_end_of_all_numbers_is_one_like_others() {
        let mut locks = Locks::default();
        assert_eq!(locks.lock(1, u64::MAX, 1, true), Ok(()));
        assert_eq!(locks.lock(2, 0, u64::MAX, true), Ok(()));
        assert_eq!(locks.lock(2, u64::MAX, 1, false), DENIED);
    }

    #[test]
    fn a_lock_without_bytes_conflicts_only_inside_of_another() {
        let mut locks = Locks::default();
        assert_eq!(locks.lock(1, 10, 10, true), Ok(()));
        for offset in [10, 20] {
            assert_eq!(locks.lock(2, offset, 0, true), Ok(()));
        }
        assert_eq!(locks.lock(2, 11, 0, true), DENIED);
    }

    #[test]
    fn what_others_may_do_depends_on_the_lock() {
        let mut locks = Locks::default();
        assert_eq!(locks.lock(1, 0, 10, true), Ok(()));
        assert_eq!(locks.lock(1, 20, 10, false), Ok(()));
        assert_eq!(
            [locks.may_read(1, 0, 1), locks.may_read(2, 0, 1), locks.may_read(2, 20, 1)],
            [true, false, true]
        );
        assert_eq!([locks.may_write(0, 1, 1), locks.may_write(0, 1, 2)], [true, false]);
        assert_eq!(
            [locks.may_write(20, 1, 1), locks.may_write(20, 1, 2), locks.may_write(10, 10, 2)],
            [false, false, true]
        );
    }

    #[test]
    fn only_the_range_that_was_locked_is_unlocked() {
        let mut locks = Locks::default();
        assert_eq!(locks.lock(1, 0, 10, true), Ok(()));
        for (owner, offset, len) in [(2, 0, 10), (1, 0, 9), (1, 1, 9)] {
            assert_eq!(locks.unlock(owner, offset, len), Err(NtStatus::RANGE_NOT_LOCKED));
        }
        assert_eq!(locks.unlock(1, 0, 10), Ok(()));
        assert_eq!(locks.lock(2, 0, 10, true), Ok(()));
        locks.end(2);
        assert_eq!(locks.lock(1, 5, 1, true), Ok(()));
    }
}
