//! Errors that end the server.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use smbd_tools::tool::ADVICE_ON_DEVICE;
use smbd_verbs::Error;

/// What happened, and what to check.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) what: String,
    pub(crate) advice: Option<&'static str>,
}

impl Trouble {
    /// It cannot listen there.
    pub(crate) fn listening(address: SocketAddr, error: &Error) -> Self {
        Self { what: format!("cannot listen at {address}: {error}"), advice: Some(advice(error)) }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self { what: error.to_string(), advice: Some(advice(&error)) }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self { what: error.to_string(), advice: None }
    }
}

fn advice(error: &Error) -> &'static str {
    match error {
        Error::Call(call) if io::Error::from_raw_os_error(call.errno()).kind() == ErrorKind::AddrInUse => {
            "another program listens there: another port, or that program has to end"
        }
        _ => ADVICE_ON_DEVICE,
    }
}
