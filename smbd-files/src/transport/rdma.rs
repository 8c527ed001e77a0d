//! SMB Direct, over anything that async tasks can wait for, driven by the task that uses it.

mod alarm;
mod rest;
mod upper;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::{CommandError, RegisterError, SendError};
use smbd_core::{Access, Close, Endpoint, Negotiated, RegId};
use smbd_link::handles::{Options, PollReady};
use smbd_link::{Failure, Messages};
use smbd_smb2::client::{self, RegistrationId};

use super::{Lost, Memory, Part, Received, Registered, Transport};
use alarm::Alarm;
pub use rest::Rest;
use rest::{Line, TURNS_MAX, Turn};
use upper::{Known, Upper};

type FailureOf<B> = Failure<<B as PollReady>::Error>;

/// Bytes that may wait to be sent before no more should be given.
const WAITING_MAX: usize = 1 << 20;
/// How long messages may still take to leave when a connection is closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// One buffer is one region or one window.
const SEGMENTS: u16 = 1;

/// A server over an RDMA device, or over another backend. The connection is driven by whoever polls this, and only then: it makes no
/// progress otherwise, and does not answer keepalives.
///
/// The backend is looked at when it has woken the task, or when something was asked for.
pub struct Rdma<B: PollReady, C: Messages = Endpoint> {
    limits: client::Transport,
    /// `None` when it is over.
    line: Option<Line<B, C>>,
    upper: Upper<B::Buffer>,
    alarm: Alarm,
    /// Something was asked for that the machine has not done yet.
    is_asked: bool,
    /// Messages that the machine has no room for, and their bytes.
    outbox: VecDeque<Bytes>,
    waiting: usize,
    registrations: BTreeMap<RegistrationId, RegId>,
    is_closing: bool,
    /// Why it cannot be driven, or not be used any more.
    failure: Option<FailureOf<B>>,
    leave: fn(Rest<B, C>),
}

impl<B: PollReady, C: Messages> Rdma<B, C> {
    /// Establishes a connection over a new backend, with a new machine: an [`Endpoint`], or a wrapper of one. Waits until that is done.
    /// `limits` says what it carries. What is left of it in the end goes to `leave`.
    ///
    /// # Cancel safety
    /// If the future is dropped, the connection ends.
    ///
    /// # Errors
    /// [`Failure::Connect`]: it is not established. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: a fault of this side.
    pub async fn establish(
        machine: C,
        backend: B,
        options: Options,
        limits: impl FnOnce(Negotiated) -> client::Transport,
        leave: fn(Rest<B, C>),
    ) -> Result<Self, FailureOf<B>> {
        let mut rdma = Self {
            limits: client::Transport { max_send: 0, max_receive: 0, rdma: None },
            line: Some(Line { machine, backend }),
            upper: Upper::new(options),
            alarm: Alarm::new(),
            is_asked: false,
            outbox: VecDeque::new(),
            waiting: 0,
            registrations: BTreeMap::new(),
            is_closing: false,
            failure: None,
            leave,
        };
        rdma.limits = limits(poll_fn(|cx| rdma.poll_established(cx)).await?);
        Ok(rdma)
    }

    fn poll_established(&mut self, cx: &mut Context<'_>) -> Poll<Result<Negotiated, FailureOf<B>>> {
        self.drive(cx);
        match (self.upper.established.take(), &self.failure) {
            (Some(told), _) => Poll::Ready(told.map_err(Failure::from)),
            (None, Some(failure)) => Poll::Ready(Err(failure.clone())),
            (None, None) => Poll::Pending,
        }
    }

    /// Drives the connection if the backend has woken the task, or if something was asked for. Then the task is woken later.
    fn drive(&mut self, cx: &Context<'_>) {
        let has_rung = self.alarm.has_rung(cx);
        if !has_rung && !self.is_asked {
            return;
        }
        let waker = self.alarm.waker().clone();
        let mut cx = Context::from_waker(&waker);
        for _ in 0..TURNS_MAX {
            self.is_asked = false;
            self.flush();
            let Some(line) = &mut self.line else { return };
            match line.turn(&mut self.upper, &mut cx) {
                Ok(Turn::Again) => {}
                Ok(Turn::Asleep) => {
                    if self.upper.is_unsure {
                        self.close();
                    }
                    // There may be room now.
                    self.flush();
                    if !self.is_asked {
                        return;
                    }
                }
                Ok(Turn::Over) => return self.retire(),
                Err(failure) => {
                    self.failure.get_or_insert(failure);
                    return self.retire();
                }
            }
        }
        waker.wake_by_ref();
    }

    /// Gives the machine what waits, as far as it has room.
    fn flush(&mut self) {
        let Some(Line { machine, backend }) = &mut self.line else { return };
        if self.outbox.is_empty() {
            return;
        }
        let now = backend.now();
        while let Some(message) = self.outbox.pop_front() {
            let len = message.len();
            // The server's answer says that it was sent.
            match machine.send_unsignalled(now, message, None) {
                Ok(_) => self.is_asked = true,
                Err(refused) => match refused.error {
                    SendError::Command(CommandError::NoRoom { .. }) => {
                        return self.outbox.push_front(refused.payload);
                    }
                    // The connection is ending, which is told elsewhere.
                    SendError::Command(_) => {}
                    error => drop(self.failure.get_or_insert(error.into())),
                },
            }
            self.waiting = self.waiting.saturating_sub(len);
        }
    }

    fn close(&mut self) {
        let Some(Line { machine, backend }) = &mut self.line else { return };
        if !self.is_closing {
            self.is_closing = true;
            let now = backend.now();
            machine.close(now, Close::Flush { until: now.saturating_add(CLOSE_WITHIN) });
            self.is_asked = true;
        }
    }

    /// It is over: the backend goes, and nothing more comes of it.
    fn retire(&mut self) {
        if let Some(line) = self.line.take() {
            self.upper.registrations.clear();
            (self.leave)(Rest::over(line, Upper::new(Options::default())));
        }
    }

    /// Why it is over; `None` if it is not.
    fn lost(&self) -> Option<Lost> {
        let closed = || self.upper.closed.map(Failure::Closed);
        let over = || self.line.is_none().then_some(Failure::NoDriver);
        self.failure.clone().or_else(closed).or_else(over).map(Lost::because)
    }
}

impl<B, C> Transport for Rdma<B, C>
where
    B: PollReady,
    B::Buffer: Memory,
    C: Messages,
{
    type Memory = B::Buffer;

    fn limits(&self) -> client::Transport {
        self.limits
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, Lost>> {
        self.drive(cx);
        let Some((message, invalidated)) = self.upper.take() else {
            return self.lost().map_or(Poll::Pending, |lost| Poll::Ready(Err(lost)));
        };
        if let Some(Line { machine, .. }) = &mut self.line
            && machine.endpoint().is_paused()
            && !self.upper.is_full()
        {
            machine.resume();
            self.is_asked = true;
        }
        Poll::Ready(Ok(Received { invalidated, message }))
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        self.drive(cx);
        match self.lost() {
            // Messages that came before the end are taken first.
            Some(lost) if !self.upper.has_messages() => Poll::Ready(Err(lost)),
            None if self.waiting >= WAITING_MAX => Poll::Pending,
            Some(_) | None => Poll::Ready(Ok(())),
        }
    }

    fn send(&mut self, message: [&[u8]; 2]) {
        let message = Bytes::from(message.concat());
        self.waiting = self.waiting.saturating_add(message.len());
        self.outbox.push_back(message);
        self.is_asked = true;
    }

    fn register(&mut self, registration: RegistrationId, part: Part<B::Buffer>) {
        // Without a connection there is nobody who could use it.
        let Some(Line { machine, backend }) = &mut self.line else { return };
        let Part { memory, offset, len, access } = part;
        let access = match access {
            client::Access::RemoteRead => Access::Read,
            client::Access::RemoteWrite => Access::Write,
        };
        self.is_asked = true;
        match machine.register(backend.now(), access, SEGMENTS) {
            Ok(id) => {
                let known = Known { buffer: memory, of: registration, offset, len };
                self.upper.registrations.insert(id, known);
                self.registrations.insert(registration, id);
            }
            Err(error) if ends(&error) => self.upper.is_unsure = true,
            Err(_) => self.upper.told.push_back(Registered::Impossible(registration)),
        }
    }

    fn deregister(&mut self, registration: RegistrationId) {
        let Some(id) = self.registrations.remove(&registration) else {
            // The server has no access, because there was no registration.
            return self.upper.told.push_back(Registered::Ended(registration));
        };
        let Some(Line { machine, backend }) = &mut self.line else { return };
        self.is_asked = true;
        if machine.deregister(backend.now(), id).is_err() {
            // The access has not ended for certain; the connection does.
            self.upper.is_unsure = true;
        }
    }

    fn poll_registered(&mut self, cx: &mut Context<'_>) -> Poll<Registered> {
        self.drive(cx);
        let Some(told) = self.upper.told.pop_front() else { return Poll::Pending };
        if let Registered::Impossible(registration) = &told {
            self.registrations.remove(registration);
        }
        Poll::Ready(told)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.upper.is_deaf {
            self.upper.ignore_messages();
            if let Some(Line { machine, .. }) = &mut self.line {
                machine.resume();
                self.is_asked = true;
            }
        }
        self.drive(cx);
        // What waits goes first, unless the connection has ended.
        if !self.is_closing && (self.outbox.is_empty() || self.lost().is_some()) {
            self.close();
            self.drive(cx);
        }
        if self.line.is_none() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn give_up(&mut self) {
        self.outbox.clear();
        self.waiting = 0;
    }
}

/// Whether memory was not registered because the connection ends. The transfer is then no worse than any other that was under way: it
/// can go on at another connection.
const fn ends(error: &RegisterError) -> bool {
    matches!(error, RegisterError::Command(CommandError::Closing))
}

impl<B: PollReady, C: Messages> Drop for Rdma<B, C> {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            let upper = mem::replace(&mut self.upper, Upper::new(Options::default()));
            (self.leave)(Rest::abandoned(line, upper));
        }
    }
}

impl<B: PollReady, C: Messages> fmt::Debug for Rdma<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rdma").field("limits", &self.limits).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
