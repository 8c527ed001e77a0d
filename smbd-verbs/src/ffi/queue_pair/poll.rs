//! Polls completions of the device, many at a time.

use std::mem;

use super::{QueuePair, receives::RECEIVE};
use crate::ffi::{
    CallError,
    sys::{ibv_wc, ibv_wc_status},
};

/// Completions taken at once.
const BATCH: usize = 16;

/// A work request that is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The caller's id of it.
    pub(crate) wr_id: u64,
    /// `ibv_wc_status`; 0 if it went well. The fields behind `vendor_error` are 0 otherwise.
    pub(crate) status: u32,
    /// The vendor's word about a failure.
    pub(crate) vendor_error: u32,
    /// Bytes of a message that came.
    pub(crate) byte_len: u32,
    /// `ibv_wc_flags`.
    pub(crate) flags: u32,
    /// The key that a message invalidated, if the flags say so.
    pub(crate) invalidated_key: u32,
}

/// Those that were taken and not reported yet.
pub(super) struct Polled {
    /// Always values of some kind: providers leave out fields of failures.
    batch: Box<[ibv_wc]>,
    next: usize,
    end: usize,
    /// There were fewer than can be taken: the queue was empty behind them, and nobody was told so yet.
    is_short: bool,
}

impl Polled {
    pub(super) fn new() -> Self {
        let zeroed = |_| {
            // SAFETY: integers and unions of them; all may be zero.
            unsafe { mem::zeroed::<ibv_wc>() }
        };
        Self { batch: (0..BATCH).map(zeroed).collect(), next: 0, end: 0, is_short: false }
    }

    #[inline]
    const fn is_empty(&self) -> bool {
        self.next >= self.end
    }

    /// The next one, if there is one left.
    #[inline]
    fn take(&mut self) -> Option<Completion> {
        let raw = self.batch.get(self.next..self.end)?.first()?;
        self.next += 1;
        Some(copy(raw))
    }

    /// Has `poll` fill the batch, of which none is left; returns how many there were.
    #[inline]
    fn refill(
        &mut self,
        poll: impl FnOnce(&mut [ibv_wc]) -> Result<usize, CallError>,
    ) -> Result<usize, CallError> {
        (self.next, self.end) = (0, 0);
        self.end = poll(&mut self.batch)?.min(BATCH);
        self.is_short = (1..BATCH).contains(&self.end);
        Ok(self.end)
    }

    /// Whether none is left, and the queue was empty behind the last. Says so once.
    #[inline]
    const fn ends_short(&mut self) -> bool {
        self.is_empty() && mem::replace(&mut self.is_short, false)
    }
}

impl QueuePair {
    /// The next work request that is back; `None` if there is none now.
    #[inline]
    pub(crate) fn poll(&mut self) -> Result<Option<Completion>, CallError> {
        loop {
            if let Some(completion) = self.sends.back() {
                return Ok(Some(completion));
            }
            if self.polled.is_empty() && !self.refill()? {
                return Ok(None);
            }
            let Some(mut completion) = self.polled.take() else { return Ok(None) };
            // A completion of work that was given up after a refusal is nobody's.
            if completion.wr_id & RECEIVE == 0 {
                self.counters.completions_send += 1;
                match self.sends.complete(completion) {
                    Some(first) => return Ok(Some(first)),
                    None => continue,
                }
            }
            self.counters.completions_recv += 1;
            if let Some(wr_id) = self.receives.complete(completion.wr_id, completion.byte_len) {
                completion.wr_id = wr_id;
                return Ok(Some(completion));
            }
        }
    }

    /// Whether the queue was empty behind the completions that [`poll`](Self::poll) gave last. Said once for each time that it was: what
    /// has come since then is found by the next `poll`. It saves a look at the device for nothing.
    #[inline]
    pub(crate) const fn has_given_all(&mut self) -> bool {
        !self.sends.may_be_back() && self.polled.ends_short()
    }

    /// Whether there is a completion to take.
    pub(crate) fn has_completion(&mut self) -> Result<bool, CallError> {
        Ok(self.sends.may_be_back() || !self.polled.is_empty() || self.refill()?)
    }

    /// Asks the device; `false` if it has nothing.
    fn refill(&mut self) -> Result<bool, CallError> {
        self.counters.polls += 1;
        let got = self.polled.refill(|batch| self.completions.poll(batch))?;
        self.counters.empty_polls += u64::from(got == 0);
        Ok(got > 0)
    }
}

/// Copies what is valid.
#[inline]
fn copy(raw: &ibv_wc) -> Completion {
    let failed = Completion {
        wr_id: raw.wr_id,
        status: raw.status,
        vendor_error: raw.vendor_err,
        byte_len: 0,
        flags: 0,
        invalidated_key: 0,
    };
    if raw.status != ibv_wc_status::IBV_WC_SUCCESS {
        return failed;
    }
    // SAFETY: both parts of the union are numbers of 32 bits.
    let invalidated_key = unsafe { raw.imm_data_invalidated_rkey_union.invalidated_rkey };
    Completion { byte_len: raw.byte_len, flags: raw.wc_flags, invalidated_key, ..failed }
}

#[cfg(test)]
mod tests {
    use super::{BATCH, Polled};

    #[test]
    fn that_the_queue_was_empty_is_said_once_behind_a_short_batch_and_not_behind_a_full_one() {
        let mut polled = Polled::new();
        assert!(!polled.ends_short(), "nobody looked");
        for got in [1, BATCH - 1] {
            assert_eq!(polled.refill(|_| Ok(got)), Ok(got));
            for _ in 0..got {
                assert!(!polled.ends_short(), "one is left");
                assert!(polled.take().is_some());
            }
            assert!(polled.take().is_none());
            assert_eq!([polled.ends_short(), polled.ends_short()], [true, false]);
        }
        for got in [BATCH, 0] {
            assert_eq!(polled.refill(|_| Ok(got)), Ok(got));
            while polled.take().is_some() {}
            assert!(!polled.ends_short(), "after {got} the device has to be asked");
        }
    }
}
