//! All connections of a client (3.3.1.16).

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::about::About;
use super::action::{Action, Completion, Done, LinkId, Misuse, OperationId};
use super::config::Server;
use super::inner::Inner;
use super::lost;
use super::past;
use super::pending::WaitsFor;
use super::reason::Reason;
use super::receive;
use super::session::Session;
use super::transform;
use super::transport::Transport;
use crate::wire::SessionId;

/// All connections of a server that are of one client, which tells that they are by its ClientGuid ([`client_guid`](super::client_guid)).
/// [The module](super) says what it does.
///
/// Sessions, tree connects, files and operations belong to the client, and outlive each of its connections but the last. Messages and
/// transfers belong to a connection, which has a number: [`LinkId`].
#[derive(Debug)]
pub struct Client {
    /// None when all is over and told.
    inner: Option<Box<Inner>>,
}

impl Client {
    /// A client with one connection, [`LinkId::FIRST`], of which nothing has been received. `now` is a FILETIME: 100 ns since 1601, UTC.
    /// From then on it goes by a monotonic clock, here and in all other methods: timers go by it, and setting the time of the day ends
    /// nobody. NEGOTIATE tells it as SystemTime.
    /// `seed` is from a source fit for keys, and another one for each client.
    #[must_use]
    pub fn new(server: Arc<Server>, transport: Transport, now: u64, seed: [u8; 32]) -> Self {
        Self { inner: Some(Box::new(Inner::new(server, transport, now, seed))) }
    }

    /// Takes another connection of the client, of which nothing has been received. None if all others are over: it begins a client then.
    pub fn join(&mut self, transport: Transport, now: u64) -> Option<LinkId> {
        let inner = self.inner.as_mut()?;
        inner.now = inner.now.max(now);
        if inner.has_ended() { None } else { inner.join(transport) }
    }

    /// Takes a whole message of a connection, without the length that it has over TCP. It is decrypted in place. One of a connection that
    /// is over is dropped.
    pub fn received(&mut self, now: u64, on: LinkId, message: &mut [u8]) {
        self.step(now, on, |inner| receive::receive(inner, message));
    }

    /// Takes a request that somebody else has answered: another process of the same server, from which this connection was taken over before
    /// anybody logged in. NEGOTIATE comes first, and requests and [answers](Self::past_response) in their order.
    pub fn past_request(&mut self, now: u64, on: LinkId, request: &[u8]) {
        self.step(now, on, |inner| past::request(inner, request));
    }

    /// Takes the answer to such a request. If NEGOTIATE is answered otherwise here, the connection ends ([`Reason::OtherAnswer`]).
    pub fn past_response(&mut self, now: u64, on: LinkId, response: &[u8]) {
        self.step(now, on, |inner| past::response(inner, response));
    }

    /// Takes how an operation ended. Operations end in any order.
    ///
    /// # Errors
    /// [`Misuse`]: no such operation is being carried out. After the end nothing is checked.
    pub fn completed(&mut self, now: u64, id: OperationId, completion: Completion) -> Result<(), Misuse> {
        let Some(inner) = self.alive() else { return Ok(()) };
        if inner.was_silent(id) {
            return Ok(());
        }
        let on = expect(inner, id, WaitsFor::File)?;
        self.complete(now, on, id, completion);
        Ok(())
    }

    /// Says that an operation may take long: the client gets an interim answer, and waits without a limit of time. It may be said once,
    /// or not at all.
    ///
    /// # Errors
    /// [`Misuse`]: no such operation is being carried out.
    pub fn prolong(&mut self, now: u64, id: OperationId) -> Result<(), Misuse> {
        let Some(inner) = self.alive() else { return Ok(()) };
        // Nobody waits for it.
        if inner.is_silent(id) {
            return Ok(());
        }
        let on = expect(inner, id, WaitsFor::File)?;
        self.step(now, on, |inner| receive::prolong(inner, id));
        Ok(())
    }

    /// Takes how a transfer ended. After one that failed its connection is over, as its queue pair is.
    ///
    /// # Errors
    /// [`Misuse`]: there is no such transfer.
    pub fn rdma_done(&mut self, now: u64, id: OperationId, is_success: bool) -> Result<(), Misuse> {
        let Some(inner) = self.alive() else { return Ok(()) };
        if inner.lost.remove(&id).is_some() {
            return Ok(());
        }
        let writing = inner.writing.remove(&id);
        let on = writing.map_or_else(|| expect(inner, id, WaitsFor::Rdma), Ok)?;
        match (is_success, writing) {
            (false, _) => self.step(now, on, |_| Err(Reason::RdmaFailed)),
            (true, Some(_)) => {}
            (true, None) => self.complete(now, on, id, Ok(Done::Nothing)),
        }
        Ok(())
    }

    /// Signs, encrypts, verifies or decrypts data that go by RDMA: all that [`Action::Transform`] asks for, in any number of pieces.
    /// What is not what its client sent becomes zeros, and its WRITE fails. So it does with STATUS_BAD_DATA if there are more or fewer
    /// bytes.
    ///
    /// # Errors
    /// [`Misuse`]: no such data are asked for. After the end nothing is done.
    pub fn transform(&mut self, now: u64, id: OperationId, pieces: &mut [&mut [u8]]) -> Result<(), Misuse> {
        let Some(inner) = self.alive() else { return Ok(()) };
        if inner.lost.remove(&id).is_some() {
            return Ok(());
        }
        let on = expect(inner, id, WaitsFor::Transform)?;
        self.step(now, on, |inner| {
            let done = transform::apply(inner, id, pieces);
            receive::complete(inner, id, done)
        });
        Ok(())
    }

    /// Ends a session of this user, because the user has another one of another client (3.3.5.5.3): see [`Action::SessionReplaced`].
    pub fn end_session(&mut self, now: u64, session_id: u64, user: &str) {
        let Some(inner) = self.alive() else { return };
        inner.now = inner.now.max(now);
        let session = inner.sessions.get(&session_id).and_then(Session::valid);
        if session.is_some_and(|session| session.is_of(user)) {
            inner.end_session(SessionId(session_id));
            clean_up(inner);
        }
    }

    /// What is known of a connection: for logs. Nothing after its end.
    #[must_use]
    pub fn about(&self, on: LinkId) -> Option<About> {
        let inner = self.inner.as_ref()?;
        inner.links().find(|link| link.id == on).map(|link| About::of(inner, link))
    }

    /// The SessionIds of its users who are logged in, in ascending order. A session is there before its client is told that it is.
    pub fn sessions(&self) -> impl Iterator<Item = u64> + '_ {
        let sessions = self.inner.iter().flat_map(|inner| &inner.sessions);
        sessions.filter(|(_, session)| session.valid().is_some()).map(|(id, _)| *id)
    }

    /// When [`Self::timeout`] is to be called: a FILETIME.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        self.inner.as_ref()?.links().filter_map(|link| link.deadline).min()
    }

    /// Says what time it is. Too early, it does nothing.
    pub fn timeout(&mut self, now: u64) {
        let Some(inner) = self.alive() else { return };
        let is_late = |deadline: Option<u64>| deadline.is_some_and(|deadline| now >= deadline);
        let late: alloc::vec::Vec<LinkId> =
            inner.links().filter(|link| is_late(link.deadline)).map(|link| link.id).collect();
        late.into_iter().for_each(|on| self.step(now, on, |_| Err(Reason::SetupTimeout)));
    }

    /// Says that a connection is over. Its sessions go on if they have another, and so does what was asked for and not answered: the
    /// files hear of it, the client does not (3.3.7.1).
    pub fn closed(&mut self, on: LinkId) {
        self.step(0, on, |_| Err(Reason::Closed));
    }

    /// Whether a connection has ended, even if [`Self::poll`] has not told it yet: nothing of it is taken any more.
    #[must_use]
    pub fn is_over(&self, on: LinkId) -> bool {
        let link = self.inner.as_ref().and_then(|inner| inner.links().find(|link| link.id == on));
        link.is_none_or(|link| link.is_over)
    }

    /// Whether the last connection has ended. What is left is told by [`Self::poll`].
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.inner.as_ref().is_none_or(|inner| inner.has_ended())
    }

    /// The next thing to do, and the connection through which it goes: none for what files are asked for, except for
    /// [`Operation::ReadChannel`](super::Operation::ReadChannel), whose data go to memory of that connection. After [`Action::Close`] there is
    /// nothing to do any more on that connection; after that of the last one, nothing at all.
    pub fn poll(&mut self) -> Option<(Option<LinkId>, Action)> {
        let inner = self.inner.as_mut()?;
        let next = inner.actions.pop_front();
        if let Some((Some(on), Action::Close(_))) = &next {
            inner.forget(*on);
        }
        if inner.has_ended() && inner.actions.is_empty() {
            self.inner = None;
        }
        next
    }

    fn alive(&mut self) -> Option<&mut Inner> {
        self.inner.as_deref_mut().filter(|inner| !inner.has_ended())
    }

    /// Something has happened on a connection.
    fn step(&mut self, now: u64, on: LinkId, step: impl FnOnce(&mut Inner) -> Result<(), Reason>) {
        let Some(inner) = self.alive() else { return };
        inner.now = inner.now.max(now);
        if !inner.enter(on) {
            return;
        }
        if let Err(reason) = step(inner) {
            lost::lose(inner, reason);
        }
        if !inner.has_ended() {
            clean_up(inner);
        }
    }

    /// What a request of this connection waited for is there.
    fn complete(&mut self, now: u64, on: LinkId, id: OperationId, done: Completion) {
        let Some(inner) = self.alive() else { return };
        inner.now = inner.now.max(now);
        if inner.enter(on) {
            self.step(now, on, |inner| receive::complete(inner, id, done));
        } else {
            lost::complete(inner, id, done);
            clean_up(inner);
        }
    }
}

fn clean_up(inner: &mut Inner) {
    if let Err(reason) = receive::clean_up(inner) {
        lost::lose(inner, reason);
    }
}

/// Refuses an operation that does not wait for this. Returns the connection of its request.
fn expect(inner: &Inner, id: OperationId, waits_for: WaitsFor) -> Result<LinkId, Misuse> {
    match inner.pending.get(&id) {
        Some(pending) if pending.waits_for == waits_for => Ok(pending.asked.link),
        Some(_) | None => Err(Misuse::Unknown(id)),
    }
}
