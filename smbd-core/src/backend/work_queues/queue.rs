use alloc::collections::VecDeque;

use super::Request;
use crate::error::WorkError;
use crate::{Input, Misuse, WrId};

/// The error number for a post that the queue has no room for: ENOMEM, as providers report it.
const NO_ROOM: i32 = 12;

/// The queues of one queue. Allocates when created; grows only if more ids are pushed than twice the depth without a
/// [`poll`](Self::poll), which no connection does.
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
    /// Queues for a queue that takes `depth` requests.
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

    /// Notes a request. `false`: it must not be posted; [`poll`](Self::poll) will report its failure.
    pub fn push(&mut self, request: Request) -> bool {
        if !self.broken && self.used() >= self.depth {
            self.refuse(NO_ROOM);
        }
        if !self.broken {
            self.entries.push_back(Entry { request, error: None });
            self.chained = self.chained.saturating_add(1);
            return true;
        }
        match self.entries.back_mut() {
            // The rest of a registration of which something is posted or noted already.
            Some(last) if last.request == request => {
                last.fail(refusal(&mut self.refused));
            }
            _ => self.entries.push_back(Entry { request, error: None }),
        }
        false
    }

    /// Requests that wait for a doorbell.
    #[must_use]
    pub const fn chained(&self) -> usize {
        self.chained
    }

    /// Requests posted or chained and not completed.
    #[must_use]
    pub const fn used(&self) -> usize {
        self.posted.saturating_sub(self.done).saturating_add(self.chained)
    }

    /// Whether something is posted whose completion the device reports also if it goes well.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        let mut posted = self.entries.iter().take(self.posted).skip(self.done);
        posted.any(|entry| !entry.request.is_unsignalled())
    }

    /// Whether nothing more will be posted.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// The chain was handed over and the device took all of it.
    pub fn doorbell_rung(&mut self) {
        self.posted = self.posted.saturating_add(self.chained);
        self.chained = 0;
    }

    /// The chain was handed over; the device took the first `accepted` requests and refused the next with `errno`.
    /// `bad_wr` of a verbs post points at that one, and with some providers is the only sign of a refusal.
    pub fn doorbell_rung_until(&mut self, accepted: usize, errno: i32) {
        if accepted >= self.chained {
            return self.doorbell_rung();
        }
        self.posted = self.posted.saturating_add(accepted);
        self.chained = 0;
        self.refuse(errno);
        self.merge_refused();
    }

    /// Nothing more will be posted, because of something outside this queue. What is chained stays chained.
    pub const fn stop(&mut self) {
        self.broken = true;
    }

    /// The device reports a completion. All requests before it are complete as well.
    ///
    /// # Errors
    /// [`Misuse::UnknownWork`] if no such request is posted.
    pub fn complete(&mut self, id: WrId, result: Result<(), WorkError>) -> Result<(), Misuse> {
        let index = self.find(id)?;
        if let (Some(entry), Err(error)) = (self.entries.get_mut(index), result) {
            entry.fail(error);
        }
        self.done = index.saturating_add(1);
        Ok(())
    }

    /// A posted receive took a message: strikes it from the queues without an input, because only the backend can write
    /// the `Received`.
    ///
    /// # Errors
    /// [`Misuse::UnknownWork`] if no such request is posted.
    pub fn take(&mut self, id: WrId) -> Result<(), Misuse> {
        let index = self.find(id)?;
        self.entries.remove(index);
        self.posted = self.posted.saturating_sub(1);
        Ok(())
    }

    /// Nothing that is posted will be carried out any more, and no completion tells. Nothing is posted from now on.
    pub fn flush(&mut self) {
        self.end(true);
    }

    /// The device has carried out or flushed everything and has reported all it reports: signalled requests, and
    /// flushed ones. Unsignalled sends that remain at the front went well. A device with completions has got there when
    /// that of a marker behind everything else is back (`wr_id` 0, which is no [`WrId`]) or, if it takes no marker,
    /// when the queue pair is destroyed and the completion queue is empty. Nothing is posted from now on.
    pub fn drained(&mut self) {
        self.end(false);
    }

    /// The next input that follows from what was reported: one for each id, in posting order, except that requests
    /// which were never posted do not wait for those which are.
    pub fn poll(&mut self) -> Option<Input<'static>> {
        while self.done > 0 {
            self.done = self.done.saturating_sub(1);
            self.posted = self.posted.saturating_sub(1);
            let entry = self.entries.pop_front()?;
            match self.entries.front_mut() {
                // A registration with several requests is complete with its last.
                Some(next) if next.request == entry.request => {
                    let later = next.error.take();
                    next.error = entry.error;
                    if let Some(error) = later {
                        next.fail(error);
                    }
                }
                _ => return Some(input_of(entry)),
            }
        }
        let taken = self.posted.saturating_add(self.chained);
        let entry = self.entries.remove(taken)?;
        let error = refusal(&mut self.refused);
        while self.entries.get(taken).is_some_and(|next| next.request == entry.request) {
            self.entries.remove(taken);
        }
        Some(Input::Failed { id: entry.request.id(), error: entry.error.unwrap_or(error) })
    }

    fn find(&self, id: WrId) -> Result<usize, Misuse> {
        let open = self.posted.saturating_sub(self.done);
        let found = self.entries.iter().skip(self.done).take(open).position(|entry| entry.request.id() == id);
        found.map(|index| self.done.saturating_add(index)).ok_or(Misuse::UnknownWork(id))
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
        (None, Request::Rdma(id)) => Input::RdmaDone { id },
        (None, Request::Bind(id)) => Input::BindComplete { id },
        (None, Request::Invalidate(id)) => Input::Deregistered { id },
    }
}
