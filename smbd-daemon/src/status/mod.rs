//! What a running program tells over a Unix socket, and the command that shows it.

mod ask;
mod socket;

use std::path::Path;

pub use ask::show;
pub use socket::Socket;

use crate::log::Log;
use crate::socket_path::SocketMode;
use crate::trouble::Trouble;

/// Tells the status at `path`, if there is one, until what it returns is dropped. At `default`, the path that nobody has chosen, that can
/// fail. Call it inside a runtime with I/O and time enabled.
///
/// # Errors
/// It cannot be told at another path.
pub fn open(
    path: Option<&Path>,
    default: &str,
    mode: SocketMode,
    log: Log,
    tell: impl Fn() -> String + Send + 'static,
) -> Result<Option<Socket>, Trouble> {
    let Some(path) = path else { return Ok(None) };
    match Socket::open(path, mode, tell) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if path.as_os_str() == default => {
            log.warning("no status socket").with("path", path.display()).with("why", error).write();
            Ok(None)
        }
        Err(error) => Err(Trouble::other(&format!("no status socket at {}: {error}", path.display()))),
    }
}
