//! One side of a searched connection: everything except what is under way between the two.

mod commands;
mod credits;
mod device;
mod host;
mod raw;
mod upper;

use std::hash::Hasher;

use smbd_core::Instant;

use super::setup::{Peer, Setup};
use super::wire::{Out, Packet};
use crate::Side;
use crate::named::named;
use crate::oracle::{Failure, Law};
use crate::probe::{At, Probe};
use host::Host;
use raw::RawPeer;

/// What happens to a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given<'a> {
    Packet(&'a Packet),
    /// An RDMA Read is answered.
    Answer,
    /// The initiator's request reaches the acceptor.
    Request,
    /// The acceptor's consent reaches the initiator.
    Accepted,
    /// The end of the connection is noticed.
    Gone,
    /// The device notices it first, and flushes.
    Down,
    Own(Own),
    /// Time passes, in nanoseconds.
    Elapse(u64),
}

named! {
    /// What a side does by itself, or its device and its clock do.
    pub(super) enum Own {
        /// What was put off until several inputs had come.
        Drain = "drain",
        /// The acceptor hears that the connection is up.
        Connected = "connected",
        /// The send queue completes up to the next work that asked for it.
        Complete = "complete",
        /// A registration is valid.
        Registered = "registered",
        Deregistered = "deregistered",
        RegistrationFails = "registration fails",
        /// A registration that the device did not take.
        Refused = "registration refused",
        Timeout = "timeout",
        Wake = "wake",
        Command = "command",
        /// The upper layer gives the oldest fragment back.
        Release = "release",
        /// The own end of the connection is done.
        Ended = "ended",
        FlushSends = "flush sends",
        FlushReceives = "flush receives",
    }
}

impl Own {
    pub(super) const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// What can be seen of a side from outside: all that the search needs to know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct View {
    /// Own steps that are possible, by their bits.
    pub(super) own: u16,
    /// The request has not come.
    pub(super) unborn: bool,
    /// Packets have an effect.
    pub(super) hears: bool,
    /// The end of the connection has an effect.
    pub(super) ends: bool,
    /// The initiator waits for consent.
    pub(super) awaits: bool,
    /// It was told that the connection is up, or that is not to be expected.
    pub(super) knows: bool,
    /// The device can notice the end.
    pub(super) can_fall: bool,
    /// Nothing more will happen here.
    pub(super) over: bool,
    /// Nanoseconds to the next deadline.
    pub(super) left: Option<u64>,
    /// Send credits and credits granted and not used, while they can be compared with the peer's.
    pub(super) credits: Option<(u32, u32)>,
}

/// One side.
#[derive(Clone, Debug)]
pub(super) enum Local {
    Unborn { now: Instant },
    Host(Box<Host>),
    Raw(Box<RawPeer>),
}

/// What came of something that was given to a side.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) next: Local,
    pub(super) out: Vec<Out>,
    pub(super) failure: Option<Failure>,
}

impl Local {
    /// A side before anything has happened.
    pub(super) fn begin(setup: &Setup, side: Side, seen: &mut dyn Probe) -> Outcome {
        match side {
            Side::Initiator => Self::born(setup, side, Instant::ORIGIN, seen),
            Side::Acceptor => {
                let next = Self::Unborn { now: Instant::ORIGIN };
                Outcome { next, out: Vec::new(), failure: None }
            }
        }
    }

    fn born(setup: &Setup, side: Side, now: Instant, seen: &mut dyn Probe) -> Outcome {
        let mut out = Vec::new();
        match &setup.peers[side.index()] {
            Peer::Core(core) => {
                let mut host = match Host::new(setup, core, side, now) {
                    Ok(host) => host,
                    Err(error) => return unconfigured(side, now, error.to_string()),
                };
                host.begin(&mut out, seen);
                let failure = host.failure();
                Outcome { next: Self::Host(Box::new(host)), out, failure }
            }
            Peer::Raw(raw) => {
                let mut peer = RawPeer::new(setup, raw, side, now);
                peer.begin(&mut out, seen);
                let failure = peer.failure();
                Outcome { next: Self::Raw(Box::new(peer)), out, failure }
            }
        }
    }

    /// What comes of it.
    pub(super) fn give(&self, setup: &Setup, side: Side, given: Given<'_>, seen: &mut dyn Probe) -> Outcome {
        let mut out = Vec::new();
        let mut next = self.clone();
        let failure = match &mut next {
            Self::Unborn { now } => match given {
                Given::Request => return Self::born(setup, side, *now, seen),
                Given::Elapse(nanos) => {
                    *now = later(*now, nanos);
                    None
                }
                _ => None,
            },
            Self::Host(host) => {
                host.give(given, &mut out, seen);
                host.failure()
            }
            Self::Raw(raw) => {
                raw.give(given, &mut out, seen);
                raw.failure()
            }
        };
        Outcome { next, out, failure }
    }

    #[cfg(test)]
    pub(super) fn side(&self) -> Side {
        match self {
            Self::Unborn { .. } => Side::Acceptor,
            Self::Host(host) => host.side(),
            Self::Raw(raw) => raw.side(),
        }
    }

    pub(super) fn view(&self) -> View {
        match self {
            Self::Unborn { .. } => View { unborn: true, over: true, ..View::default() },
            Self::Host(host) => host.view(),
            Self::Raw(raw) => raw.view(),
        }
    }

    /// What is missing of a side that is over, if something is.
    pub(super) fn missing(&self) -> Option<String> {
        match self {
            Self::Unborn { .. } => Some("it was never asked for a connection".to_owned()),
            Self::Host(host) => host.missing(),
            Self::Raw(raw) => raw.missing(),
        }
    }

    /// All that can influence what this side does and how it is judged: names left out, times by their distance.
    pub(super) fn fingerprint(&self) -> u128 {
        let mut bytes = Bytes::default();
        match self {
            Self::Unborn { .. } => bytes.write_u8(0),
            Self::Host(host) => {
                bytes.write_u8(1);
                host.fingerprint(&mut bytes);
            }
            Self::Raw(raw) => {
                bytes.write_u8(2);
                raw.fingerprint(&mut bytes);
            }
        }
        twox_hash::XxHash3_128::oneshot(&bytes.0)
    }
}

fn unconfigured(side: Side, now: Instant, what: String) -> Outcome {
    let failure = Some(Failure { law: Law::Commands, at: At { now, side }, what });
    Outcome { next: Local::Unborn { now }, out: Vec::new(), failure }
}

pub(super) fn later(now: Instant, nanos: u64) -> Instant {
    Instant::from_nanos(now.as_nanos().saturating_add(nanos))
}

/// Collects what is hashed.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}
