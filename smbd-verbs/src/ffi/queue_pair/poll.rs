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
}

impl Polled {
    pub(super) fn new() -> Self {
        let zeroed = |_| {
            // SAFETY: integers and unions of them; all may be zero.
            unsafe { mem::zeroed::<ibv_wc>() }
        };
        Self { batch: (0..BATCH).map(zeroed).collect(), next: 0, end: 0 }
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
            if self.polled.next >= self.polled.end && !self.refill()? {
                return Ok(None);
            }
            let next = self.polled.next;
            self.polled.next += 1;
            let Some(raw) = self.polled.batch.get(next) else { return Ok(None) };
            let mut completion = copy(raw);
            // A completion of work that was given up after a refusal is nobody's.
            if completion.wr_id & RECEIVE == 0 {
                self.counters.completions_send += 1;
                self.sends.complete(completion);
                continue;
            }
            self.counters.completions_recv += 1;
            if let Some(wr_id) = self.receives.complete(completion.wr_id, completion.byte_len) {
                completion.wr_id = wr_id;
                return Ok(Some(completion));
            }
        }
    }

    /// Whether there is a completion to take.
    pub(crate) fn has_completion(&mut self) -> Result<bool, CallError> {
        Ok(self.sends.may_be_back() || self.polled.next < self.polled.end || self.refill()?)
    }

    /// Asks the device; `false` if it has nothing.
    fn refill(&mut self) -> Result<bool, CallError> {
        (self.polled.next, self.polled.end) = (0, 0);
        self.counters.polls += 1;
        self.polled.end = self.completions.poll(&mut self.polled.batch)?;
        self.counters.empty_polls += u64::from(self.polled.end == 0);
        Ok(self.polled.end > 0)
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
