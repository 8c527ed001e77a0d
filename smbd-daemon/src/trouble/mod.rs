//! Errors that end a program, and what to check.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;

use crate::places::Over;

#[cfg(feature = "verbs")]
mod rdma;

#[cfg(feature = "verbs")]
pub use rdma::{advice, known, why};

/// What to check when a port of TCP is not allowed.
const ON_PORT: &str = "a port below 1024 takes CAP_NET_BIND_SERVICE: AmbientCapabilities= of the unit, or `setcap \
                       cap_net_bind_service+ep` of the program; or take another port";
/// The same when it is taken.
const IN_USE: &str = "another program listens there: end it, or take another port";
/// The same when the address is another host's.
const NOT_HERE: &str = "no interface of this host has the address: `ip address` shows those";

/// What happened, and what to check.
#[derive(Debug)]
pub struct Trouble {
    what: String,
    advice: Option<String>,
}

impl Trouble {
    /// It cannot listen there.
    #[must_use]
    pub fn listening((over, address): (Over, SocketAddr), Unopened { why, check }: Unopened) -> Self {
        Self { what: format!("cannot listen at {over}:{address}: {why}"), advice: check.map(str::to_owned) }
    }

    /// Anything else.
    #[must_use]
    pub fn other(error: &dyn Display) -> Self {
        Self { what: error.to_string(), advice: None }
    }

    /// No program of this name tells its status.
    #[must_use]
    pub fn asking(what: String, program: &str) -> Self {
        let advice = format!(
            "does {program} run, does its log have `no status socket`, may this user ask, is it another --socket?"
        );
        Self { what, advice: Some(advice) }
    }

    /// Writes it to standard error, and is the exit status for it. What cannot be written is lost.
    #[must_use]
    pub fn failure(&self, program: &str) -> ExitCode {
        let advice = self.advice.as_ref().map_or_else(String::new, |advice| format!("  check: {advice}\n"));
        let _ = io::stderr().write_all(format!("{program}: {}\n{advice}", self.what).as_bytes());
        ExitCode::FAILURE
    }
}

impl Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.advice.iter().try_for_each(|advice| write!(f, "; check: {advice}"))
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::other(&error)
    }
}

/// Why a listener is not open.
#[derive(Debug)]
pub struct Unopened {
    /// The error, as a text.
    pub why: String,
    /// What to check, if the error tells.
    pub check: Option<&'static str>,
}

impl Unopened {
    /// The program was built without the feature `verbs`.
    #[must_use]
    pub fn without_rdma() -> Self {
        Self { why: "this program was built without RDMA (feature verbs)".into(), check: None }
    }
}

impl From<io::Error> for Unopened {
    fn from(error: io::Error) -> Self {
        let check = match error.kind() {
            ErrorKind::PermissionDenied => Some(ON_PORT),
            ErrorKind::AddrInUse => Some(IN_USE),
            ErrorKind::AddrNotAvailable => Some(NOT_HERE),
            _ => None,
        };
        Self { why: error.to_string(), check }
    }
}
