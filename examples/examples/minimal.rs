//! The smallest complete embedding: two connections, each on a thread of its own, over a pair of channels.
//! All that a transport has to do is here: carry out actions, report what comes of them, wait no longer than told.
//!
//!     cargo run --locked -p smbd-examples --example minimal
#![allow(clippy::wildcard_enum_match_arm, reason = "it shows what it needs")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::{error::Error, sync::LazyLock, thread, time::Duration};

use smbd_core::{
    Action, Close, Config, Connection, Event, Head, Input, Instant, MsgId, Params, RecvId, Role,
    error::{DisconnectReason, WorkError},
};

type Failure = Box<dyn Error + Send + Sync>;

struct Side {
    connection: Connection,
    to_peer: Option<Sender<Vec<u8>>>,
    from_peer: Receiver<Vec<u8>>,
    /// Receives without a message, in the order they were posted.
    posted: VecDeque<RecvId>,
    /// The message in each receive buffer, by slot.
    received: Vec<Vec<u8>>,
    /// Upper-layer messages until they are sent.
    outgoing: BTreeMap<MsgId, Vec<u8>>,
    incoming: Vec<u8>,
    disconnected: bool,
}

impl Side {
    fn run(mut self) -> Result<(), Failure> {
        loop {
            match self.connection.poll_action() {
                Action::Notify(Event::Drained) => return Ok(()),
                Action::Notify(event) => self.event(event)?,
                Action::Wait(deadline) => self.wait(deadline)?,
                Action::Connect | Action::Accept => {
                    self.report(Input::Connected { limits: self.connection.limits() })?;
                }
                Action::PostRecv { id, .. } => self.posted.push_back(id),
                Action::PostSend { id, head, body, .. } => {
                    let mut message = head.as_bytes().to_vec();
                    if let Some(body) = body {
                        let start = body.offset as usize;
                        message.extend(&self.outgoing[&body.msg][start..start + body.len as usize]);
                    }
                    // A peer that is gone shows when waiting.
                    let _ = self.to_peer.as_ref().map(|peer| peer.send(message));
                    self.report(Input::Sent { id })?;
                }
                Action::Disconnect => {
                    self.to_peer = None;
                    while let Some(id) = self.posted.pop_front() {
                        self.report(Input::Failed { id: id.into(), error: WorkError::Flushed })?;
                    }
                    self.report_disconnected(DisconnectReason::Local)?;
                }
                action => return Err(format!("nobody asked for {action:?}").into()),
            }
        }
    }

    /// Waits for a message of the peer, its end, or the deadline.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        match self.from_peer.recv_timeout(deadline.map_or(Duration::MAX, |at| at.saturating_since(now()))) {
            Ok(message) => {
                // Credits see to it that there is a receive; a peer that ignores them is cut off.
                let Some(id) = self.posted.pop_front() else {
                    return self.report_disconnected(DisconnectReason::DeviceFailed);
                };
                let (head, len) = (Head::of(&message), message.len() as u32);
                self.received[usize::from(id.slot())] = message;
                self.report(Input::Received { id, head, len, invalidated: None })
            }
            Err(RecvTimeoutError::Timeout) => self.report(Input::Timeout),
            Err(RecvTimeoutError::Disconnected) => self.report_disconnected(DisconnectReason::PeerClosed),
        }
    }

    fn report_disconnected(&mut self, reason: DisconnectReason) -> Result<(), Failure> {
        let known = std::mem::replace(&mut self.disconnected, true);
        if known { Ok(()) } else { self.report(Input::Disconnected { reason }) }
    }

    fn report(&mut self, input: Input<'_>) -> Result<(), Failure> {
        Ok(self.connection.handle(now(), input)?)
    }

    /// The upper layer: the initiator says something, the acceptor shouts it back, the initiator closes.
    fn event(&mut self, event: Event) -> Result<(), Failure> {
        let role = self.connection.role();
        match event {
            Event::Established(_) if role == Role::Initiator => self.send(b"hello ".repeat(1000))?,
            Event::Data(fragment) => {
                let buffer = &self.received[usize::from(fragment.recv().slot())];
                self.incoming.extend(&buffer[fragment.range()]);
                let last = fragment.is_last();
                self.connection.release(now(), fragment)?;
                if last {
                    let message = std::mem::take(&mut self.incoming);
                    println!(
                        "{role:?}: {} bytes, {}...",
                        message.len(),
                        message[..message.len().min(11)].escape_ascii()
                    );
                    match role {
                        Role::Acceptor => self.send(message.to_ascii_uppercase())?,
                        Role::Initiator => self.connection.close(now(), Close::Abort),
                    }
                }
            }
            Event::Sent { msg, .. } => drop(self.outgoing.remove(&msg)),
            Event::ConnectFailed(reason) => return Err(reason.into()),
            event => println!("{role:?}: {event:?}"),
        }
        Ok(())
    }

    fn send(&mut self, message: Vec<u8>) -> Result<(), Failure> {
        let msg = self.connection.send(now(), u32::try_from(message.len())?, None)?;
        self.outgoing.insert(msg, message);
        Ok(())
    }
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "the backend's clock")]
    static STARTED: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    Instant::from_nanos(STARTED.elapsed().as_nanos() as u64)
}

pub(crate) fn main() -> Result<(), Failure> {
    let config = Config::try_from(Params { read_depth: 0, max_read_write_size: 0, ..Params::windows() })?;
    let end = |role, to_peer, from_peer| Side {
        connection: Connection::new(role, &config, now()),
        to_peer: Some(to_peer),
        from_peer,
        posted: VecDeque::new(),
        received: vec![Vec::new(); config.budget().recv_slots as usize],
        outgoing: BTreeMap::new(),
        incoming: Vec::new(),
        disconnected: false,
    };
    let ((to_acceptor, from_initiator), (to_initiator, from_acceptor)) = (channel(), channel());
    let acceptor = end(Role::Acceptor, to_initiator, from_initiator);
    let acceptor = thread::spawn(|| acceptor.run());
    end(Role::Initiator, to_acceptor, from_acceptor).run()?;
    acceptor.join().map_err(|_| "the acceptor panicked")?
}
