//! What callers wait for, and who they are.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ::tokio::sync::oneshot;
use smbd_core::Negotiated;
use smbd_core::error::{CommandError, RdmaError};

use super::command::{Answer, Offer};
use super::shared::Shared;
use crate::link::Event;
use crate::{Failure, Registration};

/// `E` is the error of a backend.
pub(super) struct Callers<E> {
    established: Option<oneshot::Sender<Negotiated>>,
    pub(super) operations: Waiting<Answer<(), E>>,
    pub(super) registering: Waiting<Answer<Offer, E>>,
    pub(super) leaving: Waiting<Answer<(), E>>,
    pub(super) probe: Option<Answer<Duration, E>>,
    /// Callers that wait until this number of messages is sent.
    flushes: VecDeque<(u64, Answer<(), E>)>,
}

/// Callers by the name of what they wait for. There are few: a search costs less than a tree.
pub(super) type Waiting<A> = Vec<(u64, A)>;

impl<E> Callers<E> {
    pub(super) const fn new(established: oneshot::Sender<Negotiated>) -> Self {
        Self {
            established: Some(established),
            operations: Vec::new(),
            registering: Vec::new(),
            leaving: Vec::new(),
            probe: None,
            flushes: VecDeque::new(),
        }
    }

    /// Answers when so many messages are sent.
    pub(super) fn flush(&mut self, messages: u64, answer: Answer<(), E>) {
        // Those who gave up do not add up.
        self.flushes.retain(|(_, answer)| !answer.is_closed());
        self.flushes.push_back((messages, answer));
    }

    /// So many messages were sent since the beginning.
    pub(super) fn sent(&mut self, messages: u64) {
        while self.flushes.front().is_some_and(|(until, _)| *until <= messages) {
            tell(self.flushes.pop_front().map(|(_, answer)| answer), Ok(()));
        }
    }

    /// Passes an event on to the caller that waits for it.
    pub(super) fn event(&mut self, event: Event<u64, E>, shared: &Arc<Shared>) {
        match event {
            Event::Established(negotiated) => tell(self.established.take(), negotiated),
            // It came too late. Its caller is told when the connection is drained, and the reason can be read.
            Event::RdmaDone {
                result: Err(Failure::Rdma(RdmaError::Command(CommandError::Closing))), ..
            } => {}
            Event::RdmaDone { name, result } => tell(take(&mut self.operations, name), result),
            Event::Registered { name, result } => {
                let offer = |descriptors: Arc<[_]>| {
                    Offer::new(Registration { name, descriptors: descriptors.to_vec() }, Arc::clone(shared))
                };
                tell(take(&mut self.registering, name), result.map(offer));
            }
            Event::Deregistered { name, result } => {
                shared.lock().invalidated.retain(|(of, _)| *of != name);
                tell(take(&mut self.leaving, name), result);
            }
            Event::Invalidated { name, token } => shared.lock().invalidated.push_back((name, token)),
            Event::Probed(result) => tell(self.probe.take(), result.map_err(Failure::from)),
            // The link says how.
            Event::Ended(_) => {}
        }
    }

    /// The connection has ended: drops the channels of those who wait for no event.
    pub(super) fn end(&mut self) {
        self.established = None;
        self.flushes.clear();
    }
}

fn take<A>(waiting: &mut Waiting<A>, name: u64) -> Option<A> {
    let at = waiting.iter().position(|(of, _)| *of == name)?;
    Some(waiting.swap_remove(at).1)
}

/// Sends a result. A caller that has dropped its future does not get it.
fn tell<T>(caller: Option<oneshot::Sender<T>>, result: T) {
    if let Some(caller) = caller {
        drop(caller.send(result));
    }
}
