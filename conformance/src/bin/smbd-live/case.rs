//! What a test is.

use std::error::Error;
use std::net::IpAddr;

use clap::ValueEnum;

/// Why a test did not pass.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// What a test returns. The text is printed behind its name: what was seen.
pub(crate) type Outcome = Result<String, Failure>;

/// A test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) target: Target,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&Context) -> Outcome,
}

/// Whom a test is against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// smbd on both sides.
    Ours,
    /// The SMB server of the Linux kernel.
    Ksmbd,
    /// The SMB client of the Linux kernel.
    Cifs,
    /// Two hosts, for captures.
    Pair,
    /// `smbd-echo`, by peers that mean it no good.
    Hostile,
    /// The same in such numbers that it takes long.
    HostileLong,
    /// What the kernel of some device does not survive, whoever listens.
    Fatal,
}

/// Where a test takes place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// Address of a device of this host.
    pub(crate) address: IpAddr,
    /// Address of the peer.
    pub(crate) peer: IpAddr,
}
