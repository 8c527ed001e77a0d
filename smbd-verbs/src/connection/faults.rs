//! Injected faults, for tests of the users of a connection.

use super::VerbsConnection;
use crate::Error;

impl VerbsConnection {
    /// Puts the queue pair into the error state, as a device does after a failure: posted work is flushed, and the peer
    /// is not notified. With feature `faults`.
    ///
    /// # Errors
    /// There is no queue pair yet, or the device refuses.
    pub fn break_queue_pair(&mut self) -> Result<(), Error> {
        let open = self.open.as_ref().ok_or(Error::system("no queue pair", rustix::io::Errno::INVAL))?;
        Ok(open.qp.set_error()?)
    }

    /// Posts `accepted` more work requests, of both queues together, and refuses all later ones, as a device with full
    /// queues does. With feature `faults`.
    pub fn refuse_posts_after(&mut self, accepted: usize) {
        self.posts_max = Some(accepted);
        self.limit_posts();
    }

    /// Holds the queue pair to that, once there is one.
    pub(super) fn limit_posts(&mut self) {
        if let Some(open) = &mut self.open
            && let Some(accepted) = self.posts_max.take()
        {
            open.qp.limit_posts(accepted);
        }
    }
}
