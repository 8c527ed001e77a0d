use alloc::collections::VecDeque;

use super::Request;
use super::places::{Entry, Places, positions};
use crate::error::WorkError;
use crate::{Input, Misuse, WrId};

/// The error number for a post that the queue has no room for: ENOMEM, as providers report it.
const NO_ROOM: i32 = 12;

/// The work requests of one work queue. Allocates when it is created, and after a refusal for what is not posted. It grows only if
/// more than twice its depth is pushed without a [`poll`](Self::poll), which no connection does.
#[derive(Clone, Debug)]
pub struct WorkQueue {
    /// From front to back: done and not reported, posted, chained.
    places: Places,
    /// How many are reported, done, posted and pushed since the beginning. These wrap; each is also where the next ones begin.
    reported: usize,
    done: usize,
    posted: usize,
    pushed: usize,
    /// Never to be posted.
    unposted: VecDeque<Entry>,
    depth: usize,
    broken: bool,
    /// Error number for the next request that is not posted.
    refused: Option<i32>,
}

impl WorkQueue {
    /// A work queue for `depth` requests.
    #[must_use]
    pub fn new(depth: u32) -> Self {
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        Self {
            places: Places::new(depth.saturating_mul(2)),
            reported: 0,
            done: 0,
            posted: 0,
            pushed: 0,
            unposted: VecDeque::new(),
            depth,
            broken: false,
            refused: None,
        }
    }

    /// Lowers the depth to what the device gave.
    pub fn limit(&mut self, depth: u32) {
        self.depth = self.depth.min(usize::try_from(depth).unwrap_or(usize::MAX));
    }

    /// Records a request. `false`: do not post it; [`poll`](Self::poll) reports its failure.
    #[inline]
    pub fn push(&mut self, request: Request) -> bool {
        if self.broken || self.used() >= self.depth {
            self.record_unposted(request);
            return false;
        }
        if self.pushed.wrapping_sub(self.reported) == self.places.len() {
            self.places.grow(self.reported);
        }
        if let Some(place) = self.places.get_mut(self.pushed) {
            *place = Entry::new(request);
        }
        self.pushed = self.pushed.wrapping_add(1);
        true
    }

    #[cold]
    #[inline(never)]
    fn record_unposted(&mut self, request: Request) {
        if !self.broken {
            self.refuse(NO_ROOM);
        }
        let Self { places, unposted, refused, pushed, reported, .. } = self;
        let posted = (pushed != reported).then_some(pushed.wrapping_sub(1));
        let last = match unposted.back_mut() {
            None => posted.and_then(|last| places.get_mut(last)),
            last => last,
        };
        match last {
            // The rest of a registration of which something is posted or noted already.
            Some(last) if last.request == request => last.fail(refusal(refused)),
            _ => unposted.push_back(Entry::new(request)),
        }
    }

    /// Number of requests that wait for a doorbell.
    #[must_use]
    #[inline]
    pub const fn chained(&self) -> usize {
        self.pushed.wrapping_sub(self.posted)
    }

    /// Number of requests that are posted or chained and not complete.
    #[must_use]
    #[inline]
    pub const fn used(&self) -> usize {
        self.pushed.wrapping_sub(self.done)
    }

    /// Whether a signalled request is posted, so that the device reports a completion also if it succeeds.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        let mut posted = positions(self.done, self.posted).filter_map(|position| self.places.get(position));
        posted.any(|entry| !entry.request.is_unsignalled())
    }

    /// Whether nothing more is posted.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Reports that the chain was handed over and the device took all of it.
    #[inline]
    pub const fn doorbell_rung(&mut self) {
        self.posted = self.pushed;
    }

    /// Reports that the chain was handed over, and that the device took the first `accepted` requests and refused the
    /// next with `errno`. `bad_wr` of `ibv_post_send` points at that one; some providers report a refusal only by it.
    pub fn doorbell_rung_until(&mut self, accepted: usize, errno: i32) {
        if accepted >= self.chained() {
            return self.doorbell_rung();
        }
        self.posted = self.posted.wrapping_add(accepted);
        self.give_up_chain();
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
        let position = self.find(id)?;
        if let Err(error) = result
            && let Some(entry) = self.places.get_mut(position)
        {
            entry.fail(error);
        }
        self.done = position.wrapping_add(1);
        Ok(())
    }

    /// Removes a posted receive that took a message. It makes no input, because only the backend can make the
    /// [`Input::Received`].
    ///
    /// # Errors
    /// [`Misuse::UnknownWork`] if no such request is posted.
    #[inline]
    pub fn take(&mut self, id: WrId) -> Result<(), Misuse> {
        let position = self.find(id)?;
        // Mostly it is the first of all.
        if position != self.reported {
            self.places.close_gap(self.reported, position);
        }
        self.reported = self.reported.wrapping_add(1);
        self.done = self.done.wrapping_add(1);
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
        // Asked before each look at the device. Mostly nothing is done; and only a broken queue has what was never posted.
        if self.reported != self.done {
            // The frequent ones.
            if let Some(&Entry { request, error: None }) = self.places.get(self.reported)
                && let Some(input) = done(request)
            {
                self.reported = self.reported.wrapping_add(1);
                return Some(input);
            }
            return self.pop();
        }
        if self.broken { self.pop_unposted() } else { None }
    }

    #[cold]
    #[inline(never)]
    fn pop(&mut self) -> Option<Input<'static>> {
        while self.reported != self.done {
            let entry = *self.places.get(self.reported)?;
            self.reported = self.reported.wrapping_add(1);
            // A registration with several requests is complete with its last.
            if entry.request.is_one_of_several()
                && self.reported != self.pushed
                && let Some(next) = self.places.get_mut(self.reported)
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
        let entry = self.unposted.pop_front()?;
        let error = refusal(&mut self.refused);
        while self.unposted.front().is_some_and(|next| next.request == entry.request) {
            self.unposted.pop_front();
        }
        Some(Input::Failed { id: entry.request.id(), error: entry.error.unwrap_or(error) })
    }

    /// Where a posted request stands.
    #[inline]
    fn find(&self, id: WrId) -> Result<usize, Misuse> {
        // Mostly it is the first.
        if self.done != self.posted
            && self.places.get(self.done).is_some_and(|entry| entry.request.id() == id)
        {
            return Ok(self.done);
        }
        self.find_behind(id)
    }

    #[inline(never)]
    fn find_behind(&self, id: WrId) -> Result<usize, Misuse> {
        let is_it =
            |position: &usize| self.places.get(*position).is_some_and(|entry| entry.request.id() == id);
        // Or the last, if nothing before it was signalled. A registration has several of one name, of which the first is meant.
        let last = match id {
            WrId::Reg(_) => None,
            WrId::Recv(_) | WrId::Send(_) | WrId::Rdma(_) => Some(self.posted.wrapping_sub(1)),
        };
        let last = last.filter(|_| self.done != self.posted).filter(is_it);
        last.or_else(|| positions(self.done, self.posted).find(is_it)).ok_or(Misuse::UnknownWork(id))
    }

    const fn refuse(&mut self, errno: i32) {
        self.broken = true;
        self.refused = Some(errno);
    }

    /// What is chained is not posted any more. It comes before what was not posted because the queue was stopped.
    fn give_up_chain(&mut self) {
        while self.pushed != self.posted {
            self.pushed = self.pushed.wrapping_sub(1);
            if let Some(&entry) = self.places.get(self.pushed) {
                self.unposted.push_front(entry);
            }
        }
    }

    /// A registration whose requests were posted in part fails as a whole, when the posted part is complete.
    fn merge_refused(&mut self) {
        let Some(request) = self.last_mut().map(|last| last.request) else { return };
        while self.unposted.front().is_some_and(|next| next.request == request) {
            self.unposted.pop_front();
            let error = refusal(&mut self.refused);
            if let Some(last) = self.last_mut() {
                last.fail(error);
            }
        }
    }

    /// Ends what is posted. What is behind a lost request is lost as well.
    fn end(&mut self, mut lost: bool) {
        for position in positions(self.done, self.posted) {
            if let Some(entry) = self.places.get_mut(position) {
                lost |= !entry.request.is_unsignalled();
                if lost {
                    entry.fail(WorkError::Flushed);
                }
            }
        }
        self.done = self.posted;
        self.give_up_chain();
        self.broken = true;
    }

    /// The last one that is not reported and may be posted.
    fn last_mut(&mut self) -> Option<&mut Entry> {
        if self.pushed == self.reported {
            return None;
        }
        self.places.get_mut(self.pushed.wrapping_sub(1))
    }

    /// How many have no result yet, and for how many there is room.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        (self.pushed.wrapping_sub(self.reported).wrapping_add(self.unposted.len()), self.places.len())
    }
}

/// The first request that is not posted was refused, those behind it are flushed.
fn refusal(refused: &mut Option<i32>) -> WorkError {
    refused.take().map_or(WorkError::Flushed, |errno| WorkError::PostFailed { errno })
}

/// The input of a message or an RDMA request that went well.
#[inline]
const fn done(request: Request) -> Option<Input<'static>> {
    match request {
        Request::Send { id, .. } => Some(Input::Sent { id }),
        Request::Rdma { id, .. } => Some(Input::RdmaDone { id }),
        Request::Recv(_) | Request::Bind(_) | Request::Invalidate(_) => None,
    }
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
