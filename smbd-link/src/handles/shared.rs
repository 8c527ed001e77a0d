//! The state that the handles and the driver of a connection share: received messages, and wishes of the handles.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Options, PollReady};
use crate::Messages;
use crate::link::{Inbox, Link, Piece};
use smbd_core::Token;

#[derive(Debug)]
// Shared: what handles of async calls tell the task that drives the link. A link itself has no handles.
pub(super) struct Shared(Mutex<State>);

#[derive(Debug)]
pub(super) struct State {
    /// Messages, or pieces of them. They are ignored when the receiver was dropped.
    pub(super) inbox: Inbox,
    /// Tokens of this side that the peer has invalidated, each with the name of its registration.
    pub(super) invalidated: VecDeque<(u64, Token)>,
    /// Registrations whose caller has dropped its future.
    pub(super) unclaimed: Vec<u64>,
    /// The end that the handles want. The first wish counts.
    pub(super) end: Option<End>,
    /// No message comes any more.
    pub(super) is_over: bool,
    /// The task that waits for a message.
    receiver: Option<Waker>,
    driver: Option<Waker>,
}

/// How the connection is to end.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// A handle closes: when all earlier commands are finished, or after this time.
    Within(Duration),
    /// All handles were dropped.
    AtOnce,
}

impl Shared {
    pub(super) const fn new(options: Options) -> Self {
        Self(Mutex::new(State {
            inbox: Inbox::new(options),
            invalidated: VecDeque::new(),
            unclaimed: Vec::new(),
            end: None,
            is_over: false,
            receiver: None,
            driver: None,
        }))
    }

    /// Nothing that can panic happens under the lock.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what the handles want, and wakes the driver.
    pub(super) fn wish(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let driver = state.driver.take();
        drop(state);
        wake(driver);
    }

    /// The next message, or piece of one; `None` if the connection has ended and there is no other. The driver is woken when there is room
    /// for messages again.
    pub(super) fn poll_recv(&self, cx: &Context<'_>) -> Poll<Option<Piece>> {
        let mut state = self.lock();
        let was_full = state.inbox.is_full();
        let Some(piece) = state.inbox.pop() else {
            if state.is_over {
                return Poll::Ready(None);
            }
            keep(&mut state.receiver, cx);
            return Poll::Pending;
        };
        let driver = if was_full && !state.inbox.is_full() { state.driver.take() } else { None };
        drop(state);
        wake(driver);
        Poll::Ready(Some(piece))
    }

    /// Takes the messages of the link. Returns the registrations that nobody has claimed, and the end that the handles want. The driver is
    /// woken when these change.
    pub(super) fn exchange<B: PollReady, C: Messages>(
        &self,
        cx: &Context<'_>,
        link: &mut Link<B, u64, C>,
    ) -> (Vec<u64>, Option<End>) {
        let mut state = self.lock();
        keep(&mut state.driver, cx);
        link.hand_over(&mut state.inbox);
        state.is_over = link.closed().is_some();
        let wishes = (mem::take(&mut state.unclaimed), state.end);
        let is_ready = state.is_over || !state.inbox.is_empty();
        let receiver = if is_ready { state.receiver.take() } else { None };
        drop(state);
        wake(receiver);
        wishes
    }

    /// No driver will exchange anything any more.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        let receiver = state.receiver.take();
        drop(state);
        wake(receiver);
    }
}

fn keep(place: &mut Option<Waker>, cx: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *place = Some(cx.waker().clone()),
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
