//! A connection, as C has it.

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smbd_broker::blocking;
use smbd_broker::client;
use smbd_broker::socket::{Deadline, Wanted};
use smbd_broker::wire::{Age, Invalidate, Newcomer, Transfer};

use crate::failure::Failure;
use crate::memory::{Memory, Place};
use crate::types::{
    Event, SMBD_BROKER_MESSAGE, SMBD_BROKER_NEW, SMBD_BROKER_PAST_REQUEST, SMBD_BROKER_PAST_RESPONSE,
    SMBD_BROKER_RDMA_DONE, SMBD_BROKER_SENT,
};

/// A connection. Threads that wait for events do not keep others from sending.
#[derive(Debug)]
pub(crate) struct Connection {
    state: Mutex<State>,
    fd: RawFd,
    memory: Arc<Memory>,
    closing: Arc<Mutex<Vec<Closing>>>,
}

#[derive(Debug)]
struct State {
    /// `None` when it is closed.
    connection: Option<blocking::Connection>,
    /// The message that comes next, and whether an event has told of it.
    message: Option<(Message, bool)>,
    /// What else has happened: at most one event for each transfer, and one that says that there is room.
    events: VecDeque<Event>,
    /// Why it has ended.
    lost: Option<Failure>,
}

/// A message that has come.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) age: u32,
    pub(crate) bytes: Vec<u8>,
}

/// A connection that was closed with transfers under way, whose slots come back when they have ended, or with something unsent.
#[derive(Debug)]
pub(crate) struct Closing(blocking::Connection);

impl Closing {
    /// Whether it still has something under way. Slots of those that have ended are free.
    pub(crate) fn is_under_way(&mut self, memory: &Memory) -> bool {
        while let Ok(event) = self.0.event(Some(Duration::ZERO), true) {
            match event {
                Some(client::Event::Done { areas, .. }) => memory.free(&areas),
                Some(_) => {}
                None => return self.0.transfers() > 0 || self.0.has_outgoing(),
            }
        }
        false
    }
}

impl Connection {
    pub(crate) fn new(
        connection: blocking::Connection,
        memory: Arc<Memory>,
        closing: Arc<Mutex<Vec<Closing>>>,
    ) -> Self {
        let fd = connection.as_socket().as_raw_fd();
        let (connection, events) = (Some(connection), VecDeque::new());
        let state = Mutex::new(State { connection, message: None, events, lost: None });
        Self { state, fd, memory, closing }
    }

    pub(crate) const fn fd(&self) -> RawFd {
        self.fd
    }

    /// What the broker has said of it.
    pub(crate) fn newcomer(&self) -> Result<Newcomer, Failure> {
        Ok(self.lock().open()?.newcomer().clone())
    }

    /// The next event; `None` if nothing happens in time.
    pub(crate) fn event(&self, timeout: Option<Duration>) -> Result<Option<Event>, Failure> {
        self.until(timeout, |state| {
            if let Some(event) = state.events.pop_front() {
                return Ok(Some(event));
            }
            Ok(match &mut state.message {
                Some((message, is_told @ false)) => {
                    *is_told = true;
                    Some(message.event())
                }
                _ => None,
            })
        })
    }

    /// Takes the next message if `fits` says so; `None` if none comes in time.
    pub(crate) fn receive<T>(
        &self,
        timeout: Option<Duration>,
        mut fits: impl FnMut(&Message) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        self.until(timeout, |state| {
            let Some((message, _)) = &state.message else { return Ok(None) };
            let result = fits(message)?;
            state.message = None;
            Ok(Some(result))
        })
    }

    /// Sends a message, as far as the broker takes it at once.
    pub(crate) fn send(&self, message: &[u8], invalidate: Invalidate) -> Result<(), Failure> {
        let mut state = self.lock();
        let connection = state.open()?;
        connection.send(message, invalidate)?;
        // The rest leaves with a later call; why the socket is closed is in the events.
        let _ = connection.flush(Some(Duration::ZERO));
        Ok(())
    }

    /// Starts a transfer, and returns its tag.
    pub(crate) fn start(&self, places: &[Place], transfer: Transfer) -> Result<u64, Failure> {
        let areas = self.memory.begin(places)?;
        let started = self.lock().start(Transfer { areas: areas.clone(), ..transfer });
        if started.is_err() {
            self.memory.end(&areas);
        }
        started
    }

    /// Gives the broker what waits to be sent. False if it does not take it in time.
    pub(crate) fn flush(&self, timeout: Option<Duration>) -> Result<bool, Failure> {
        let deadline = Deadline::after(timeout);
        loop {
            let (is_done, socket) = {
                let mut state = self.lock();
                let connection = state.open()?;
                (connection.flush(Some(Duration::ZERO))?, connection.as_socket().try_clone_to_owned()?)
            };
            if is_done {
                return Ok(true);
            }
            if !deadline.wait(socket.as_fd(), Wanted::Writable)? {
                return Ok(false);
            }
        }
    }

    /// Whether something waits until the socket is writable.
    pub(crate) fn has_outgoing(&self) -> Result<bool, Failure> {
        Ok(self.lock().open()?.has_outgoing())
    }

    /// Ends it when what was ordered is done, in `within` milliseconds at most.
    pub(crate) fn disconnect(&self, within: u32) -> Result<(), Failure> {
        let mut state = self.lock();
        let connection = state.open()?;
        connection.disconnect(within);
        let _ = connection.flush(Some(Duration::ZERO));
        Ok(())
    }

    /// Its socket, for another owner; the connection itself if it cannot be given away now.
    pub(crate) fn detach(self) -> Result<(OwnedFd, Newcomer), Box<(Self, Failure)>> {
        let mut state = self.lock();
        if state.message.is_some() || !state.events.is_empty() {
            drop(state);
            return Err(Box::new((self, busy())));
        }
        match state.connection.take().map(blocking::Connection::give_away) {
            Some(Ok(given)) => Ok(given),
            Some(Err(connection)) => {
                state.connection = Some(*connection);
                drop(state);
                Err(Box::new((self, busy())))
            }
            None => {
                drop(state);
                Err(Box::new((self, closed())))
            }
        }
    }

    /// The program has closed it.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        let Some(mut connection) = state.connection.take() else { return };
        if state.lost.is_some() {
            return;
        }
        if connection.transfers() > 0 {
            connection.disconnect(0);
        }
        let is_sent = connection.flush(Some(Duration::ZERO));
        if connection.transfers() > 0 || matches!(is_sent, Ok(false)) {
            self.closing.lock().unwrap_or_else(PoisonError::into_inner).push(Closing(connection));
        }
    }

    /// Asks `step` until it has something, and waits for the socket in between, without the lock.
    fn until<T>(
        &self,
        timeout: Option<Duration>,
        mut step: impl FnMut(&mut State) -> Result<Option<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        let deadline = Deadline::after(timeout);
        loop {
            let mut state = self.lock();
            state.open()?;
            if let Some(result) = step(&mut state)? {
                return Ok(Some(result));
            }
            if state.read(&self.memory)? {
                continue;
            }
            let connection = state.open()?;
            let wanted = if connection.has_outgoing() { Wanted::Either } else { Wanted::Readable };
            let socket = connection.as_socket().try_clone_to_owned()?;
            drop(state);
            if !deadline.wait(socket.as_fd(), wanted)? {
                return Ok(None);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The connection, if it was not closed.
    fn open(&mut self) -> Result<&mut blocking::Connection, Failure> {
        self.connection.as_mut().ok_or_else(closed)
    }

    fn start(&mut self, transfer: Transfer) -> Result<u64, Failure> {
        let connection = self.open()?;
        let tag = connection.start(transfer)?;
        let _ = connection.flush(Some(Duration::ZERO));
        Ok(tag)
    }

    /// Reads what has happened next. False if that is nothing.
    fn read(&mut self, memory: &Memory) -> Result<bool, Failure> {
        let wants_messages = self.message.is_none();
        match self.open()?.event(Some(Duration::ZERO), wants_messages) {
            Ok(Some(client::Event::Message { age, bytes })) => {
                self.message = Some((Message { age: number(age), bytes }, false));
            }
            Ok(Some(client::Event::Sent)) => {
                if self.events.iter().all(|event| event.kind != SMBD_BROKER_SENT) {
                    self.events.push_back(Event { kind: SMBD_BROKER_SENT, ..Event::default() });
                }
            }
            Ok(Some(client::Event::Done { tag, areas, is_success })) => {
                memory.end(&areas);
                let (kind, is_success) = (SMBD_BROKER_RDMA_DONE, is_success.into());
                self.events.push_back(Event { kind, tag, is_success, ..Event::default() });
            }
            Ok(None) => return self.lost.clone().map_or(Ok(false), Err),
            Err(lost) => {
                let is_first = self.lost.is_none();
                let lost = self.lost.get_or_insert_with(|| lost.into()).clone();
                // Messages that came before are still there.
                return if is_first && wants_messages { Ok(true) } else { Err(lost) };
            }
        }
        Ok(true)
    }
}

impl Message {
    fn event(&self) -> Event {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        Event { kind: SMBD_BROKER_MESSAGE, age: self.age, length, ..Event::default() }
    }
}

const fn number(age: Age) -> u32 {
    match age {
        Age::New => SMBD_BROKER_NEW,
        Age::PastRequest => SMBD_BROKER_PAST_REQUEST,
        Age::PastResponse => SMBD_BROKER_PAST_RESPONSE,
    }
}

fn closed() -> Failure {
    Failure::new(libc::EBADF, "the connection was closed")
}

fn busy() -> Failure {
    let why = "the connection has messages or events that were read and not taken, or transfers under way";
    Failure::new(libc::EBUSY, why)
}
