//! What callers wait for, and who they are.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use smbd_core::Negotiated;
use smbd_core::error::{CommandError, RdmaError};

use super::command::{Answer, Offer};
use super::shared::Shared;
use crate::Failure;
use crate::link::{Ending, Event};

/// `E` is the error of a backend.
#[derive(Debug)]
pub(super) struct Program<E> {
    pub(super) shared: Arc<Shared<E>>,
    established: Option<Answer<Negotiated, E>>,
    pub(super) operations: Waiting<Answer<(), E>>,
    pub(super) registering: Waiting<Answer<Offer<E>, E>>,
    pub(super) leaving: Waiting<Answer<(), E>>,
    pub(super) probe: Option<Answer<Duration, E>>,
    /// Callers that wait until this number of messages is sent.
    flushes: VecDeque<(u64, Answer<(), E>)>,
    /// Messages given to the link since the beginning.
    pub(super) queued: u64,
    /// Callers whose operation came too late: they are told by the end of the connection, when its reason can be read.
    late: Vec<Answer<(), E>>,
}

/// Callers that wait, by the name of what they wait for. There are few: a search costs less than a tree.
#[derive(Debug)]
pub(super) struct Waiting<A> {
    callers: Vec<(u64, A)>,
    next: u64,
}

impl<A> Waiting<A> {
    const fn new() -> Self {
        Self { callers: Vec::new(), next: 0 }
    }

    /// Adds a caller, with a name that was never used.
    pub(super) fn add(&mut self, caller: A) -> u64 {
        let name = self.next;
        self.next = self.next.wrapping_add(1);
        self.push(name, caller);
        name
    }

    pub(super) fn push(&mut self, name: u64, caller: A) {
        self.callers.push((name, caller));
    }

    fn take(&mut self, name: u64) -> Option<A> {
        let at = self.callers.iter().position(|(of, _)| *of == name)?;
        Some(self.callers.swap_remove(at).1)
    }
}

impl<E> Program<E> {
    pub(super) fn new(shared: Arc<Shared<E>>, established: Answer<Negotiated, E>) -> Self {
        Self {
            shared,
            established: Some(established),
            operations: Waiting::new(),
            registering: Waiting::new(),
            leaving: Waiting::new(),
            probe: None,
            flushes: VecDeque::new(),
            queued: 0,
            late: Vec::new(),
        }
    }

    /// Answers when all messages that are queued now are sent.
    pub(super) fn flush(&mut self, answer: Answer<(), E>) {
        // Those who gave up do not add up.
        self.flushes.retain(|(_, answer)| !answer.is_closed());
        self.flushes.push_back((self.queued, answer));
    }

    /// So many messages were sent since the beginning.
    pub(super) fn sent(&mut self, sent: u64) {
        while self.flushes.front().is_some_and(|(until, _)| *until <= sent) {
            if let Some((_, answer)) = self.flushes.pop_front() {
                tell(answer, Ok(()));
            }
        }
    }

    /// Passes an event on to who waits for it.
    pub(super) fn event(&mut self, event: Event<u64, E>) {
        match event {
            Event::Established(negotiated) => {
                if let Some(answer) = self.established.take() {
                    tell(answer, Ok(negotiated));
                }
            }
            Event::RdmaDone { name, result } => {
                let is_late = matches!(result, Err(Failure::Rdma(RdmaError::Command(CommandError::Closing))));
                match self.operations.take(name) {
                    Some(answer) if is_late => self.late.push(answer),
                    Some(answer) => tell(answer, result),
                    None => {}
                }
            }
            Event::Registered { name, result } => {
                if let Some(answer) = self.registering.take(name) {
                    let offer = |descriptors| Offer::new(name, descriptors, Arc::clone(&self.shared));
                    tell(answer, result.map(offer));
                }
            }
            Event::Deregistered { name, result } => {
                self.shared.forget(name);
                if let Some(answer) = self.leaving.take(name) {
                    tell(answer, result);
                }
            }
            Event::Invalidated { name, token } => self.shared.invalidated(name, token),
            Event::Probed(result) => {
                if let Some(answer) = self.probe.take() {
                    tell(answer, result.map_err(Failure::from));
                }
            }
            // It is seen before any other event.
            Event::Ended(_) => {}
        }
    }
}

impl<E: Clone> Program<E> {
    /// Ends the connection for all callers that wait for no event.
    pub(super) fn end(&mut self, ending: &Ending<E>) {
        let failure = || match ending {
            Ok(reason) => Failure::Closed(*reason),
            Err(failure) => failure.clone(),
        };
        if let Some(answer) = self.established.take() {
            tell(answer, Err(failure()));
        }
        for (_, answer) in self.flushes.drain(..) {
            tell(answer, Err(failure()));
        }
        self.shared.end(failure);
        self.late.clear();
    }
}

/// Sends an answer. A caller that has dropped its future does not get it.
pub(super) fn tell<T, E>(answer: Answer<T, E>, result: Result<T, Failure<E>>) {
    drop(answer.send(result));
}
