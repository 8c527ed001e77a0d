//! What cannot leave its thread, for code that wants to be sendable. A run stays in one thread.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

#[derive(Default)]
struct Kept {
    last: u64,
    values: BTreeMap<u64, Box<dyn Any>>,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// A value that its thread keeps.
#[derive(Debug)]
pub struct Here<T>(u64, PhantomData<fn() -> T>);

impl<T: 'static> Here<T> {
    pub fn new(value: T) -> Self {
        KEPT.with_borrow_mut(|kept| {
            kept.last += 1;
            kept.values.insert(kept.last, Box::new(value));
            Self(kept.last, PhantomData)
        })
    }

    /// Uses the value, which nobody else can do meanwhile.
    pub fn with<R>(&self, call: impl FnOnce(&mut T) -> R) -> R {
        let mut value = KEPT.with_borrow_mut(|kept| kept.values.remove(&self.0));
        let used = value.as_mut().and_then(|value| value.downcast_mut()).map(call);
        KEPT.with_borrow_mut(|kept| kept.values.extend(value.map(|value| (self.0, value))));
        used.expect("a run stays in the thread in which it began")
    }
}

impl<T: Future + Unpin + 'static> Future for Here<T> {
    type Output = T::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T::Output> {
        self.with(|future| Pin::new(future).poll(cx))
    }
}

impl<T> Drop for Here<T> {
    fn drop(&mut self) {
        // At the end of the thread nothing is kept.
        let value = KEPT.try_with(|kept| kept.borrow_mut().values.remove(&self.0));
        drop(value);
    }
}
