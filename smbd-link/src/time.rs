//! Time, as what drives a connection needs it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use smbd_core::Instant;

/// 1970 as a FILETIME.
const FILETIME_OF_1970: u64 = 116_444_736_000_000_000;

/// A clock whose time can be waited for.
pub trait Clock {
    /// Ready at a time.
    type Sleep: Future<Output = ()>;

    /// Now. Never goes back.
    fn now(&self) -> Instant;

    /// Ready at `at`.
    fn sleep_until(&self, at: Instant) -> Self::Sleep;
}

/// Polls a future for `time` at most. Returns its output, or `None` if the time has passed first. A future that is ready at once needs no
/// time.
pub async fn within<T>(clock: &impl Clock, time: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut passed = pin!(clock.sleep_until(clock.now().saturating_add(time)));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => passed.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// The date of this host: a FILETIME, 100 ns since 1601, UTC.
#[expect(clippy::disallowed_methods, reason = "peers are told the date, and files have it")]
#[must_use]
pub fn date() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ticks = u64::try_from(since.as_nanos() / 100).unwrap_or(u64::MAX);
    ticks.saturating_add(FILETIME_OF_1970)
}

/// The time of tokio's runtime, from when it is made.
#[cfg(feature = "time")]
#[derive(Clone, Copy, Debug)]
pub struct TokioTime(tokio::time::Instant);

#[cfg(feature = "time")]
impl TokioTime {
    /// Begins now. Call it inside a runtime with time enabled.
    #[must_use]
    pub fn start() -> Self {
        Self(tokio::time::Instant::now())
    }
}

#[cfg(feature = "time")]
impl Clock for TokioTime {
    type Sleep = Sleep;

    fn now(&self) -> Instant {
        Instant::ORIGIN.saturating_add(self.0.elapsed())
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        let now = self.now();
        let is_late = now.saturating_since(at) > sleep::LATE;
        let left = if is_late { sleep::GRACE } else { at.saturating_since(now) };
        Sleep::new(tokio::time::sleep(left), is_late)
    }
}

#[cfg(feature = "time")]
pub use sleep::Sleep;

#[cfg(feature = "time")]
mod sleep {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};
    use std::time::Duration;

    use pin_project_lite::pin_project;
    use tokio::time::Instant;

    /// A timer that is later than this was late because the process stood still.
    pub(super) const LATE: Duration = Duration::from_secs(1);
    /// How long a runtime has then to see what has come meanwhile.
    pub(super) const GRACE: Duration = Duration::from_millis(100);

    pin_project! {
        /// Ready when a time of tokio's runtime has come. A process that was stopped, or a machine that was, wakes up with its timers before
        /// its sockets: a peer would be found silent whose messages are there. So a timer that is more than a second late is ready 100 ms
        /// after that was noticed.
        #[derive(Debug)]
        #[must_use = "futures do nothing unless they are polled"]
        pub struct Sleep {
            #[pin]
            sleep: tokio::time::Sleep,
            had_grace: bool,
        }
    }

    impl Sleep {
        pub(super) const fn new(sleep: tokio::time::Sleep, had_grace: bool) -> Self {
            Self { sleep, had_grace }
        }
    }

    impl Future for Sleep {
        type Output = ();

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            let mut this = self.project();
            ready!(this.sleep.as_mut().poll(cx));
            let now = Instant::now();
            if *this.had_grace || now.saturating_duration_since(this.sleep.deadline()) <= LATE {
                return Poll::Ready(());
            }
            *this.had_grace = true;
            this.sleep.as_mut().reset(now.checked_add(GRACE).unwrap_or(now));
            this.sleep.poll(cx)
        }
    }

    #[cfg(test)]
    mod tests {
        use std::pin::pin;

        use tokio::time::advance;

        use super::super::{Clock as _, TokioTime};
        use super::*;

        async fn is_ready(sleep: &mut Pin<&mut Sleep>) -> bool {
            std::future::poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx).is_ready())).await
        }

        #[tokio::test(start_paused = true)]
        async fn a_timer_is_ready_at_its_time_and_100_ms_later_if_the_process_stood_still() {
            let clock = TokioTime::start();
            let at = |seconds| smbd_core::Instant::ORIGIN.saturating_add(Duration::from_secs(seconds));
            let mut in_time = pin!(clock.sleep_until(at(10)));
            assert!(!is_ready(&mut in_time).await);
            advance(Duration::from_secs(10)).await;
            assert!(is_ready(&mut in_time).await);

            let mut late = pin!(clock.sleep_until(at(20)));
            assert!(!is_ready(&mut late).await);
            advance(Duration::from_secs(100)).await;
            assert!(!is_ready(&mut late).await);
            // It was set when it was late already.
            let mut past = pin!(clock.sleep_until(at(20)));
            assert!(!is_ready(&mut past).await);
            advance(GRACE).await;
            assert!(is_ready(&mut late).await && is_ready(&mut past).await);
        }
    }
}
