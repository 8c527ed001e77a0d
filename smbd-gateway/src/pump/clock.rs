//! Time, as a pump needs it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Sleep;

/// Where a pump has its time from.
pub trait Clock: Clone {
    /// A future that is ready after some time.
    type Sleep: Future<Output = ()>;

    /// Waits for so long, from now on.
    fn sleep(&self, time: Duration) -> Self::Sleep;
}

/// The time of tokio's runtime, which has to have it enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTime;

impl Clock for TokioTime {
    type Sleep = Sleep;

    fn sleep(&self, time: Duration) -> Sleep {
        tokio::time::sleep(time)
    }
}

/// What comes of `work`; `None` if it takes longer than `time`.
pub(super) async fn within<T>(
    clock: &impl Clock,
    time: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let (mut work, mut over) = (pin!(work), pin!(clock.sleep(time)));
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => over.as_mut().poll(cx).map(|()| None),
    })
    .await
}
