//! A connection of the client that is served.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_serve::link::Link;
use smbd_smb2::server::LinkId;

use super::Shared;
use crate::mischief::Changer;

/// A connection that is there.
pub struct Arrival {
    pub end: Box<dyn Link>,
    pub changer: Option<Changer>,
    /// What is known of this connection.
    pub shared: Shared,
}

/// One that is served.
pub struct Member {
    pub link: LinkId,
    pub end: Box<dyn Link>,
    pub changer: Option<Changer>,
    pub shared: Shared,
    pub state: State,
    /// What the plan has for it has happened.
    pub is_struck: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Open,
    Closing(Duration),
    Over,
}

impl Member {
    pub fn new(link: LinkId, Arrival { end, changer, shared }: Arrival) -> Self {
        Self { link, end, changer, shared, state: State::Open, is_struck: false }
    }

    pub fn close(&mut self, within: Duration) {
        if self.state == State::Open {
            self.state = State::Closing(within);
        }
    }
}

/// Connections that are there and were not taken yet, and how many may still come.
#[derive(Clone, Default)]
pub struct Arrivals(Rc<RefCell<Door>>);

#[derive(Default)]
struct Door {
    there: VecDeque<Arrival>,
    expected: usize,
    waker: Option<Waker>,
}

impl Arrivals {
    pub fn expecting(expected: usize) -> Self {
        let door = Self::default();
        door.0.borrow_mut().expected = expected;
        door
    }

    /// One that was expected is there, or will not come.
    pub fn comes(&self, arrival: Option<Arrival>) {
        let mut door = self.0.borrow_mut();
        door.expected = door.expected.saturating_sub(1);
        door.there.extend(arrival);
        if let Some(waker) = door.waker.take() {
            waker.wake();
        }
    }

    /// The next one. `None` if no more will come.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Arrival>> {
        let mut door = self.0.borrow_mut();
        if let Some(arrival) = door.there.pop_front() {
            return Poll::Ready(Some(arrival));
        }
        if door.expected == 0 {
            return Poll::Ready(None);
        }
        door.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
