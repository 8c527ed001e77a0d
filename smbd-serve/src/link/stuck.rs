//! Transfers that do not end.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use smbd_core::Instant;
use smbd_link::time::Clock;

/// How long a transfer by RDMA may take. A client that is gone without a word is found out by the keepalive timer after 125 s
/// (MS-SMBD 3.1.6.2), if the device does not say so. That is too long while data are under way: as long as they are, the file takes no
/// changes on the client's other connections (MS-SMB2 3.3.5.2.10).
const TRANSFER_MAX: Duration = Duration::from_secs(30);

/// Watches the oldest of all transfers.
#[derive(Debug)]
pub(super) struct Watch<S>(Option<Pin<Box<S>>>);

/// Why a connection ends when [`Watch::poll`] is ready.
pub(super) fn too_long() -> String {
    format!("a transfer by RDMA took more than {} s", TRANSFER_MAX.as_secs())
}

impl<S> Watch<S> {
    /// A watch that is not set.
    pub(super) const fn new() -> Self {
        Self(None)
    }

    /// Ready if the oldest transfer under way, which began then, has taken too long. If not, the task is woken when it has.
    pub(super) fn poll(
        &mut self,
        clock: &impl Clock<Sleep = S>,
        oldest: Option<Instant>,
        cx: &mut Context<'_>,
    ) -> Poll<()>
    where
        S: Future<Output = ()>,
    {
        let Some(began) = oldest else { return Poll::Pending };
        let until = began.saturating_add(TRANSFER_MAX);
        loop {
            // It may have been set for one that has ended: a timer that is early is looked at for nothing, which costs less than to set
            // it with every transfer.
            let timer = self.0.get_or_insert_with(|| Box::pin(clock.sleep_until(until)));
            ready!(timer.as_mut().poll(cx));
            self.0 = None;
            if until <= clock.now() {
                return Poll::Ready(());
            }
        }
    }
}
