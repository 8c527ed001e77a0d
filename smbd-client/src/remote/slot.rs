//! The way of a result from the driver to the caller.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::command::Reply;
use crate::Error;

/// Slots that are kept: so many results may be awaited at one time before a slot is allocated for each further one.
const KEPT_MAX: usize = 64;

/// Slots of a session. One is used again when its result was taken.
#[derive(Debug, Default)]
pub(super) struct Slots {
    kept: Mutex<Vec<Arc<Slot>>>,
}

#[derive(Debug, Default)]
struct Slot {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
enum State {
    /// With whoever waits.
    Open(Option<Waker>),
    Told(Result<Reply, Error>),
    /// Without a result.
    #[default]
    Over,
}

/// Tells the result. Dropped before, it tells that there will be none.
#[derive(Debug)]
pub(super) struct Teller(Arc<Slot>);

/// The result; `None` if there is none. Ready once.
#[derive(Debug)]
pub(super) struct Told(Arc<Slot>);

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slots {
    /// Both ends of a slot.
    pub(super) fn open(&self) -> (Teller, Told) {
        let slot = self.idle().unwrap_or_default();
        *lock(&slot.state) = State::Open(None);
        (Teller(Arc::clone(&slot)), Told(slot))
    }

    /// A slot that nobody else has. Its driver may have the one whose result was taken last a little longer.
    fn idle(&self) -> Option<Arc<Slot>> {
        let mut kept = lock(&self.kept);
        let idle = kept.iter_mut().position(|slot| Arc::get_mut(slot).is_some())?;
        Some(kept.swap_remove(idle))
    }

    /// Takes back a slot whose result was taken.
    pub(super) fn give_back(&self, told: Told) {
        let mut kept = lock(&self.kept);
        if kept.len() < KEPT_MAX {
            kept.push(told.0);
        }
    }
}

impl Slot {
    fn set(&self, state: State) {
        let before = std::mem::replace(&mut *lock(&self.state), state);
        if let State::Open(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl Teller {
    /// Tells the result. Whoever asked may have gone.
    pub(super) fn tell(self, result: Result<Reply, Error>) {
        self.0.set(State::Told(result));
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        let is_open = matches!(*lock(&self.0.state), State::Open(_));
        if is_open {
            self.0.set(State::Over);
        }
    }
}

impl Future for Told {
    type Output = Option<Result<Reply, Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = lock(&self.0.state);
        match &mut *state {
            State::Open(waker) => {
                if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    *waker = Some(cx.waker().clone());
                }
                Poll::Pending
            }
            State::Told(_) | State::Over => match std::mem::take(&mut *state) {
                State::Told(result) => Poll::Ready(Some(result)),
                State::Open(_) | State::Over => Poll::Ready(None),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use allocation_counter::measure;

    use super::*;

    fn poll(told: &mut Told) -> Poll<Option<Result<Reply, Error>>> {
        Pin::new(told).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_slot_is_used_again_when_its_result_was_taken_and_the_driver_has_it_no_more() {
        let slots = Slots::default();
        let (teller, mut told) = slots.open();
        assert!(poll(&mut told).is_pending());
        teller.tell(Ok(Reply::Nothing));
        assert!(matches!(poll(&mut told), Poll::Ready(Some(Ok(Reply::Nothing)))));
        slots.give_back(told);
        let allocated = measure(|| {
            let (teller, told) = slots.open();
            drop(teller);
            slots.give_back(told);
        });
        assert_eq!(allocated.count_total, 0);
        let (_teller, told) = slots.open();
        slots.give_back(told);
        let (teller, mut told) = slots.open();
        assert!(poll(&mut told).is_pending(), "it is another one");
        drop(teller);
        assert!(matches!(poll(&mut told), Poll::Ready(None)), "there will be no result");
    }

    #[test]
    fn only_so_many_slots_are_kept() {
        let slots = Slots::default();
        let all: Vec<_> = (0..2 * KEPT_MAX).map(|_| slots.open().1).collect();
        all.into_iter().for_each(|told| slots.give_back(told));
        assert_eq!(lock(&slots.kept).len(), KEPT_MAX);
    }
}
