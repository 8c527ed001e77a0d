//! Clients that mean it no good, while the kernel's client works.

mod honest;
mod malformed;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use smbd_conformance::smb2::client::{By, Requests};
use smbd_core::BufferDescriptorV1;
use smbd_sim::Rng;
use smbd_smb2::wire::{Channel, NtStatus, Token};

use self::honest::Honest;
use self::malformed::{Fault, Malformed};
use self::session::{Came, Session};
use super::service::{Service, UNCACHED, await_that};
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::cifs;
use crate::expect::{holds, same};

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaHostile, about, run }
}

/// 10,000 malformed requests of a seed.
const fn malformed<const SEED: u64>(name: &'static str) -> Case {
    case(name, "10,000 malformed channel requests, while another client works", malformed_requests::<SEED>)
}

pub(super) const CASES: &[Case] = &[
    case("samba::hostile::wrong_tokens", "a wrong token ends its own connection, and no other", wrong_tokens),
    malformed::<0>("samba::hostile::malformed_requests_0"),
    malformed::<1>("samba::hostile::malformed_requests_1"),
    malformed::<2>("samba::hostile::malformed_requests_2"),
    malformed::<3>("samba::hostile::malformed_requests_3"),
    malformed::<4>("samba::hostile::malformed_requests_4"),
    malformed::<5>("samba::hostile::malformed_requests_5"),
    malformed::<6>("samba::hostile::malformed_requests_6"),
    malformed::<7>("samba::hostile::malformed_requests_7"),
    malformed::<8>("samba::hostile::malformed_requests_8"),
    malformed::<9>("samba::hostile::malformed_requests_9"),
];

/// What guests have.
const FOLDER: &str = "/run/guests";
/// With so few credits for a connection, one that is lost is missed soon.
const SETTINGS: &[&str] = &[
    "map to guest = bad user",
    "smb2 max credits = 1024",
    "[guests]",
    "path = /run/guests",
    "read only = no",
    "guest ok = yes",
];
/// Connections that have ended may be counted by a device for a minute.
const LIMITS: &str = "[limits]\nconnections = 1000\nper_client = 1000\nmemory_mib = 65536\n";

/// Of each seed.
const REQUESTS: usize = 10_000;
/// Messages that are sent before their answers are waited for. With three requests of two credits each a client has credits for them.
const BATCH: usize = 64;

/// The gateway, Samba, and a mount.
struct Siege {
    service: Service,
    honest: Honest,
    at: SocketAddr,
}

impl Siege {
    fn begin(context: &Context, name: &'static str) -> Result<Self, Failure> {
        fs::create_dir_all(FOLDER)?;
        fs::set_permissions(FOLDER, fs::Permissions::from_mode(0o777))?;
        let (config, at) =
            ("/run/gateway.toml", SocketAddr::new(context.address, cifs::port(context.address)?));
        fs::write(config, LIMITS)?;
        let listen = at.to_string();
        let mut options = vec!["--config", config];
        // The broker listens there.
        if !context.has_broker {
            options.extend(["--listen", &listen]);
        }
        let service = Service::begin_with(context, name, SETTINGS, &options)?;
        let honest = Honest::start(service.mount(UNCACHED)?);
        honest.goes_on()?;
        Ok(Self { service, honest, at })
    }

    /// The attackers are gone. The honest client was served all the time, on one connection.
    fn end(self, mut what: String) -> Outcome {
        self.honest.goes_on()?;
        let (mounted, rounds) = self.honest.stop()?;
        mounted.unmount()?;
        let gateway = self.service.gateway();
        let connected = gateway.count(0, &["client connected "]);
        await_that("the end of all connections", || Ok(gateway.count(0, &["client ended "]) == connected))?;
        let memory = gateway.memory()?;
        let write = write!(
            what,
            "; the honest client had {rounds} rounds; {connected} connections; the gateway had {} MiB at the most",
            memory.peak >> 20
        );
        write?;
        Ok(what)
    }
}

/// Tokens of nothing, and of another connection's memory, for the gateway to read from and to write to.
fn wrong_tokens(context: &Context) -> Outcome {
    let siege = Siege::begin(context, "wrong-tokens")?;
    let mut other = Session::begin(siege.at)?;
    let before = other.contents()?;
    let theirs = other.memory;
    let mut ends = BTreeSet::new();
    for (number, is_read) in [false, true].into_iter().cycle().take(10).enumerate() {
        let mut session = Session::begin(siege.at)?;
        session.works(number as u64)?;
        let wrong = match number {
            0 | 1 => theirs,
            2 | 3 => BufferDescriptorV1 { token: Token(0), ..session.memory },
            4 | 5 => BufferDescriptorV1 { token: Token(u32::MAX), ..session.memory },
            6 | 7 => BufferDescriptorV1 { length: session.memory.length + 1, ..session.memory },
            _ => BufferDescriptorV1 { offset: session.memory.offset ^ 1 << 40, ..session.memory },
        };
        let descriptors = [wrong];
        let by = By { channel: Channel::RDMA_V1, descriptors: &descriptors };
        // One that is too long is wrong at its end only.
        let len = if number / 2 == 3 { wrong.length } else { 5000 };
        let mut requests = Requests::new(session.client());
        if is_read {
            requests.read_by(&by, len.min(200_000), 0)?
        } else {
            requests.write_by(&by, len, 0)?
        };
        let (message, id) = requests.finish();
        let mark = siege.service.gateway().mark();
        match session.ask(vec![message], &BTreeSet::from([id]))? {
            Came::End(why) => drop(ends.insert(why)),
            // Of one that is too long a READ uses no more than is there.
            Came::Answers(answers) if is_read && number / 2 == 3 => {
                same(
                    "a READ into memory that is there",
                    answers.values().copied().collect(),
                    vec![NtStatus::SUCCESS],
                )?;
                session.close()?;
                continue;
            }
            Came::Answers(answers) => return Err(format!("token {number} was taken: {answers:?}").into()),
        }
        session.forget();
        siege.service.gateway().said(mark, &["client ended "])?;
        other.works(number as u64)?;
    }
    let last = other.contents()?;
    holds(before != last, || "the other one has not worked".into())?;
    other.close()?;
    let ends = ends.into_iter().collect::<Vec<_>>().join(", ");
    siege.end(format!("9 connections have ended: {ends}"))
}

/// What came of all requests so far.
#[derive(Debug, Default)]
struct Counts {
    requests: usize,
    statuses: BTreeMap<String, usize>,
    faults: BTreeMap<String, usize>,
    ends: usize,
    connections: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, statuses, faults, ends, connections } = self;
        let list = |counted: &BTreeMap<String, usize>| {
            counted.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        let (statuses, faults) = (list(statuses), list(faults));
        write!(
            f,
            "{requests} requests on {connections} connections, {ends} of which they ended; answers: {statuses}; faults: {faults}"
        )
    }
}

impl Counts {
    fn add(&mut self, faults: &[Fault]) {
        self.requests += faults.len();
        faults.iter().for_each(|fault| *self.faults.entry(fault.to_string()).or_default() += 1);
    }
}

fn malformed_requests<const SEED: u64>(context: &Context) -> Outcome {
    let siege = Siege::begin(context, "malformed-requests")?;
    let mut fresh = Session::begin(siege.at)?;
    fresh.works(1)?;
    let credits = fresh.credits()?;
    fresh.close()?;
    let (mut rng, mut counts) = (Rng::new(SEED), Counts::default());
    // What it says is told at the end.
    while counts.requests < REQUESTS && !siege.honest.has_stopped() {
        attack(siege.at, credits, &mut rng, &mut counts)
            .map_err(|failure| format!("seed {SEED}, behind {} requests: {failure}", counts.requests))?;
    }
    let mut last = Session::begin(siege.at)?;
    last.works(2)?;
    has_all(last.credits()?, credits)?;
    last.close()?;
    siege.end(counts.to_string())
}

/// One connection, until it has ended or has had its share of the requests. One that has not ended has all of its credits.
fn attack(at: SocketAddr, credits: u64, rng: &mut Rng, counts: &mut Counts) -> Result<(), Failure> {
    const SHARE: usize = 3_000;
    let mut session = Session::begin(at)?;
    counts.connections += 1;
    let until = REQUESTS.min(counts.requests + SHARE);
    let mut deadly = None;
    while counts.requests < until && deadly.is_none() {
        let (mut messages, mut ids, mut faults) = (Vec::new(), BTreeSet::new(), Vec::new());
        let memory = session.memory;
        while messages.len() < BATCH && deadly.is_none() {
            let drawn = malformed::draw(rng, session.client(), memory)?;
            counts.add(&drawn.faults);
            if drawn.is_deadly() {
                deadly = Some(drawn);
                break;
            }
            messages.push(drawn.bytes);
            ids.extend(drawn.ids);
            faults.extend(drawn.faults);
        }
        match session.ask(messages, &ids).map_err(|failure| format!("{failure}; {}", names(&faults)))? {
            Came::Answers(answers) => {
                answers
                    .values()
                    .for_each(|status| *counts.statuses.entry(status.to_string()).or_default() += 1);
            }
            Came::End(why) => {
                return Err(format!("the connection ended ({why}) at {}", names(&faults)).into());
            }
        }
    }
    let Some(Malformed { bytes, faults, .. }) = deadly else {
        has_all(session.credits()?, credits)?;
        session.works(3)?;
        return session.close();
    };
    // A message that is cut may be one that is refused, and a READ behind the end of the file uses no token.
    let end = session.provoke(bytes).map_err(|failure| format!("{failure}; {}", names(&faults)))?;
    counts.ends += usize::from(end.is_some());
    session.forget();
    Ok(())
}

/// What a fresh connection has is the least: with many requests under way a client asks for more.
fn has_all(seen: u64, least: u64) -> Result<(), Failure> {
    holds(seen >= least, || format!("{seen} credits, a fresh connection has {least}"))
}

fn names(faults: &[Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
