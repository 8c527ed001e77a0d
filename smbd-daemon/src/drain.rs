//! The end of all connections.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

/// The time that connections have to end, beyond the deadline for those that are busy.
pub const END_WITHIN: Duration = Duration::from_secs(5);

/// How connections have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All of them by themselves.
    All,
    /// Some were still there when the time was over.
    Late,
    /// A second signal came.
    AtOnce,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all connections are over",
            Self::Late => "some connections did not end in time",
            Self::AtOnce => "a second signal came",
        })
    }
}

/// Waits until all connections, each of which has a receiver of `stop`, are over, at most `within` and not beyond a second signal. Which it
/// was.
pub async fn ended(
    stop: &watch::Sender<bool>,
    within: Duration,
    second_signal: impl Future<Output = ()>,
) -> Ended {
    tokio::select! {
        biased;
        () = stop.closed() => Ended::All,
        () = sleep(within) => Ended::Late,
        () = second_signal => Ended::AtOnce,
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_end_waits_for_connections_up_to_the_deadline_and_for_nothing_after_a_second_signal() {
        let stop = watch::Sender::new(false);
        let (within, second) = (Duration::from_secs(15), Duration::from_secs(3));
        let start = Instant::now();
        assert_eq!(ended(&stop, within, pending()).await, Ended::All);
        assert_eq!(start.elapsed(), Duration::ZERO);
        let connection = stop.subscribe();
        assert_eq!(ended(&stop, within, sleep(second)).await, Ended::AtOnce);
        assert_eq!(start.elapsed(), second);
        assert_eq!(ended(&stop, within, pending()).await, Ended::Late);
        assert_eq!(start.elapsed(), second + within);
        drop(connection);
        assert_eq!(ended(&stop, within, pending()).await, Ended::All);
    }
}
