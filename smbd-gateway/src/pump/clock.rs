//! Time, as a pump needs it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use smbd_link::time::Clock;

/// Waits for so long, from now on.
pub(super) fn sleep<C: Clock>(clock: &C, time: Duration) -> C::Sleep {
    clock.sleep_until(clock.now().saturating_add(time))
}

/// What comes of `work`; `None` if it takes longer than `time`.
pub(super) async fn within<T>(
    clock: &impl Clock,
    time: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let (mut work, mut over) = (pin!(work), pin!(sleep(clock, time)));
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => over.as_mut().poll(cx).map(|()| None),
    })
    .await
}
