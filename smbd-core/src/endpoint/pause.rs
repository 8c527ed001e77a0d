//! Fragments that wait while the upper layer receives no messages.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::Endpoint;
use crate::error::CloseReason;
use crate::{Action, Connection, Event, Fragment};

#[derive(Debug)]
pub(super) struct Pause {
    /// Whether the delivery of messages is stopped.
    on: bool,
    /// Fragments that stay in their receive buffers, so at most as many as there are buffers.
    fragments: VecDeque<Fragment>,
    /// The end of the connection, to be reported after the fragments.
    closed: Option<CloseReason>,
    /// The connection has ended: no fragment is kept any more.
    over: bool,
}

impl Pause {
    /// The next event that was kept; `None` while paused.
    fn next(&mut self) -> Option<Event> {
        if self.on {
            return None;
        }
        let fragment = self.fragments.pop_front().map(Event::Data);
        fragment.or_else(|| self.closed.take().map(Event::Closed))
    }

    /// The next action or event of the connection that is not kept. Not inlined, because most endpoints never pause.
    #[cold]
    #[inline(never)]
    pub(super) fn poll(&mut self, connection: &mut Connection) -> Action {
        loop {
            if let Some(event) = self.next() {
                return Action::Notify(event);
            }
            let event = match connection.poll_action().split() {
                Ok(action) => return action,
                Err(event) => event,
            };
            if let Event::Data(fragment) = event {
                if !self.on {
                    return Action::Notify(Event::Data(fragment));
                }
                self.fragments.push_back(fragment);
            } else if let Event::Closed(reason) = event {
                // There is no peer any more that could be held up: what is kept comes first, then that.
                (self.on, self.over, self.closed) = (false, true, Some(reason));
            } else {
                return Action::Notify(event);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.fragments.is_empty() && self.closed.is_none()
    }
}

impl Endpoint {
    /// Stops the delivery of messages until [`resume`](Self::resume). Returns at once. Fragments that arrive meanwhile
    /// stay in their receive buffers, which are not posted again, so the peer soon has no credit left. This is the flow
    /// control for an upper layer that is slower than its peer. All other events and commands continue.
    ///
    /// Pause only for a short time. A peer that waits too long for a credit ends the connection (5 s in Windows,
    /// 3.1.5.1). A peer without credits cannot grant credits either, so a paused side with messages to send can block
    /// together with its peer. It must [`resume`](Self::resume) for a message then.
    ///
    /// It has no effect after the connection has ended: all messages that arrived are delivered before
    /// [`EndpointEvent::Closed`](super::EndpointEvent::Closed).
    pub fn pause(&mut self) {
        let slots = usize::try_from(self.connection.config().budget().recv_slots).unwrap_or(0);
        let pause = self.pause.get_or_insert_with(|| {
            Box::new(Pause {
                on: false,
                fragments: VecDeque::with_capacity(slots),
                closed: None,
                over: false,
            })
        });
        pause.on = !pause.over;
    }

    /// Starts the delivery of messages again, from the next [`poll_action`](Self::poll_action) on. Returns at once.
    pub fn resume(&mut self) {
        if let Some(pause) = &mut self.pause {
            pause.on = false;
        }
        // Most are never paused again soon, and a pause that is gone costs nothing.
        self.pause.take_if(|pause| pause.is_empty());
    }

    /// Whether the delivery of messages is stopped until [`resume`](Self::resume).
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pause.as_ref().is_some_and(|pause| pause.on)
    }
}
