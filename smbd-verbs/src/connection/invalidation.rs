//! Whether the peer can invalidate registrations, for those who do not have the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says of a connection that somebody else drives what [`VerbsConnection::remote_invalidation`] says.
///
/// [`VerbsConnection::remote_invalidation`]: super::VerbsConnection::remote_invalidation
#[derive(Clone, Debug, Default)]
pub struct RemoteInvalidation(Arc<AtomicBool>);

impl RemoteInvalidation {
    /// Whether the peer can invalidate registrations. Not before the connection is established.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(super) fn set(&self, is_possible: bool) {
        self.0.store(is_possible, Ordering::Release);
    }
}
