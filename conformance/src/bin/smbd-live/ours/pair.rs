//! Two connected sides in one process, and what both can hold in their hands.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smbd_core::error::CloseReason;
use smbd_core::{BufferDescriptorV1, Config};
use smbd_tools::exercise::pattern;
use smbd_verbs::blocking::{Connection, Registration};
use smbd_verbs::{Buffer, Incoming, ListenOptions, Listener};

use super::ports;
use crate::case::{Context, Failure};
use crate::device;
use crate::patience::PATIENCE;

/// A connection, both sides of it. A side is served only while it is asked for something; RDMA needs no serving.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) initiator: Connection,
    pub(crate) acceptor: Connection,
}

impl Pair {
    pub(crate) fn new(context: &Context, config: &Config) -> Result<Self, Failure> {
        let at = ports::fresh(context);
        let mut listener = Listener::bind(at, ListenOptions::default())?;
        Self::through(&mut listener, at, config)
    }

    /// Over a listener of the caller's.
    pub(crate) fn through(listener: &mut Listener, at: SocketAddr, config: &Config) -> Result<Self, Failure> {
        thread::scope(|scope| {
            let initiator = scope.spawn(|| Connection::connect(at, config));
            let acceptor = Connection::accept(next_request(listener)?, config)?;
            let initiator = initiator.join().map_err(|_| "the initiator panicked")??;
            Ok(Self { initiator, acceptor })
        })
    }

    /// A message each way: both sides work.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        say(&mut self.initiator, &mut self.acceptor, 1)?;
        say(&mut self.acceptor, &mut self.initiator, 2)
    }

    /// What a side registered is valid for the other one. [`Connection::register`] does not wait for its bind, which is
    /// carried out behind what was posted before; a message from behind it proves it. A peer that is told of the
    /// descriptors by anything else than such a message is refused.
    pub(crate) fn valid(&mut self) -> Result<(), Failure> {
        self.check()
    }

    /// Both sides end in good order, the initiator first.
    pub(crate) fn close(self) -> Result<(), Failure> {
        closed(self.initiator, self.acceptor).map(drop)
    }
}

/// One side ends in good order; what the other says of it, which is as much as its device can tell.
pub(crate) fn closed(closer: Connection, other: Connection) -> Result<CloseReason, Failure> {
    let quirks = other.backend().quirks().ok_or("a connection without a device")?;
    let own = closer.close(PATIENCE)?;
    let told = other.drain()?;
    if (own, told) == (CloseReason::Local, device::told_of_a_close(quirks)) {
        return Ok(told);
    }
    Err(format!("after a close the side that closed says '{own}', the other '{told}'").into())
}

/// A message, which comes.
pub(crate) fn say(from: &mut Connection, to: &mut Connection, seed: u64) -> Result<(), Failure> {
    let message = pattern(seed, 100);
    from.send(message.clone())?;
    from.flush()?;
    let got = to.recv(PATIENCE)?;
    if got == message {
        return Ok(());
    }
    Err(format!("sent 100 bytes of a pattern, got {} other bytes", got.len()).into())
}

/// The next request for a connection.
pub(crate) fn next_request(listener: &mut Listener) -> Result<Incoming, Failure> {
    loop {
        if let Some(incoming) = listener.poll()? {
            return Ok(incoming);
        }
        if !is_readable(listener, PATIENCE)? {
            return Err(format!("no request came within {} s", PATIENCE.as_secs()).into());
        }
    }
}

/// Waits until a descriptor is readable; whether it is.
pub(crate) fn is_readable(what: &impl AsFd, within: Duration) -> Result<bool, Failure> {
    let timeout =
        Timespec { tv_sec: i64::try_from(within.as_secs())?, tv_nsec: within.subsec_nanos().into() };
    Ok(poll(&mut [PollFd::new(what, PollFlags::IN)], Some(&timeout))? > 0)
}

/// A buffer with the pattern of `seed`.
pub(crate) fn buffer_of(seed: u64, len: u32) -> Result<Buffer, Failure> {
    let buffer = Buffer::new(len)?;
    buffer.fill(0, &pattern(seed, usize::try_from(len)?))?;
    Ok(buffer)
}

/// All bytes of a buffer.
pub(crate) fn contents(buffer: &Buffer) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; usize::try_from(buffer.len())?];
    buffer.read(0, &mut bytes)?;
    Ok(bytes)
}

/// The one descriptor of a registration.
pub(crate) fn only(registration: &Registration) -> Result<BufferDescriptorV1, Failure> {
    match registration.descriptors[..] {
        [descriptor] => Ok(descriptor),
        ref other => Err(format!("{} descriptors for one buffer", other.len()).into()),
    }
}
