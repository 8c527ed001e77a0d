//! Fragments that wait until the upper layer takes messages again.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::Endpoint;
use super::event::EndpointEvent;
use crate::error::CloseReason;
use crate::{Action, Connection, Event, Fragment};

#[derive(Debug)]
pub(super) struct Pause {
    /// No message is wanted.
    on: bool,
    /// In their receive buffers, so never more than there are.
    fragments: VecDeque<Fragment>,
    /// The connection has ended behind them.
    closed: Option<CloseReason>,
    /// It has ended: nothing is kept any more.
    over: bool,
}

impl Pause {
    /// What is to be taken up again, unless messages are not wanted.
    fn next(&mut self) -> Option<Event> {
        if self.on {
            return None;
        }
        let fragment = self.fragments.pop_front().map(Event::Data);
        fragment.or_else(|| self.closed.take().map(Event::Closed))
    }

    /// The next action or event of the connection that is not to be kept. Beside the way of all that is never paused.
    #[cold]
    #[inline(never)]
    pub(super) fn poll(&mut self, connection: &mut Connection) -> Result<Action<EndpointEvent>, Event> {
        loop {
            if let Some(event) = self.next() {
                return Err(event);
            }
            let event = match connection.poll_action().split() {
                Ok(action) => return Ok(action),
                Err(event) => event,
            };
            if let Event::Data(fragment) = event {
                if !self.on {
                    return Err(Event::Data(fragment));
                }
                self.fragments.push_back(fragment);
            } else if let Event::Closed(reason) = event {
                // There is no peer any more that could be held up: what is kept comes first, then that.
                (self.on, self.over, self.closed) = (false, true, Some(reason));
            } else {
                return Err(event);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.fragments.is_empty() && self.closed.is_none()
    }
}

impl Endpoint {
    /// From now on no message is handed up, until [`resume`](Self::resume). What arrives meanwhile stays in its receive
    /// buffers, none of which is posted again, so the peer soon has no credit left to send more: this is how an upper layer
    /// that cannot keep up holds its peer back. All else goes on, and what one fragment of a message has brought already is
    /// kept with the rest of it.
    ///
    /// The peer ends a connection on which it waits too long for a credit (5 s in Windows, 3.1.5.1), and one that may not send
    /// cannot grant credits either: with messages of its own to send, a paused side can stand still together with its peer, and has to
    /// [`resume`](Self::resume) for a message then. So a pause is for a moment, not for an upper layer that has stopped reading.
    ///
    /// Without effect once the connection has ended: then all that has come is handed up, before
    /// [`EndpointEvent::Closed`].
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

    /// Messages are handed up again, with the next [`poll_action`](Self::poll_action).
    pub fn resume(&mut self) {
        if let Some(pause) = &mut self.pause {
            pause.on = false;
        }
        // Most are never paused again soon, and a pause that is gone costs nothing.
        self.pause.take_if(|pause| pause.is_empty());
    }

    /// Whether messages wait until [`resume`](Self::resume).
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pause.as_ref().is_some_and(|pause| pause.on)
    }
}
