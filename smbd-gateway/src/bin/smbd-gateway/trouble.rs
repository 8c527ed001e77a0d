//! Errors that end the gateway.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;

use smbd_verbs::Error;

/// What to check when there is no RDMA device.
const ON_DEVICE: &str =
    "is there an RDMA device, and may this user open it? `rdma link`, `ls -l /dev/infiniband`";

/// What to check when no gateway tells its status.
const ON_STATUS: &str =
    "does smbd-gateway run, does its log have `no status socket`, may this user ask, is it another --socket?";

/// What happened, and what to check.
#[derive(Debug)]
pub(crate) struct Trouble {
    what: String,
    advice: Option<&'static str>,
}

impl Trouble {
    /// It cannot listen there.
    pub(crate) fn listening(address: SocketAddr, error: &Error) -> Self {
        Self { what: format!("cannot listen at {address}: {error}"), advice: Some(advice(error)) }
    }

    /// Anything else.
    pub(crate) fn other(error: &dyn Display) -> Self {
        Self { what: error.to_string(), advice: None }
    }

    /// No gateway tells its status.
    pub(crate) const fn asking(what: String) -> Self {
        Self { what, advice: Some(ON_STATUS) }
    }

    /// Writes it to standard error, and is the exit status for it. What cannot be written is lost.
    pub(crate) fn failure(&self) -> ExitCode {
        let advice = self.advice.map_or_else(String::new, |advice| format!("  check: {advice}\n"));
        let _ = io::stderr().write_all(format!("smbd-gateway: {}\n{advice}", self.what).as_bytes());
        ExitCode::FAILURE
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self { what: error.to_string(), advice: Some(advice(&error)) }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::other(&error)
    }
}

/// What to check after an error of a device.
pub(crate) fn advice(error: &Error) -> &'static str {
    match error {
        Error::Call(call) if io::Error::from_raw_os_error(call.errno()).kind() == ErrorKind::AddrInUse => {
            "another program listens there; on iWARP, one of SMB over TCP uses the same ports"
        }
        _ => ON_DEVICE,
    }
}
