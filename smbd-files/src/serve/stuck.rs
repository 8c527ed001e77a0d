//! Transfers that do not end.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::transport::Lost;

/// How long a transfer by RDMA may take. A client that is gone without a word is found out by the keepalive timer after 125 s
/// (MS-SMBD 3.1.6.2), if the device does not say so. That is too long while data are under way: as long as they are, the file takes no
/// changes on the client's other connections (MS-SMB2 3.3.5.2.10).
const TRANSFER_MAX: Duration = Duration::from_secs(30);

/// Watches the oldest of all transfers.
#[derive(Debug, Default)]
pub(super) struct Watch(Option<Pin<Box<Sleep>>>);

/// Why a connection ends when [`Watch::poll`] is ready.
pub(super) fn too_long() -> Lost {
    Lost::because(format_args!("a transfer by RDMA took more than {} s", TRANSFER_MAX.as_secs()))
}

impl Watch {
    /// A watch that is not set.
    pub(super) const fn new() -> Self {
        Self(None)
    }

    /// Ready if the oldest transfer under way, which began then, has taken too long. If not, the task is woken when it has.
    pub(super) fn poll(&mut self, oldest: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(until) = oldest.map(|began| began + TRANSFER_MAX) else { return Poll::Pending };
        loop {
            // It may have been set for one that has ended: a timer that is early is looked at for nothing, which costs less than to set
            // it with every transfer.
            let timer = self.0.get_or_insert_with(|| Box::pin(sleep_until(until)));
            ready!(timer.as_mut().poll(cx));
            self.0 = None;
            if until <= Instant::now() {
                return Poll::Ready(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::{advance, timeout};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_transfer_that_does_not_end_is_told_when_it_has_taken_too_long() {
        let (mut watch, began) = (Watch::default(), Instant::now());
        poll_fn(|cx| watch.poll(Some(began), cx)).await;
        // The timer counts in milliseconds.
        let took = began.elapsed();
        assert!((TRANSFER_MAX..TRANSFER_MAX + SECOND).contains(&took), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_end_in_time_are_none_of_it_however_many_there_are() {
        let mut watch = Watch::default();
        for _ in 0..10 {
            let began = Instant::now();
            let told = timeout(TRANSFER_MAX - SECOND, poll_fn(|cx| watch.poll(Some(began), cx))).await;
            assert!(told.is_err(), "{:?}", began.elapsed());
        }
        // And without any, time is of no account.
        advance(10 * TRANSFER_MAX).await;
        assert!(timeout(SECOND, poll_fn(|cx| watch.poll(None, cx))).await.is_err());
        let began = Instant::now();
        assert!(timeout(SECOND, poll_fn(|cx| watch.poll(Some(began), cx))).await.is_err());
    }
}
