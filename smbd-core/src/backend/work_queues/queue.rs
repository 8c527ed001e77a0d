use alloc::collections::VecDeque;

use super::Request;
use crate::error::WorkError;
use crate::{Input, Misuse, WrId};

/// The error number for a post that the queue has no room for: ENOMEM, as providers report it.
const NO_ROOM: i32 = 12;

/// The work requests of one work queue. Allocates when it is created. It grows only if more than twice its depth is
/// pushed without a [`poll`](Self::poll), which no connection does.
#[derive(Clone, Debug)]
pub struct WorkQueue {
    /// From front to back: done and not reported, posted, chained, never to be posted.
    pub(super) entries: VecDeque<Entry>,
    /// How many are done.
    done: usize,
    /// How many are posted, done ones included.
    posted: usize,
    chained: usize,
    depth: usize,
    broken: bool,
    /// Error number for the next request that is not posted.
    refused: Option<i32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    request: Request,
    error: Option<WorkError>,
}

impl Entry {
    /// The first failure counts, but a cause more than its consequence.
    fn fail(&mut self, error: WorkError) {
        if matches!(self.error, None | Some(WorkError::Flushed)) {
            self.error = Some(error);
        }
    }
}

impl WorkQueue {
    /// A work queue for `depth` requests.
    #[must_use]
    pub fn new(depth: u32) -> Self {
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        let entries = VecDeque::with_capacity(depth.saturating_mul(2));
        Self { entries, done: 0, posted: 0, chained: 0, depth, broken: false, refused: None }
    }

    /// Lowers the depth to what the device gave.
    pub fn limit(&mut self, depth: u32) {
        self.depth = self.depth.min(usize::try_from(depth).unwrap_or(usize::MAX));
    }

    /// Records a request. `false`: do not post it; [`poll`](Self::poll) reports its failure.
    #[inline]
    pub fn push(&mut self, request: Request) -> bool {
        if !self.broken && self.used() >= self.depth {
            self.refuse(NO_ROOM);
        }
        if !self.broken {
            self.entries.push_back(Entry { request, error: None });
            self.chained = self.chained.wrapping_add(1);
            return true;
        }
        self.record_unposted(request);
        false
    }

    #[cold]
    #[inline(never)]
    fn record_unposted(&mut self, request: Request) {
        match self.entries.back_mut() {
            // The rest of a registration of which something is posted or noted already.
            Some(last) if last.request == request => {
                last.fail(refusal(&mut self.refused));
            }
            _ => self.entries.push_back(Entry { request, error: None }),
        }
    }

    /// Number of requests that wait for a doorbell.
    #[must_use]
    #[inline]
    pub const fn chained(&self) -> usize {
        self.chained
    }

    /// Number of requests that are posted or chained and not complete.
    #[must_use]
    #[inline]
    pub const fn used(&self) -> usize {
        // What is done was posted, and no sum is above the number of entries.
        self.posted.wrapping_sub(self.done).wrapping_add(self.chained)
    }

    /// Whether a signalled request is posted, so that the device reports a completion also if it succeeds.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        let mut posted = self.entries.iter().take(self.posted).skip(self.done);
        posted.any(|entry| !entry.request.is_unsignalled())
    }

    /// Whether nothing more is posted.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Reports that the chain was handed over and the device took all of it.
    #[inline]
    pub fn doorbell_rung(&mut self) {
        self.posted = self.posted.wrapping_add(self.chained);
        self.chained = 0;
    }

    /// Reports that the chain was handed over, and that the device took the first `accepted` requests and refused the
    /// next with `errno`. `bad_wr` of `ibv_post_send` points at that one; some providers report a refusal only by it.
    pub fn doorbell_rung_until(&mut self, accepted: usize, errno: i32) {
        if accepted >= self.chained {
            return self.doorbell_rung();
        }
        self.posted = self.posted.saturating_add(accepted);
        self.chained = 0;
        self.refuse(errno);
        self.merge_refused();
    }

    /// Reports that nothing more is posted, for a reason outside this queue. What is chained stays chained.
    pub const fn stop(&mut self) {
        self.broken = true;
    }

    /// Reports a completion of the device. All requests before it are complete as well.
    ///
    /// # Errors
    /// [`Misuse::UnknownWork`] if no such request is posted.
    #[inline]
    pub fn complete(&mut self, id: WrId, result: Result<(), WorkError>) -> Result<(), Misuse> {
        let index = self.find(id)?;
        if let Err(error) = result
            && let Some(entry) = self.entries.get_mut(index)
        {
            entry.fail(error);
        }
        self.done = index.wrapping_add(1);
        Ok(())
    }

    /// Removes a posted receive that took a message. It makes no input, because only the backend can make the
    /// [`Input::Received`].
    ///
    /// # Errors
    /// [`Misuse::UnknownWork`] if no such request is posted.
    #[inline]
    pub fn take(&mut self, id: WrId) -> Result<(), Misuse> {
        let index = self.find(id)?;
        if index == 0 {
            self.entries.pop_front();
        } else {
            self.entries.remove(index);
        }
        self.posted = self.posted.wrapping_sub(1);
        Ok(())
    }

    /// Reports that the device carries out nothing of what is posted, and reports no more completions. All of it fails
    /// with [`WorkError::Flushed`]. Nothing is posted from now on.
    pub fn flush(&mut self) {
        self.end(true);
    }

    /// Reports that the device has carried out or flushed everything, and has reported all completions: those of
    /// signalled requests and of flushed ones. Unsignalled requests that remain at the front succeeded; the first
    /// signalled request and all behind it fail with [`WorkError::Flushed`]. Nothing is posted from now on.
    ///
    /// For a queue pair this is the case when a marker behind everything else is complete (`wr_id` 0, which is not a
    /// [`WrId`]). If the queue pair takes no marker, it is the case when the queue pair is destroyed and the completion
    /// queue is empty.
    pub fn drained(&mut self) {
        self.end(false);
    }

    /// The next input that follows from the reports; `None` if there is none. There is one for each id, in posting
    /// order. Requests that were never posted do not wait for posted ones.
    #[inline]
    pub fn poll(&mut self) -> Option<Input<'static>> {
        // Asked before each look at the device. Mostly nothing is done, and nothing was refused.
        if self.done == 0 && self.entries.len() <= self.posted.wrapping_add(self.chained) {
            return None;
        }
        self.pop()
    }

    fn pop(&mut self) -> Option<Input<'static>> {
        while self.done > 0 {
            self.done = self.done.wrapping_sub(1);
            self.posted = self.posted.wrapping_sub(1);
            let entry = self.entries.pop_front()?;
            // A registration with several requests is complete with its last.
            if entry.request.is_one_of_several()
                && let Some(next) = self.entries.front_mut()
                && next.request == entry.request
            {
                let later = next.error.take();
                next.error = entry.error;
                if let Some(error) = later {
                    next.fail(error);
                }
                continue;
            }
            return Some(input_of(entry));
        }
        self.pop_unposted()
    }

    #[cold]
    #[inline(never)]
    fn pop_unposted(&mut self) -> Option<Input<'static>> {
        let taken = self.posted.saturating_add(self.chained);
        let entry = self.entries.remove(taken)?;
        let error = refusal(&mut self.refused);
        while self.entries.get(taken).is_some_and(|next| next.request == entry.request) {
            self.entries.remove(taken);
        }
        Some(Input::Failed { id: entry.request.id(), error: entry.error.unwrap_or(error) })
    }

    #[inline]
    fn find(&self, id: WrId) -> Result<usize, Misuse> {
        // Mostly it is the first.
        if self.done < self.posted
            && self.entries.get(self.done).is_some_and(|entry| entry.request.id() == id)
        {
            return Ok(self.done);
        }
        self.find_behind(id)
    }

    #[inline(never)]
    fn find_behind(&self, id: WrId) -> Result<usize, Misuse> {
        let is_it = |index: &usize| self.entries.get(*index).is_some_and(|entry| entry.request.id() == id);
        // Or the last, if nothing before it was signalled. A registration has several of one name, of which the first is meant.
        let last = match id {
            WrId::Reg(_) => None,
            WrId::Recv(_) | WrId::Send(_) | WrId::Rdma(_) => self.posted.checked_sub(1),
        };
        let last = last.filter(|last| *last >= self.done).filter(is_it);
        last.or_else(|| (self.done..self.posted).find(is_it)).ok_or(Misuse::UnknownWork(id))
    }

    const fn refuse(&mut self, errno: i32) {
        self.broken = true;
        self.refused = Some(errno);
    }

    /// A registration whose requests were posted in part fails as a whole, when the posted part is complete.
    fn merge_refused(&mut self) {
        let Some(last) = self.posted.checked_sub(1) else { return };
        let Some(request) = self.entries.get(last).map(|entry| entry.request) else { return };
        while self.entries.get(self.posted).is_some_and(|entry| entry.request == request) {
            self.entries.remove(self.posted);
            let error = refusal(&mut self.refused);
            if let Some(entry) = self.entries.get_mut(last) {
                entry.fail(error);
            }
        }
    }

    /// Ends what is posted. What is behind a lost request is lost as well.
    fn end(&mut self, mut lost: bool) {
        for entry in self.entries.iter_mut().take(self.posted).skip(self.done) {
            lost |= !entry.request.is_unsignalled();
            if lost {
                entry.fail(WorkError::Flushed);
            }
        }
        self.done = self.posted;
        self.chained = 0;
        self.broken = true;
    }
}

/// The first request that is not posted was refused, those behind it are flushed.
fn refusal(refused: &mut Option<i32>) -> WorkError {
    refused.take().map_or(WorkError::Flushed, |errno| WorkError::PostFailed { errno })
}

const fn input_of(Entry { request, error }: Entry) -> Input<'static> {
    match (error, request) {
        (Some(error), _) => Input::Failed { id: request.id(), error },
        // A receive that is done and was not taken holds no message.
        (None, Request::Recv(id)) => Input::Failed { id: WrId::Recv(id), error: WorkError::Flushed },
        (None, Request::Send { id, .. }) => Input::Sent { id },
        (None, Request::Rdma { id, .. }) => Input::RdmaDone { id },
        (None, Request::Bind(id)) => Input::BindComplete { id },
        (None, Request::Invalidate(id)) => Input::Deregistered { id },
    }
}
