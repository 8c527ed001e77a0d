//! The state that handles and driver of a connection share: received messages, and wishes that are no commands.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::vec::Vec;

use super::Options;
use crate::Failure;
use crate::link::Piece;
use smbd_core::Token;

#[derive(Debug)]
pub(super) struct Shared<E>(Mutex<State<E>>);

#[derive(Debug)]
struct State<E> {
    /// Messages, or pieces of them.
    messages: VecDeque<Piece>,
    bytes: usize,
    options: Options,
    /// The task that waits for a message.
    receiver: Option<Waker>,
    driver: Option<Waker>,
    wishes: Wishes,
    /// Tokens of this side that the peer has invalidated. Those of a registration go with it.
    invalidated: VecDeque<(u64, Token)>,
    /// The reason why commands are refused.
    over: Option<Failure<E>>,
}

/// Requests of the handles to the driver that are no commands.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// The receiver was dropped.
    pub(super) deaf: bool,
    /// All handles were dropped.
    pub(super) abandoned: bool,
    /// To close, after this time at the latest.
    pub(super) close: Option<Duration>,
    /// Registrations whose caller has dropped its future.
    pub(super) unclaimed: Vec<u64>,
    /// Messages that wait for the program, and their bytes.
    pub(super) kept: (usize, usize),
}

impl<E> Shared<E> {
    pub(super) fn new(options: Options) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            messages: VecDeque::new(),
            bytes: 0,
            options,
            receiver: None,
            driver: None,
            wishes: Wishes::default(),
            invalidated: VecDeque::new(),
            over: None,
        })))
    }

    /// Nothing that can panic happens under the lock.
    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message for the program, or a piece of one. Returns how many wait, and their bytes.
    pub(super) fn push(&self, message: Piece) -> (usize, usize) {
        let mut state = self.lock();
        if !state.wishes.deaf {
            state.bytes = state.bytes.saturating_add(message.bytes.len());
            state.messages.push_back(message);
        }
        let (waker, kept) = (state.receiver.take(), state.kept());
        drop(state);
        wake(waker);
        kept
    }

    /// The next message, or piece of one; `None` if the connection has ended and there is no other.
    pub(super) fn poll_message(&self, cx: &Context<'_>) -> Poll<Option<Piece>> {
        let mut state = self.lock();
        let was_full = state.is_full();
        let Some(message) = state.messages.pop_front() else {
            if state.over.is_some() {
                return Poll::Ready(None);
            }
            keep_waker(&mut state.receiver, cx);
            return Poll::Pending;
        };
        state.bytes = state.bytes.saturating_sub(message.bytes.len());
        let waker = if was_full && !state.is_full() { state.driver.take() } else { None };
        drop(state);
        wake(waker);
        Poll::Ready(Some(message))
    }

    /// The handles' wishes. The driver is woken when they change.
    pub(super) fn wishes(&self, cx: &Context<'_>) -> Wishes {
        let mut state = self.lock();
        keep_waker(&mut state.driver, cx);
        let Wishes { deaf, abandoned, close, .. } = state.wishes;
        let unclaimed = mem::take(&mut state.wishes.unclaimed);
        Wishes { deaf, abandoned, close, unclaimed, kept: state.kept() }
    }

    /// Changes the handles' wishes.
    pub(super) fn wish(&self, change: impl FnOnce(&mut Wishes)) {
        let mut state = self.lock();
        change(&mut state.wishes);
        if state.wishes.deaf {
            state.messages.clear();
            state.bytes = 0;
        }
        let waker = state.driver.take();
        drop(state);
        wake(waker);
    }

    pub(super) fn invalidated(&self, name: u64, token: Token) {
        self.lock().invalidated.push_back((name, token));
    }

    pub(super) fn take_invalidated(&self) -> Option<Token> {
        self.lock().invalidated.pop_front().map(|(_, token)| token)
    }

    /// Removes the invalidated tokens of a registration that has ended.
    pub(super) fn forget(&self, gone: u64) {
        self.lock().invalidated.retain(|(name, _)| *name != gone);
    }

    /// Refuses commands from now on. The first reason counts.
    pub(super) fn end(&self, failure: impl FnOnce() -> Failure<E>) {
        let mut state = self.lock();
        state.over.get_or_insert_with(failure);
        let waker = state.receiver.take();
        drop(state);
        wake(waker);
    }
}

impl<E: Clone> Shared<E> {
    /// The reason why commands are refused.
    pub(super) fn over(&self) -> Option<Failure<E>> {
        self.lock().over.clone()
    }
}

impl<E> State<E> {
    fn kept(&self) -> (usize, usize) {
        (self.messages.len(), self.bytes)
    }

    fn is_full(&self) -> bool {
        self.options.is_reached(self.messages.len(), self.bytes)
    }
}

fn keep_waker(place: &mut Option<Waker>, cx: &Context<'_>) {
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
