//! What drives a client over a transport: for who has operations of [`smbd_smb2::client`] that handles do not have.
//!
//! [`Driver`] is a client, its transport and time. An [`Upper`] begins operations and takes what comes of them; that of the handles
//! of this crate is one.

mod registrations;
mod request;
mod transform;

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use smbd_core::Instant;
use smbd_core::endpoint::Chunks;
use smbd_core::error::CloseReason;
use smbd_link::Failure as LinkFailure;
use smbd_link::link::{Ending, Event};
pub use smbd_link::time::{Clock, TokioTime};
use smbd_link::transport::{Memory, Transport};
use smbd_smb2::client::{
    Access, Arrived, BufferId, Client, DataPart, Failure, OperationId, Output, RegistrationId, Reply,
    SessionHandle,
};

use crate::Lost;
use registrations::{Follows, Part, Registrations};
use request::request;
use transform::Transform;

/// How long what waits may still be sent when a connection is closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// Who begins operations, and is told what comes of them.
pub trait Upper {
    /// What can be registered.
    type Memory: Memory + Clone;
    /// What is kept of the result of an operation, without anything that is borrowed.
    type Kept;

    /// Begins one operation, if there is one to be begun. Returns whether something was done; if not, the task is woken when there is
    /// something to be begun.
    ///
    /// # Errors
    /// Why the connection is to be closed.
    fn begin(&mut self, client: &mut Client, now: Instant, cx: &mut Context<'_>) -> Result<bool, Lost>;

    /// The memory of a buffer that an operation has. That of a WRITE has its data, unless they are to be encrypted.
    fn memory(&self, buffer: BufferId) -> Option<&Self::Memory>;

    /// All data of a part of a buffer that a WRITE has, to be signed or encrypted. They are not in the memory of a transport.
    fn plain(&self, part: &DataPart) -> Option<&[u8]>;

    /// Takes the data of a part of a buffer that a READ has, which came signed or encrypted and were checked; what is not good is zeros.
    /// They count in the place of what is in its memory, and only as far as the result says.
    fn checked(&mut self, part: &DataPart, data: Vec<u8>);

    /// Takes data of a READ that came in a message.
    fn data(&mut self, operation: OperationId, offset: u64, data: &[u8]);

    /// What is to be kept of a result.
    fn keep(&mut self, operation: OperationId, result: Result<Reply<'_>, Failure>) -> Self::Kept;

    /// Takes the result of an operation, which has ended.
    fn done(&mut self, client: &Client, operation: OperationId, kept: Self::Kept);

    /// A session has expired (3.2.5.1.6).
    ///
    /// # Errors
    /// Why the connection is to be closed.
    fn expired(&mut self, client: &mut Client, now: Instant, session: SessionHandle) -> Result<(), Lost>;

    /// The server does not know a session any more.
    fn session_ended(&mut self, session: SessionHandle);

    /// A message was taken. It is decrypted.
    fn taken(&mut self, message: &[u8]) {
        let _ = message;
    }

    /// The connection is over, and why. Results may follow. It is said once.
    fn ended(&mut self, why: &Lost);

    /// All results were told. Ready when nothing is left to be done.
    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// Drives a connection.
pub struct Driver<T, U, C: Clock = TokioTime> {
    client: Client,
    transport: T,
    upper: U,
    clock: C,
    timer: Option<(Instant, Pin<Box<C::Sleep>>)>,
    registrations: Registrations,
    /// Memory of requests.
    chunks: Chunks,
    /// Data on their way from who writes them to memory that is registered.
    room: Vec<u8>,
    state: State,
    /// The transport has told its end: the server can use no memory any more.
    is_drained: bool,
    /// For so long what waits may still be sent when the connection is closed.
    closes_until: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Closing,
    Over,
}

/// What an output of the client leaves to be done when nothing is borrowed of it any more.
enum Then<K> {
    GoOn,
    Idle(Option<Instant>),
    Done(OperationId, K),
    Transform(Transform, DataPart),
    /// The server has no access, because there was no registration.
    NotRegistered(RegistrationId),
    Expired(SessionHandle),
    Close(Lost),
}

impl<T, U, C> Driver<T, U, C>
where
    T: Transport<RegistrationId>,
    U: Upper<Memory = T::Memory>,
    C: Clock,
{
    /// For a client of which nothing was sent, and a transport that is connected.
    #[must_use]
    pub fn new(client: Client, transport: T, upper: U, clock: C) -> Self {
        Self {
            client,
            transport,
            upper,
            clock,
            timer: None,
            registrations: Registrations::default(),
            chunks: Chunks::new(),
            room: Vec::new(),
            state: State::Open,
            is_drained: false,
            closes_until: None,
        }
    }

    /// Ready when the connection is over, all operations have their results, and the upper layer has nothing left to do.
    pub async fn run(mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.state {
                State::Open => match self.turn(cx) {
                    Ok(true) => {}
                    Ok(false) => return Poll::Pending,
                    Err(lost) => self.close(&lost),
                },
                State::Closing if self.is_drained => {
                    self.transport.leave();
                    self.client.closed();
                    self.say(&mut Arrived::nothing());
                    self.state = State::Over;
                }
                State::Closing => match self.transport.poll_event(cx) {
                    Poll::Ready(event) => self.is_drained |= matches!(event, Event::Ended(_)),
                    Poll::Pending => {
                        let until = self.closes_until;
                        if until.is_none() || !self.is_due(until, cx) {
                            return Poll::Pending;
                        }
                        self.closes_until = None;
                        self.transport.drop_orders();
                    }
                },
                State::Over => return self.upper.poll_over(cx),
            }
        }
    }

    /// Does what can be done. Returns whether there may be more; if not, the task is woken later.
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, Lost> {
        let mut has_moved = false;
        let deadline = self.say(&mut Arrived::nothing());
        if self.state != State::Open {
            return Ok(true);
        }
        // Behind what the client says: a registration goes on only while it is asked for.
        while let Poll::Ready(event) = self.transport.poll_event(cx) {
            self.on_event(event);
            has_moved = true;
        }
        // Messages are taken always: a server that waits for this side to take its answers takes nothing itself. Those that came before the
        // end of the connection come first.
        if let Some(piece) = self.transport.try_recv() {
            self.take(piece.bytes);
            has_moved = true;
        } else if let Some(ending) = self.transport.closed() {
            return Err(lost(ending));
        }
        if self.transport.poll_ready(cx).is_ready() {
            has_moved |= self.upper.begin(&mut self.client, self.clock.now(), cx)?;
        }
        Ok(has_moved || self.state != State::Open || self.is_due(deadline, cx))
    }

    /// Whether this time has come. If not, the task is woken then.
    fn is_due(&mut self, deadline: Option<Instant>, cx: &mut Context<'_>) -> bool {
        let Some(deadline) = deadline else {
            self.timer = None;
            return false;
        };
        let Self { clock, timer, .. } = self;
        loop {
            let wait = || (deadline, Box::pin(clock.sleep_until(deadline)));
            let (at, sleep) = timer.get_or_insert_with(wait);
            // Most deadlines move away with every message. A timer that is early is looked at for nothing, which costs less than to set
            // it every time.
            if deadline < *at {
                (*at, *sleep) = wait();
            }
            if sleep.as_mut().poll(cx).is_pending() {
                return false;
            }
            let was_due = *at;
            *timer = None;
            if deadline <= was_due {
                return true;
            }
        }
    }

    fn close(&mut self, why: &Lost) {
        if self.state == State::Open {
            self.upper.ended(why);
            self.transport.ignore_messages();
            self.transport.close(CLOSE_WITHIN);
            self.closes_until = Some(self.clock.now().saturating_add(CLOSE_WITHIN));
            self.state = State::Closing;
        }
    }

    fn on_event(&mut self, event: Event<RegistrationId, T::Error>) {
        let now = self.clock.now();
        // Refused are only registrations and tokens that the client does not know any more.
        match event {
            Event::Registered { name, result } => {
                match self.registrations.registered(&mut self.client, now, name, result) {
                    Follows::Nothing => {}
                    Follows::Deregister => self.transport.deregister(name),
                    Follows::Close => self.transport.close(CLOSE_WITHIN),
                }
            }
            Event::Deregistered { name, result: Ok(()) } => {
                let _ = self.client.deregistered(now, name);
            }
            // It is not known whether the access to some memory has ended. It ends with the connection.
            Event::Deregistered { result: Err(_), .. } => self.transport.close(CLOSE_WITHIN),
            Event::Invalidated { token, .. } => {
                let _ = self.client.invalidated(token);
            }
            Event::Ended(_) => self.is_drained = true,
            Event::Established(_) | Event::RdmaDone { .. } | Event::Probed(_) => {}
        }
    }

    /// Takes a message.
    fn take(&mut self, mut message: BytesMut) {
        self.say(&mut Arrived::new(&mut message));
        self.upper.taken(&message);
    }

    /// Does what the client says, until it has nothing to say. Returns when it wants to be asked again.
    fn say(&mut self, arrived: &mut Arrived<'_>) -> Option<Instant> {
        let now = self.clock.now();
        loop {
            match self.next_output(now, arrived) {
                Then::GoOn => {}
                Then::Idle(deadline) => return deadline,
                Then::Done(operation, kept) => self.upper.done(&self.client, operation, kept),
                Then::Transform(transform, part) => {
                    if let Err(why) = self.transform(now, transform, &part) {
                        self.close(&why);
                    }
                }
                Then::NotRegistered(registration) => {
                    let _ = self.client.deregistered(now, registration);
                }
                Then::Expired(session) => {
                    if let Err(why) = self.upper.expired(&mut self.client, now, session) {
                        self.close(&why);
                    }
                }
                Then::Close(why) => self.close(&why),
            }
        }
    }

    fn next_output(&mut self, now: Instant, arrived: &mut Arrived<'_>) -> Then<U::Kept> {
        let Self { client, transport, upper, registrations, chunks, .. } = self;
        match client.poll(now, arrived) {
            Output::Send { message, .. } => {
                // The server's answer says that it was sent.
                transport.send_unsignalled(request(chunks, message), None);
                Then::GoOn
            }
            Output::Register { registration, buffer, offset, len, access } => {
                match upper.memory(buffer).cloned().zip(u32::try_from(offset).ok()) {
                    Some((memory, offset)) => {
                        registrations.begin(registration, Part { offset, len });
                        transport.register(registration, memory, of_buffer(access));
                        Then::GoOn
                    }
                    None => Then::Close(no_buffer()),
                }
            }
            Output::Deregister { registration, .. } if registrations.end(registration) => {
                transport.deregister(registration);
                Then::GoOn
            }
            Output::Deregister { registration, .. } => Then::NotRegistered(registration),
            Output::Data { operation, offset, data } => {
                upper.data(operation, offset, data);
                Then::GoOn
            }
            Output::Done { operation, result, .. } => Then::Done(operation, upper.keep(operation, result)),
            Output::SessionExpired(session) => Then::Expired(session),
            Output::SessionEnded(session) => {
                upper.session_ended(session);
                Then::GoOn
            }
            Output::Close(reason) => Then::Close(Lost::because(reason)),
            Output::Idle(deadline) => Then::Idle(deadline),
            Output::Sign(part) => Then::Transform(Transform::Sign, part),
            Output::Encrypt(part) => Then::Transform(Transform::Encrypt, part),
            Output::Check(part) => Then::Transform(Transform::Check, part),
            // Oplocks and leases are never asked for, and what is left alone changes nothing.
            Output::Negotiated(_) | Output::OplockBreak(_) | Output::LeaseBreak(_) | Output::Discarded(_) => {
                Then::GoOn
            }
        }
    }

    /// Signs or encrypts data before they are registered, or looks at those that have come.
    fn transform(&mut self, now: Instant, transform: Transform, part: &DataPart) -> Result<(), Lost> {
        let Self { client, upper, room, .. } = self;
        let memory = upper.memory(part.buffer).ok_or_else(no_buffer)?;
        match transform {
            Transform::Sign => {
                let plain = upper.plain(part).ok_or_else(no_buffer)?;
                transform::sign(client, now, part, plain)
            }
            Transform::Encrypt => {
                let plain = upper.plain(part).ok_or_else(no_buffer)?;
                transform::encrypt(client, now, part, (plain, memory), room)
            }
            Transform::Check => {
                let data = transform::check(client, now, part, memory)?;
                upper.checked(part, data);
                Ok(())
            }
        }
    }
}

/// What a server does with memory, in the words of MS-SMBD.
const fn of_buffer(access: Access) -> smbd_core::Access {
    match access {
        Access::RemoteRead => smbd_core::Access::Read,
        Access::RemoteWrite => smbd_core::Access::Write,
    }
}

/// The end of a connection, in the words of a client.
fn lost<E: std::error::Error>(ending: &Ending<E>) -> Lost {
    match ending {
        Ok(CloseReason::PeerClosed) => Lost::because("the server has closed the connection"),
        Ok(reason) => Lost::because(LinkFailure::<E>::Closed(*reason)),
        Err(failure) => Lost::because(failure),
    }
}

fn no_buffer() -> Lost {
    Lost::because("a buffer is used that there is none of")
}

impl<T, U, C: Clock> std::fmt::Debug for Driver<T, U, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("client", &self.client)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
