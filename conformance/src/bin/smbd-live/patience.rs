//! Waiting for what a test waits for: the event itself, never a time in which it should have come.

use std::time::Duration;

use smbd_core::backend::Backend;
use smbd_verbs::blocking::Connection;

use crate::case::Failure;

/// Bounds a hang and says nothing else: longer than anything takes, also what rxe now and then takes 69 s for, and shorter
/// than a test may.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);
/// How often it is looked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Serves a connection until something is so.
pub(crate) fn until(
    connection: &mut Connection,
    what: &str,
    is_so: impl Fn(&Connection) -> bool,
) -> Result<(), Failure> {
    let end = connection.backend().now().saturating_add(PATIENCE);
    while !is_so(connection) {
        if connection.backend().now() >= end {
            return Err(format!("not seen within {} s: {what}", PATIENCE.as_secs()).into());
        }
        connection.idle(POLL_INTERVAL)?;
    }
    Ok(())
}
