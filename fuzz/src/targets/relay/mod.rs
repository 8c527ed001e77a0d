//! A gateway between a client and a server that say anything.

mod elements;
mod pieces;
mod reverse;

use std::collections::BTreeSet;

use arbitrary::{Arbitrary, Unstructured};
pub use reverse::reverse;
use smbd_smb2::relay::{
    Action, Arrived, BufferId, ClientBytes, Config, Event, Params, Relay, Room, Side, Source, Transfer, Way,
};
use smbd_smb2::wire::Token;

use self::elements::{Element, message};
use self::pieces::Pieces;
use crate::replay::trace;

/// Room is kept, pieces make messages, buffers are used once at a time, and after the end nothing comes.
pub fn relay(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Some(mut rig) = Rig::new(&mut data) else { return };
    while !data.is_empty() {
        let Ok(step) = Step::arbitrary(&mut data) else { return };
        trace(format_args!("{step:?}"));
        rig.play(&step);
    }
}

#[derive(Debug, Arbitrary)]
enum Step {
    /// A message of the client, of elements, with bytes that were changed.
    Request {
        elements: Vec<Element>,
        changes: [(u8, u8); 2],
        cut: u8,
    },
    /// A message of the server.
    Answer {
        elements: Vec<Element>,
        changes: [(u8, u8); 2],
    },
    /// Bytes of either side.
    Bytes {
        is_server: bool,
        bytes: Vec<u8>,
        remaining: u8,
    },
    Poll {
        client: u16,
        server: u16,
        times: u8,
    },
    /// An RDMA operation, or bytes sent, come to an end.
    End {
        which: u8,
        is_success: bool,
    },
    /// One that nobody knows.
    Invented {
        buffer: u8,
        is_read: bool,
        len: Option<u8>,
    },
    Ended {
        is_client: bool,
    },
}

struct Rig {
    relay: Relay,
    pieces: Pieces,
    server: Vec<u8>,
    /// What an RDMA operation runs on, and what waits to be sent.
    busy: BTreeSet<BufferId>,
    sent: Vec<(BufferId, u32)>,
    /// What remains of a message to the client, and its token.
    message: Option<(u32, Option<Token>)>,
    is_closed: bool,
}

impl Rig {
    fn new(data: &mut Unstructured<'_>) -> Option<Self> {
        let [held, buffer, buffers, fragmented, most] = <[u8; 5]>::arbitrary(data).ok()?.map(u32::from);
        let params = Params {
            held_max: 256 + held * 8,
            buffer_len: 1 + buffer * 4,
            budget: (256 + held * 8) * 3 + (1 + buffer * 4) * (1 + buffers % 8),
            max_fragmented_size: 256 + fragmented * 16,
            max_read_write_size: most * 64,
            descriptors_max: 1 + most / 4,
            requests_max: 1 + fragmented / 4,
        };
        let relay = Relay::new(&Config::new(&params).expect("possible"));
        let (pieces, server, busy, sent) = (Pieces::default(), Vec::new(), BTreeSet::new(), Vec::new());
        Some(Self { relay, pieces, server, busy, sent, message: None, is_closed: false })
    }

    fn play(&mut self, step: &Step) {
        match step {
            Step::Request { elements, changes, cut } => {
                self.pieces.message(&message(elements, *changes, false), usize::from(*cut) + 1);
            }
            Step::Answer { elements, changes } => {
                let message = message(elements, *changes, true);
                self.server.extend_from_slice(&(message.len() as u32).to_be_bytes());
                self.server.extend_from_slice(&message);
            }
            Step::Bytes { is_server: true, bytes, .. } => self.server.extend_from_slice(bytes),
            Step::Bytes { bytes, remaining, .. } => self.pieces.begin(bytes, *remaining),
            Step::Poll { client, server, times } => {
                let room = Room { client: (*client).into(), server: (*server).into() };
                for _ in 0..*times {
                    if !self.poll(room) {
                        break;
                    }
                }
            }
            Step::End { which, is_success } => self.end(usize::from(*which), *is_success),
            Step::Invented { buffer, is_read, len } => self.invent(*buffer, *is_read, *len),
            Step::Ended { is_client } => {
                let side = if *is_client { Side::Client } else { Side::Server };
                self.relay.handle(Event::Ended(side)).expect("always possible");
            }
        }
    }

    fn end(&mut self, which: usize, is_success: bool) {
        if let Some(&buffer) = self.busy.iter().nth(which % (self.busy.len() + 1)) {
            self.busy.remove(&buffer);
            self.relay.handle(Event::RdmaDone { buffer, is_success }).expect("it runs");
        } else if !self.sent.is_empty() {
            let (buffer, len) = self.sent.remove(which % self.sent.len());
            self.relay.handle(Event::Sent { buffer, len }).expect("it was given");
        }
    }

    fn invent(&mut self, index: u8, is_read: bool, len: Option<u8>) {
        let way = if is_read { Way::ToServer } else { Way::ToClient };
        let buffer = BufferId { way, index: index.into() };
        let event = match len {
            Some(len) => Event::Sent { buffer, len: u32::from(len) + 1 },
            None => Event::RdmaDone { buffer, is_success: true },
        };
        let is_known = match len {
            Some(_) => self.sent.iter().any(|(sent, _)| *sent == buffer),
            None => self.busy.contains(&buffer),
        };
        if !is_known {
            let answer = self.relay.handle(event);
            assert!(
                answer.is_err()
                    || self.is_closed
                    || matches!(self.relay.poll(&mut Arrived::default(), Room::default()), Action::Close(_))
            );
            self.is_closed |= answer.is_ok();
        }
    }

    /// Whether the relay did something.
    fn poll(&mut self, room: Room) -> bool {
        let (bytes, remaining) = self.pieces.front();
        let (offered, stream) = (bytes.len(), self.server.len());
        let mut arrived = Arrived { client: ClientBytes { bytes, remaining }, server: &self.server };
        let action = self.relay.poll(&mut arrived, room);
        trace(format_args!("{action:?}"));
        assert!(!self.is_closed || matches!(action, Action::Idle(_)), "after the end: {action:?}");
        let mut goes_on = true;
        match action {
            Action::ToServer(source) => {
                assert!(!source.is_empty() && source.len() <= room.server);
                if let Source::Buffer { buffer, len, .. } = source {
                    assert!(!self.busy.contains(&buffer));
                    self.sent.push((buffer, len));
                }
            }
            Action::ToClient { write, bytes, remaining, invalidate } => {
                assert!(!bytes.is_empty() && bytes.len() <= room.client);
                let all = bytes.len() as u32 + remaining;
                assert!(all <= self.relay.config().params().max_fragmented_size);
                assert_eq!(self.message.unwrap_or((all, invalidate)), (all, invalidate));
                self.message = (remaining > 0).then_some((remaining, invalidate));
                if let Some(transfer) = write {
                    begin(self.relay.config(), &mut self.busy, &transfer, Way::ToClient);
                }
            }
            Action::RdmaRead(transfer) => {
                begin(self.relay.config(), &mut self.busy, &transfer, Way::ToServer)
            }
            Action::RdmaWrite(transfer) => {
                begin(self.relay.config(), &mut self.busy, &transfer, Way::ToClient)
            }
            Action::Store { buffer, offset, bytes } => {
                assert!(!bytes.is_empty() && !self.busy.contains(&buffer));
                let end = offset as usize + bytes.len();
                assert!(end <= self.relay.config().params().buffer_len as usize);
            }
            Action::Idle(idle) => {
                assert_eq!(idle.pause_client, !arrived.client.bytes.is_empty());
                assert_eq!(idle.pause_server, !arrived.server.is_empty());
                goes_on = arrived.client.bytes.len() < offered || arrived.server.len() < stream;
            }
            Action::Close(reason) => {
                assert!(reason.to_string().len() < 300);
                self.is_closed = true;
            }
        }
        let (client, server) = (arrived.client.bytes.len(), arrived.server.len());
        self.server.drain(..stream - server);
        self.pieces.leave(client);
        goes_on
    }
}

/// An RDMA operation begins.
fn begin(config: &Config, busy: &mut BTreeSet<BufferId>, transfer: &Transfer, way: Way) {
    assert!(transfer.buffer.way == way && transfer.buffer.index < config.buffers());
    assert!((1..=config.params().buffer_len).contains(&transfer.len));
    let total: u64 = transfer.remote.iter().map(|descriptor| u64::from(descriptor.length)).sum();
    assert!(transfer.offset + u64::from(transfer.len) <= total);
    assert!(busy.insert(transfer.buffer), "{transfer:?} is under way");
}
