//! The end of all connections.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

/// The time that connections have to end, beyond the deadline for those that are busy.
pub const END_WITHIN: Duration = Duration::from_secs(5);

/// Waits until all connections, each of which has a receiver of `stop`, are over, at most `within` and not beyond a second signal. Which it
/// was, as a text for the log.
pub async fn ended(
    stop: &watch::Sender<bool>,
    within: Duration,
    second_signal: impl Future<Output = ()>,
) -> &'static str {
    tokio::select! {
        () = stop.closed() => "all connections are over",
        () = sleep(within) => "some connections did not end in time",
        () = second_signal => "a second signal came",
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
        assert_eq!(ended(&stop, within, pending()).await, "all connections are over");
        assert_eq!(start.elapsed(), Duration::ZERO);
        let connection = stop.subscribe();
        assert_eq!(ended(&stop, within, sleep(second)).await, "a second signal came");
        assert_eq!(start.elapsed(), second);
        assert_eq!(ended(&stop, within, pending()).await, "some connections did not end in time");
        assert_eq!(start.elapsed(), second + within);
        drop(connection);
        assert_eq!(ended(&stop, within, pending()).await, "all connections are over");
    }
}
