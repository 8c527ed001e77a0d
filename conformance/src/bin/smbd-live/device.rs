//! What the device of an address is.

use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::Duration;

use smbd_core::Input;
use smbd_core::backend::{Backend, BackendOp, kit};
use smbd_core::error::{CloseReason, DisconnectReason};
use smbd_verbs::quirks::Quirks;
use smbd_verbs::{Clock, LinkType, VerbsConnection};

use crate::case::Failure;
use crate::patience::PATIENCE;

/// A port that nobody listens at: finding the device is all that is wanted.
const NOBODY: u16 = 9;
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The row of the quirk table for the device of an address of this host.
pub(crate) fn quirks(address: IpAddr) -> Result<&'static Quirks, Failure> {
    of(address, VerbsConnection::quirks)
}

/// What the side that did not close says of an orderly end, as far as its device can tell it.
pub(crate) const fn told_of_a_close(quirks: &Quirks) -> CloseReason {
    if quirks.close_in_status {
        CloseReason::PeerClosed
    } else {
        CloseReason::Lost { reason: DisconnectReason::Unknown }
    }
}

/// What kind of link it has.
pub(crate) fn link_type(address: IpAddr) -> Result<LinkType, Failure> {
    of(address, VerbsConnection::link_type)
}

/// What an end knows of its device as soon as it has one.
fn of<T>(address: IpAddr, known: impl Fn(&VerbsConnection) -> Option<T>) -> Result<T, Failure> {
    let clock = Clock::start();
    let mut end = VerbsConnection::connect(SocketAddr::new(address, NOBODY), None, &kit::config()?, clock)?;
    end.execute(BackendOp::Connect);
    let until = clock.now().saturating_add(PATIENCE);
    while clock.now() < until {
        let failed = matches!(end.next_input(), Some(Input::ConnectFailed { .. }));
        if let Some(known) = known(&end) {
            return Ok(known);
        }
        if failed {
            break;
        }
        thread::sleep(POLL_INTERVAL);
    }
    Err(format!("{address} belongs to no RDMA device; `rdma link` lists those of this host").into())
}
