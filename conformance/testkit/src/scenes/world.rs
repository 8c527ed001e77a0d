//! Tasks that are polled when they are woken, until all sleep.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Boxed = Pin<Box<dyn Future<Output = ()>>>;

/// A task, and whether what it does is measured.
pub struct Task {
    future: Boxed,
    is_measured: bool,
    is_over: bool,
    flag: Arc<Flag>,
    waker: Waker,
}

impl Task {
    pub fn new(is_measured: bool, future: impl Future<Output = ()> + 'static) -> Self {
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        Self {
            future: Box::pin(future),
            is_measured,
            is_over: false,
            waker: Waker::from(Arc::clone(&flag)),
            flag,
        }
    }

    /// Polls it if it was woken. Whether it was.
    fn poll(&mut self, measured: Measured) -> bool {
        if self.is_over || !self.flag.0.swap(false, Ordering::Relaxed) {
            return false;
        }
        let mut cx = Context::from_waker(&self.waker);
        let future = self.future.as_mut();
        let polled = if self.is_measured { measured(future, &mut cx) } else { future.poll(&mut cx) };
        self.is_over = polled == Poll::Ready(());
        true
    }
}

/// Polls a task that is measured: the entry point of a benchmark, or what counts allocations.
pub type Measured = fn(Pin<&mut dyn Future<Output = ()>>, &mut Context<'_>) -> Poll<()>;

/// The tasks that go on behind each operation.
pub struct World {
    measured: Measured,
    pub tasks: Vec<Task>,
}

impl World {
    pub fn new(measured: Measured, tasks: Vec<Task>) -> Self {
        Self { measured, tasks }
    }

    /// Until all of them sleep. An operation that began with `task` is over then.
    pub fn run(&mut self, mut task: Task) {
        loop {
            let mut any = task.poll(self.measured);
            for other in &mut self.tasks {
                any |= other.poll(self.measured);
            }
            if !any {
                assert!(task.is_over, "it waits for ever");
                return;
            }
        }
    }
}
