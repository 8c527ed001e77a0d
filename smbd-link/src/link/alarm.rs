//! A waker that keeps in mind that it was called.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

/// What a device wakes in the place of the task, so that the task knows whether it was the device that has woken it.
pub(super) struct Alarm {
    bell: Arc<Bell>,
    waker: Waker,
    /// The task that the bell wakes.
    task: Option<Waker>,
}

struct Bell {
    // Shared: set when the device has something, and looked at once in a turn of the task, however many messages that takes.
    has_rung: AtomicBool,
    // Shared: locked when another task takes the link, and when the device wakes it: not for a message.
    task: Mutex<Option<Waker>>,
}

impl Alarm {
    /// One that has rung: nobody has looked yet.
    pub(super) fn new() -> Self {
        let bell = Arc::new(Bell { has_rung: AtomicBool::new(true), task: Mutex::default() });
        Self { waker: Waker::from(Arc::clone(&bell)), bell, task: None }
    }

    /// Whether it has rung since it was asked last. If not, this task is woken when it does.
    pub(super) fn has_rung(&mut self, cx: &Context<'_>) -> bool {
        if self.task.as_ref().is_none_or(|task| !task.will_wake(cx.waker())) {
            self.task = Some(cx.waker().clone());
            self.bell.set_task(self.task.clone());
        }
        // Only this side clears it.
        self.bell.has_rung.load(Ordering::Acquire) && self.bell.has_rung.swap(false, Ordering::AcqRel)
    }

    /// What is to be woken.
    pub(super) const fn waker(&self) -> &Waker {
        &self.waker
    }
}

impl Bell {
    /// Nothing that can panic happens under the lock.
    fn set_task(&self, task: Option<Waker>) {
        let former = std::mem::replace(&mut *self.task.lock().unwrap_or_else(PoisonError::into_inner), task);
        drop(former);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.has_rung.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn it_has_rung_once_for_each_time_it_was_asked_and_wakes_the_task_that_asked_last() {
        let mut alarm = Alarm::new();
        let counts = [Arc::new(Count::default()), Arc::new(Count::default())];
        let wakers = counts.clone().map(Waker::from);
        let asked = |alarm: &mut Alarm, task: usize| alarm.has_rung(&Context::from_waker(&wakers[task]));
        let woken = || counts.each_ref().map(|count| count.0.load(Ordering::Relaxed));
        assert!(asked(&mut alarm, 0), "nobody has looked yet");
        assert!(!asked(&mut alarm, 0));
        alarm.waker().wake_by_ref();
        alarm.waker().wake_by_ref();
        assert_eq!(woken(), [2, 0]);
        assert!(asked(&mut alarm, 1));
        assert!(!asked(&mut alarm, 1));
        alarm.waker().wake_by_ref();
        assert_eq!(woken(), [2, 1]);
        assert!(asked(&mut alarm, 1));
    }
}
