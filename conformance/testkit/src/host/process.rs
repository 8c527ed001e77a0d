//! Processes, which can be killed: their tasks are dropped as they stand.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// A process. Clones are the same.
#[derive(Clone, Default)]
pub struct Process(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    is_dead: bool,
    tasks: Vec<Rc<RefCell<Slot>>>,
}

#[derive(Default)]
struct Slot {
    task: Option<Task>,
    waker: Option<Waker>,
}

impl Process {
    /// Drops all of its tasks. Not to be called by one of them.
    pub fn kill(&self) {
        self.0.borrow_mut().is_dead = true;
        let tasks = std::mem::take(&mut self.0.borrow_mut().tasks);
        for slot in tasks {
            let Slot { task, waker } = slot.take();
            drop(task);
            waker.into_iter().for_each(Waker::wake);
        }
    }

    /// Whether it was killed.
    pub fn is_dead(&self) -> bool {
        self.0.borrow().is_dead
    }

    /// A task of it.
    pub fn task(&self, task: impl Future<Output = ()> + 'static) -> impl Future<Output = ()> + 'static {
        let slot = Rc::new(RefCell::new(Slot { task: Some(Box::pin(task)), waker: None }));
        if !self.is_dead() {
            self.0.borrow_mut().tasks.push(Rc::clone(&slot));
        }
        poll_fn(move |cx| {
            let Some(mut task) = slot.borrow_mut().task.take() else { return Poll::Ready(()) };
            if task.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let mut slot = slot.borrow_mut();
            slot.task = Some(task);
            slot.waker = Some(cx.waker().clone());
            Poll::Pending
        })
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("is_dead", &self.is_dead()).finish_non_exhaustive()
    }
}
