//! One client: random work, each byte compared.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::{Access, BufferDescriptorV1, Config, Params, RdmaVerb};
use smbd_sim::Rng;
use smbd_tools::exercise::{digest, pattern};
use smbd_verbs::Buffer;
use smbd_verbs::blocking::Connection;

use crate::case::Failure;
use crate::ours::client::Client;
use crate::ours::pair::{buffer_of, contents};
use crate::patience::PATIENCE;
use crate::settings;

/// Bytes of the longest message and of the longest buffer.
const MESSAGE_MAX: u64 = 200_000;
const BUFFER_MAX: u64 = 300_000;
/// Messages under way at most.
const BURST: u64 = 6;

/// What a client does.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Work {
    /// Where the server is.
    at: SocketAddr,
    /// Decides what it does.
    #[arg(long)]
    seed: u64,
    /// How much of it.
    #[arg(long)]
    rounds: u64,
}

/// What it has done, as text for whoever started it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) rounds: u64,
    pub(super) messages: u64,
    pub(super) operations: u64,
    pub(super) bytes: u64,
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "done {} {} {} {}", self.rounds, self.messages, self.operations, self.bytes)
    }
}

/// How a client ended.
#[derive(Clone, Debug)]
pub(super) enum Ended {
    InOrder(Done),
    /// What it said.
    Failed(String),
}

impl Done {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().strip_prefix("done ")?.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self { rounds: next()?, messages: next()?, operations: next()?, bytes: next()? })
    }
}

impl Work {
    pub(super) fn arguments(at: SocketAddr, seed: u64, rounds: u64) -> [String; 6] {
        let [seed, rounds] = [seed, rounds].map(|number| number.to_string());
        ["client".into(), at.to_string(), "--seed".into(), seed, "--rounds".into(), rounds]
    }

    /// Connects, works, ends in good order.
    pub(crate) fn run(&self) -> Result<impl std::fmt::Display, Failure> {
        let mut rng = Rng::new(self.seed);
        let config = Config::try_from(params(&mut rng))?;
        let client = Client::over(Connection::connect(self.at, &config)?);
        let mut session = Session { client, rng, done: Done::default() };
        for _ in 0..self.rounds {
            session.round()?;
            session.done.rounds += 1;
        }
        session.client.close()?;
        Ok(session.done)
    }
}

/// Few credits or many, short messages or long.
fn params(rng: &mut Rng) -> Params {
    let credits = u16::try_from(rng.between(8, 255)).unwrap_or(8);
    let size = |rng: &mut Rng| u32::try_from(rng.between(512, 8000)).unwrap_or(512);
    Params {
        receive_credit_max: credits,
        send_credit_target: credits,
        max_send_size: size(rng),
        max_receive_size: size(rng),
        ..settings::windows()
    }
}

struct Session {
    client: Client,
    rng: Rng,
    done: Done,
}

impl Session {
    fn round(&mut self) -> Result<(), Failure> {
        match self.rng.below(8) {
            0 | 1 => self.write_and_read(),
            2 => self.be_read(),
            3 => {
                let silence = Duration::from_millis(self.rng.below(400));
                Ok(self.client.connection.idle(silence)?)
            }
            4 => Ok(self.client.connection.probe(PATIENCE).map(|_| ())?),
            _ => self.messages(),
        }
    }

    fn len(&mut self, most: u64) -> u64 {
        // Short ones as often as long ones.
        let bits = self.rng.between(1, u64::from(most.ilog2()) + 1);
        self.rng.between(1, most.min(1 << bits))
    }

    fn messages(&mut self) -> Result<(), Failure> {
        let count = self.rng.between(1, BURST);
        let mut expected: Vec<Bytes> = Vec::new();
        for _ in 0..count {
            let len = usize::try_from(self.len(MESSAGE_MAX))?;
            let message = pattern(self.rng.below(1 << 32), len);
            self.client.connection.send(message.clone())?;
            expected.push(message);
        }
        for message in expected {
            let got = self.client.connection.recv(PATIENCE)?;
            if got != message {
                return Err(
                    format!("WRONG: {} bytes came back as {} others", message.len(), got.len()).into()
                );
            }
            self.done.messages += 1;
            self.done.bytes += 2 * message.len() as u64;
        }
        Ok(())
    }

    /// Into memory of the server, and out of it.
    fn write_and_read(&mut self) -> Result<(), Failure> {
        let len = u32::try_from(self.len(BUFFER_MAX))?;
        let offered = self.client.offer(len, Access::ReadWrite, 1)?;
        let remote: Arc<[BufferDescriptorV1]> = [offered.whole].into();
        let (source, sink) = (buffer_of(self.rng.below(1 << 32), len)?, Buffer::new(len)?);
        self.client.connection.rdma(RdmaVerb::Write, &source, &remote, 0, len)?;
        let expected = digest(&contents(&source)?);
        same("written", self.client.hash(offered)?, expected)?;
        self.client.connection.rdma(RdmaVerb::Read, &sink, &remote, 0, len)?;
        same("read", digest(&contents(&sink)?), expected)?;
        self.client.withdraw(offered)?;
        self.done.operations += 2;
        self.done.bytes += 2 * u64::from(len);
        Ok(())
    }

    /// The server reads memory of this side.
    fn be_read(&mut self) -> Result<(), Failure> {
        let len = u32::try_from(self.len(BUFFER_MAX))?;
        let source = buffer_of(self.rng.below(1 << 32), len)?;
        let registration = self.client.connection.register(&source, Access::Read)?;
        let hash = self.client.be_read(&registration.descriptors.clone().into(), 0, len)?;
        same("read by the server", hash, digest(&contents(&source)?))?;
        self.client.connection.deregister(&registration)?;
        self.done.operations += 1;
        self.done.bytes += u64::from(len);
        Ok(())
    }
}

fn same(what: &str, seen: u64, expected: u64) -> Result<(), Failure> {
    if seen == expected {
        return Ok(());
    }
    Err(format!("WRONG: what was {what} has the hash {seen:016x}, expected {expected:016x}").into())
}
