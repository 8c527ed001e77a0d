//! What a test is.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;

use clap::ValueEnum;

/// Why a test did not pass.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// What a test returns. The text is printed behind its name: what was seen. A test that was not played fails with
/// [`Skipped`].
pub(crate) type Outcome = Result<String, Failure>;

/// Why a test was not played: this device or kernel cannot show what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skipped(String);

impl Skipped {
    /// As a test returns it.
    pub(crate) fn because(why: impl Into<String>) -> Failure {
        Self(why.into()).into()
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Skipped {}

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
    /// The same, in tests that take long.
    OursLong,
    /// The SMB server of the Linux kernel.
    Ksmbd,
    /// The SMB client of the Linux kernel.
    Cifs,
    /// The same, in tests that take long.
    CifsLong,
    /// Two hosts, for captures.
    Pair,
    /// `smbd-echo`, by peers that mean it no good.
    Hostile,
    /// The same in such numbers that it takes long.
    HostileLong,
    /// What the kernel of some device does not survive, whoever listens.
    Fatal,
    /// Samba behind `smbd-gateway`, used by cifs: contents of files.
    Samba,
    /// The same: many files, names, locks, random operations.
    SambaFiles,
    /// The same: what the server refuses, and a slow disk.
    SambaErrors,
    /// The same: sessions that are signed or encrypted.
    SambaSecurity,
    /// The same: parts that fail.
    SambaFailure,
    /// The same: two connections for one session.
    SambaMultichannel,
    /// The same: who is let in, and which server is used.
    SambaAccess,
    /// The same, while others mean it no good.
    SambaHostile,
    /// A folder that `smbd-serve` shares, used by cifs over SMB Direct.
    Serve,
}

/// What serves the share of a test with the kernel's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServedBy {
    /// Samba behind `smbd-gateway`.
    Gateway,
    /// `smbd-serve`.
    Serve,
}

/// Where a test takes place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// Address of a device of this host.
    pub(crate) address: IpAddr,
    /// Address of the peer.
    pub(crate) peer: IpAddr,
    /// What serves shares.
    pub(crate) served_by: ServedBy,
    /// Whether the gateway's connections are those of `smbd-broker`, which the scenario has started.
    pub(crate) has_broker: bool,
}
