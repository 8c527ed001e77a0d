//! A client that does nothing wrong while others do: messages and RDMA, each byte compared.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use smbd_core::{Access, BufferDescriptorV1, Config, RdmaVerb, Role};
use smbd_tools::exercise::{digest, pattern};
use smbd_verbs::blocking::Connection;
use smbd_verbs::{Buffer, Clock, VerbsConnection};

use crate::case::Failure;
use crate::ours::client::{Client, Offered};
use crate::ours::pair::contents;
use crate::patience::PATIENCE;
use crate::settings;

/// Bytes of a message and of an RDMA operation.
const MESSAGE: usize = 20_000;
const BUFFER: u32 = 64 << 10;
/// How often a client tries that is refused because others take all the room.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(250);

/// How long one may take to be let in while the server is under attack; how long it took is said. After 5 s the attackers' own
/// connections have run into the server's timers.
pub(super) const ADMISSION: Duration = PATIENCE;

/// A client on a thread of its own.
#[derive(Debug)]
pub(super) struct Honest {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
    thread: JoinHandle<Result<Duration, String>>,
}

/// What it has done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) rounds: u64,
    /// The longest that one of them took.
    pub(super) longest: Duration,
}

/// An established connection from an address of this host.
pub(super) fn connect(from: IpAddr, to: SocketAddr) -> Result<Client, Failure> {
    let config = Config::try_from(settings::windows())?;
    let end = VerbsConnection::connect(to, Some(SocketAddr::new(from, 0)), &config, Clock::start())?;
    Ok(Client::over(Connection::establish(Role::Initiator, end, &config)?))
}

/// The same for one that may be refused as long as others take all the room: how long it took.
pub(super) fn connect_within(
    from: IpAddr,
    to: SocketAddr,
    within: Duration,
) -> Result<(Client, Duration), Failure> {
    let clock = Clock::start();
    loop {
        let result = connect(from, to);
        let time = clock.now().saturating_since(smbd_core::Instant::ORIGIN);
        match result {
            Ok(client) => return Ok((client, time)),
            Err(failure) if time >= within => return Err(failure),
            Err(_) => thread::sleep(ATTEMPT_PAUSE),
        }
    }
}

impl Honest {
    /// Connects, and works until it is told to stop.
    pub(super) fn start(from: IpAddr, to: SocketAddr) -> Result<Self, Failure> {
        let work = Work::begin(connect_within(from, to, ADMISSION)?.0)?;
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&rounds));
        let thread = thread::spawn(move || {
            let outcome = work.until(&stopped, &counted);
            outcome.map_err(|failure| format!("the honest client: {failure}"))
        });
        Ok(Self { stop, rounds, thread })
    }

    /// Waits until it was served so often since it was asked.
    pub(super) fn goes_on(&self, rounds: u64) -> Result<(), Failure> {
        let until = self.rounds.load(Ordering::Relaxed) + rounds;
        while self.rounds.load(Ordering::Relaxed) < until {
            if self.thread.is_finished() {
                return Err("the honest client was not served any more".into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Ends its connection in good order.
    pub(super) fn stop(self) -> Result<Served, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        let longest = self.thread.join().map_err(|_| "the honest client panicked")??;
        Ok(Served { rounds: self.rounds.load(Ordering::Relaxed), longest })
    }
}

/// What it works with.
struct Work {
    client: Client,
    offered: Offered,
    remote: Arc<[BufferDescriptorV1]>,
    source: Buffer,
    sink: Buffer,
}

impl Work {
    fn begin(mut client: Client) -> Result<Self, Failure> {
        let offered = client.offer(BUFFER, Access::ReadWrite, 1)?;
        let (source, sink) = (Buffer::new(BUFFER)?, Buffer::new(BUFFER)?);
        Ok(Self { client, offered, remote: [offered.whole].into(), source, sink })
    }

    fn until(mut self, stop: &AtomicBool, rounds: &AtomicU64) -> Result<Duration, Failure> {
        let clock = Clock::start();
        let mut longest = Duration::ZERO;
        for seed in 0_u64.. {
            let before = clock.now();
            self.round(seed)?;
            longest = longest.max(clock.now().saturating_since(before));
            rounds.fetch_add(1, Ordering::Relaxed);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        self.client.withdraw(self.offered)?;
        self.client.close()?;
        Ok(longest)
    }

    /// A message and back, a write, its hash at the server, a read.
    fn round(&mut self, seed: u64) -> Result<(), Failure> {
        let message = pattern(seed, MESSAGE);
        let connection = &mut self.client.connection;
        connection.send(message.clone())?;
        if connection.recv(PATIENCE)? != message {
            return Err(format!("message {seed} came back as other bytes").into());
        }
        let content = pattern(seed, BUFFER as usize);
        let expected = digest(&content);
        self.source.fill(0, &content)?;
        connection.rdma(RdmaVerb::Write, &self.source, &self.remote, 0, BUFFER)?;
        let written = self.client.hash(self.offered)?;
        self.client.connection.rdma(RdmaVerb::Read, &self.sink, &self.remote, 0, BUFFER)?;
        let read = digest(&contents(&self.sink)?);
        if (written, read) == (expected, expected) {
            return Ok(());
        }
        Err(format!("round {seed}: {expected:016x} was written as {written:016x}, read as {read:016x}")
            .into())
    }
}
