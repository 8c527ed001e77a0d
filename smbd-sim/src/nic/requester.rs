use std::collections::VecDeque;

use smbd_core::error::WorkError;
use smbd_core::{Token, WrId};

use super::{Nic, NicConfig, QpState, Reply, SendDone};
use crate::memory::{Buffer, Range};

/// What makes a work request complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completes {
    /// It is complete already, as far as the device is concerned.
    Now,
    /// An acknowledgement that covers its number.
    Acked,
    /// An answer of its own, which turns it into `Now`.
    Answered,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) id: WrId,
    pub(super) signal: bool,
    pub(super) completes: Completes,
    /// Memory the device uses until the completion is polled, and whether it writes it.
    pub(super) held: Option<(Buffer, bool)>,
    /// Where the answer to an RDMA Read goes.
    pub(super) sink: Option<(Range, Option<Token>)>,
}

impl Entry {
    pub(super) const fn new(id: WrId, signal: bool, completes: Completes) -> Self {
        Self { id, signal, completes, held: None, sink: None }
    }
}

#[derive(Clone, Copy, Debug)]
struct Completion {
    seq: u64,
    result: Result<(), WorkError>,
}

/// The send queue and its completion queue. A place is taken until its completion, or a later one, is polled.
#[derive(Debug)]
pub(super) struct SendQueue {
    entries: VecDeque<Entry>,
    /// Number of the first of `entries`.
    first: u64,
    /// First number that the device has not completed.
    pending: u64,
    /// First number that is not acknowledged.
    acked: u64,
    reads: u16,
    cq: VecDeque<Completion>,
    /// Nothing from here on was completed, and nothing says so.
    lost: Option<u64>,
}

impl SendQueue {
    pub(super) fn new(config: &NicConfig) -> Self {
        Self {
            entries: VecDeque::with_capacity(config.send_queue as usize),
            first: 0,
            pending: 0,
            acked: 0,
            reads: 0,
            cq: VecDeque::with_capacity(config.send_cq as usize),
            lost: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) const fn reads(&self) -> u16 {
        self.reads
    }

    pub(super) fn completions(&self) -> usize {
        self.cq.len()
    }

    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    pub(super) fn push(&mut self, entry: Entry) -> u64 {
        let seq = self.end();
        self.reads += u16::from(entry.sink.is_some());
        self.entries.push_back(entry);
        seq
    }

    pub(super) fn push_flushed(&mut self, entry: Entry) {
        let seq = self.push(entry);
        self.pending = seq + 1;
        self.cq.push_back(Completion { seq, result: Err(WorkError::Flushed) });
    }

    fn entry_mut(&mut self, seq: u64) -> Option<&mut Entry> {
        let at = usize::try_from(seq.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(at)
    }

    /// Completes what can be, in order: unsignalled work silently.
    pub(super) fn retire(&mut self) {
        let from = usize::try_from(self.pending - self.first).unwrap_or(usize::MAX);
        for entry in self.entries.range(from.min(self.entries.len())..) {
            let complete = match entry.completes {
                Completes::Now => true,
                Completes::Acked => self.pending < self.acked,
                Completes::Answered => false,
            };
            if !complete {
                break;
            }
            if entry.signal {
                self.cq.push_back(Completion { seq: self.pending, result: Ok(()) });
            }
            self.pending += 1;
        }
    }

    /// Everything not completed ends as flushed, signalled or not.
    pub(super) fn flush(&mut self) {
        for seq in self.pending..self.end() {
            self.cq.push_back(Completion { seq, result: Err(WorkError::Flushed) });
        }
        self.pending = self.end();
    }

    /// `seq` fails, and nothing behind it is carried out. What lies before it has to be complete: the peer answers
    /// in order. An RDMA Read still unanswered there is flushed.
    fn fail(&mut self, seq: u64, error: WorkError) {
        for earlier in self.pending..seq {
            self.cq.push_back(Completion { seq: earlier, result: Err(WorkError::Flushed) });
        }
        if self.pending <= seq {
            self.cq.push_back(Completion { seq, result: Err(error) });
            self.pending = seq + 1;
        }
    }

    /// The next entry that is complete, in posting order, and whether the completion is its own. A completion vouches for
    /// everything posted before it that asked for none.
    fn pop(&mut self) -> Option<(Entry, Result<(), WorkError>, bool)> {
        let completion = self.cq.front().copied()?;
        let entry = self.entries.pop_front()?;
        let own = self.first == completion.seq;
        self.first += 1;
        if own {
            self.cq.pop_front();
        }
        Some((entry, if own { completion.result } else { Ok(()) }, own))
    }

    /// Takes what a queue pair that is down, and has no completion left, was not asked to report, which was carried out, and
    /// what it has lost.
    fn pop_silent(&mut self) -> Option<(Entry, Result<(), WorkError>)> {
        let entry = self.entries.pop_front()?;
        let is_lost = self.lost.is_some_and(|lost| lost <= self.first);
        self.first += 1;
        Some((entry, if is_lost { Err(WorkError::Flushed) } else { Ok(()) }))
    }

    /// What is not complete never will be, and has no completion.
    pub(super) fn lose(&mut self) {
        self.lost = Some(self.pending);
        self.pending = self.end();
    }
}

impl Nic {
    /// Next completion of the send queue. Work before it that asked for no completion is complete as well.
    pub fn poll_send(&mut self) -> Option<SendDone> {
        loop {
            let (entry, result, own) = self.sq.pop()?;
            let done = self.complete(&entry, result);
            if own {
                return Some(done);
            }
        }
    }

    /// The queue pair is down and nothing is left to poll: what asked for no completion and was carried out is done with.
    /// `false` if it is not down, or there is something to poll.
    pub fn reap(&mut self) -> bool {
        if self.state != QpState::Error || self.has_completions() {
            return false;
        }
        while let Some((entry, result)) = self.sq.pop_silent() {
            self.complete(&entry, result);
        }
        true
    }

    fn complete(&mut self, entry: &Entry, result: Result<(), WorkError>) -> SendDone {
        if let Some((buffer, write)) = entry.held {
            self.unhold(buffer, write);
        }
        if let Some((_, Some(token))) = entry.sink {
            // Still open if no answer came.
            let _closed = self.tokens.disable(self.domain, token);
        }
        let done = SendDone { id: entry.id, result };
        self.outcomes.push_back(done);
        done
    }

    /// What became of the next request of the send queue whose completion was polled, or vouched for by a later one, in
    /// posting order: what a program has to work out from the completions.
    pub fn next_outcome(&mut self) -> Option<SendDone> {
        self.outcomes.pop_front()
    }

    /// Takes the next outcome, if it is this one.
    #[inline]
    pub(crate) fn take_outcome(&mut self, done: &SendDone) -> bool {
        self.outcomes.front() == Some(done) && self.outcomes.pop_front().is_some()
    }

    /// As [`next_outcome`](Self::next_outcome), and it stays.
    #[must_use]
    pub fn peek_outcome(&self) -> Option<&SendDone> {
        self.outcomes.front()
    }

    /// A reply of the responder arrived. `true` if it ended the stream.
    pub fn reply(&mut self, reply: Reply, responder: &mut Self) -> bool {
        match reply {
            Reply::Ack { upto } => {
                if self.state == QpState::Ready {
                    self.sq.acked = self.sq.acked.max(upto);
                    self.sq.retire();
                }
            }
            Reply::Nak { seq, error } => {
                if self.state == QpState::Ready {
                    self.sq.acked = self.sq.acked.max(seq);
                    self.sq.retire();
                    self.fail(seq, error);
                }
            }
            Reply::ReadData { seq, bytes } => {
                if self.state == QpState::Ready {
                    self.answer(seq, &bytes);
                }
                responder.give_pooled(bytes);
            }
            Reply::Terminate { error, read } => {
                if self.state == QpState::Ready {
                    if let Some(seq) = read {
                        self.sq.fail(seq, error);
                    }
                    self.flush();
                    return true;
                }
            }
        }
        self.check_send_cq();
        false
    }

    fn answer(&mut self, seq: u64, bytes: &[u8]) {
        let Some(entry) = self.sq.entry_mut(seq) else { return };
        let Some((range, token)) = entry.sink.take() else { return };
        entry.completes = Completes::Now;
        self.sq.reads -= 1;
        if let Some(token) = token {
            // The read's own token cannot have gone before its answer.
            let _closed = self.tokens.disable(self.domain, token);
        }
        self.buffers.dma(range, bytes);
        // The answer to a read acknowledges what was asked before it.
        self.sq.acked = self.sq.acked.max(seq);
        self.sq.retire();
    }

    /// No answer came in time.
    pub fn give_up(&mut self, seq: u64) {
        let waiting = self.sq.pending < self.sq.end() && self.sq.pending <= seq;
        if self.state == QpState::Ready && waiting {
            // The oldest request without an answer is the one whose retries run out.
            let oldest = self.sq.pending;
            self.fail(oldest, WorkError::RetryExceeded);
        }
    }

    pub(super) fn fail(&mut self, seq: u64, error: WorkError) {
        self.sq.fail(seq, error);
        self.flush();
        self.check_send_cq();
    }
}
