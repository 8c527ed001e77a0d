//! Whether it can be listened at a port.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use smbd_verbs::{Error, ListenOptions, Listener, Ports};

use super::facts::PortState;

/// What else is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The program runs: a port that is in use at an address is its own.
    pub(super) is_running: bool,
    /// An RDMA device has the address.
    pub(super) is_of_device: bool,
}

/// Listens there for a moment.
pub(super) fn state(at: SocketAddr, known: Known) -> PortState {
    let options = ListenOptions { ports: Ports::Fixed, ..ListenOptions::default() };
    let Err(error) = Listener::bind(at, options) else { return PortState::Usable };
    let kind = match &error {
        Error::Call(call) => io::Error::from_raw_os_error(call.errno()).kind(),
        _ => ErrorKind::Other,
    };
    judge(kind, known).unwrap_or_else(|| PortState::Failed(error.to_string()))
}

/// What an error says of a port; `None` if it says something else.
fn judge(kind: ErrorKind, known: Known) -> Option<PortState> {
    match kind {
        ErrorKind::AddrInUse if known.is_running => Some(PortState::Usable),
        ErrorKind::AddrInUse => Some(PortState::InUse),
        // So the connection manager says that somebody listens at all addresses, or that no device has this one.
        ErrorKind::AddrNotAvailable if known.is_of_device => Some(PortState::InUse),
        ErrorKind::PermissionDenied => Some(PortState::Forbidden),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_somebody_has_at_all_addresses_is_in_use_even_where_the_program_runs() {
        let known = |is_running, is_of_device| Known { is_running, is_of_device };
        for (kind, known, state) in [
            (ErrorKind::AddrInUse, known(false, true), Some(PortState::InUse)),
            (ErrorKind::AddrInUse, known(true, true), Some(PortState::Usable)),
            (ErrorKind::AddrNotAvailable, known(true, true), Some(PortState::InUse)),
            (ErrorKind::AddrNotAvailable, known(false, false), None),
            (ErrorKind::PermissionDenied, known(false, true), Some(PortState::Forbidden)),
            (ErrorKind::NotFound, known(true, true), None),
        ] {
            assert_eq!(judge(kind, known), state, "{kind} {known:?}");
        }
    }
}
