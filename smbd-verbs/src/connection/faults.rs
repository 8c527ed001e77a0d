//! Faults on purpose, for tests of what is built on an end.

use super::VerbsConnection;
use crate::Error;

impl VerbsConnection {
    /// Stops the queue pair, as a device does on which something has failed: what is out is flushed, and the peer is not
    /// told. With feature `faults`.
    ///
    /// # Errors
    /// There is no queue pair, or the device does not stop it.
    pub fn break_queue_pair(&mut self) -> Result<(), Error> {
        let open = self.open.as_ref().ok_or(Error::system("no queue pair", rustix::io::Errno::INVAL))?;
        Ok(open.qp.set_error()?)
    }

    /// From now on `accepted` more work requests are taken, of both queues together, and all later ones refused, as by a
    /// device whose queues are full. With feature `faults`.
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
