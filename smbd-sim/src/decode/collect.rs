//! Collects the items that the transports find, and makes the report.

use smbd_core::wire::Token;

use super::file::FileError;
use super::item::{
    Connection, Direction, Endpoint, Frames, Item, ItemKind, Message, RdmaKind, RdmaOperation, Roles,
    Transport,
};
use super::report::Report;
use super::session::{Session, Side};
use super::summary::{Counters, Summary};
use super::{MESSAGE_MAX, Options};

/// A sender on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) connection: usize,
    pub(super) side: Side,
}

impl Flow {
    pub(super) fn reversed(self) -> Self {
        Self { side: self.side.other(), ..self }
    }
}

/// The frame at hand; number 0 is none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    pub(super) frame: u64,
    pub(super) time_ns: u64,
}

impl Mark {
    pub(super) fn frames(self) -> Frames {
        Frames {
            first: self.frame,
            last: self.frame,
            packets: 1,
            first_ns: self.time_ns,
            last_ns: self.time_ns,
        }
    }
}

/// A Send, complete or as far as captured.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) frames: Frames,
    pub(super) bytes: Vec<u8>,
    /// Bytes on the wire.
    pub(super) len: u64,
    pub(super) invalidate: Option<u32>,
    pub(super) solicited: bool,
}

impl Send {
    /// One that begins in these frames.
    pub(super) fn begin(frames: Frames) -> Self {
        Self { frames: frames.begin(), bytes: Vec::new(), len: 0, invalidate: None, solicited: false }
    }

    /// Its next bytes, of which the capture cut off so many.
    pub(super) fn add(&mut self, frames: &Frames, bytes: &[u8], missing: usize) {
        self.frames.add(frames);
        // Bytes behind a hole or above the limit would stand at the wrong place.
        if self.bytes.len() as u64 == self.len && self.bytes.len() + bytes.len() <= MESSAGE_MAX {
            self.bytes.extend_from_slice(bytes);
        }
        self.len += (bytes.len() + missing) as u64;
    }
}

#[derive(Debug)]
pub(super) struct ConnectionState {
    pub(super) transport: Transport,
    pub(super) ends: [Endpoint; 2],
    pub(super) initiator: Option<Side>,
    pub(super) session: Session,
    pub(super) ended_ns: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Collector {
    pub(super) connections: Vec<ConnectionState>,
    pub(super) counters: Counters,
    items: Vec<Item>,
    options: Options,
}

/// FNV-1a, 64 bits.
fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Collector {
    pub(super) fn new(options: Options) -> Self {
        Self { connections: Vec::new(), counters: Counters::default(), items: Vec::new(), options }
    }

    /// Adds a connection whose set-up was not seen; the first end is side A.
    pub(super) fn open(&mut self, transport: Transport, ends: [Endpoint; 2]) -> usize {
        let session = Session::from_middle();
        self.connections.push(ConnectionState { transport, ends, initiator: None, session, ended_ns: None });
        self.connections.len() - 1
    }

    /// Adds a connection of which the initiator's (side A) request was seen.
    pub(super) fn open_from_start(&mut self, transport: Transport, ends: [Endpoint; 2]) -> usize {
        let index = self.open(transport, ends);
        self.connections[index].initiator = Some(Side::A);
        self.connections[index].session = Session::from_start(Side::A, ends[1].port);
        index
    }

    /// Adds an item that is complete, or an operation that [`Self::rdma_mut`] completes.
    pub(super) fn item(&mut self, flow: Flow, frames: Frames, kind: ItemKind) -> usize {
        let direction = match flow.side {
            Side::A => Direction::ToAcceptor,
            Side::B => Direction::ToInitiator,
        };
        self.items.push(Item { number: 0, frames, connection: flow.connection + 1, direction, kind });
        self.items.len() - 1
    }

    pub(super) fn rdma(&mut self, flow: Flow, frames: Frames, operation: RdmaOperation) -> usize {
        if operation.kind != RdmaKind::ReadResponse {
            self.connections[flow.connection].session.rdma_request(flow.side);
        }
        self.item(flow, frames, ItemKind::Rdma(operation))
    }

    /// An operation that is not complete, with its frames.
    pub(super) fn rdma_mut(&mut self, item: usize) -> Option<(&mut Frames, &mut RdmaOperation)> {
        match self.items.get_mut(item) {
            Some(Item { kind: ItemKind::Rdma(operation), frames, .. }) => Some((frames, operation)),
            _ => None,
        }
    }

    pub(super) fn send(&mut self, flow: Flow, send: Send) {
        let session = &mut self.connections[flow.connection].session;
        let Some(found) = session.message(flow.side, &send.bytes, send.len) else {
            self.counters.foreign_messages += 1;
            return;
        };
        let message = Message {
            body: found.body,
            identified: found.identified,
            ordinal: found.ordinal,
            invalidate: send.invalidate.map(Token),
            solicited: send.solicited,
            len: send.len,
            digest: digest(&send.bytes),
            bytes: if self.options.keep_bytes { send.bytes } else { Vec::new() },
            fragment: found.fragment,
            upper: found.upper,
            remarks: found.remarks,
        };
        self.item(flow, send.frames, ItemKind::Message(message));
    }

    /// A side of the connection ends it.
    pub(super) fn ended(&mut self, connection: usize, mark: Mark) {
        self.connections[connection].ended_ns.get_or_insert(mark.time_ns);
    }

    /// `count` packets or bytes of `flow` are not in the capture.
    pub(super) fn lost(&mut self, flow: Flow, mark: Mark, count: u64, unit: &'static str) {
        self.connections[flow.connection].session.lost(flow.side);
        self.item(flow, mark.frames(), ItemKind::Lost { count, unit });
    }

    pub(super) fn finish(self, problem: Option<FileError>) -> Report {
        let mut items = self.items;
        let before = items.len();
        // Of other protocols only the connection itself is of interest.
        items.retain(|item| {
            let foreign = self.connections[item.connection - 1].session.is_foreign();
            !(foreign && matches!(item.kind, ItemKind::Rdma(_)))
        });
        let mut counters = self.counters;
        counters.foreign_operations += (before - items.len()) as u64;
        let mut connections = Vec::with_capacity(self.connections.len());
        let mut reversed = Vec::with_capacity(self.connections.len());
        for (index, state) in self.connections.into_iter().enumerate() {
            let (initiator, roles) = match (state.initiator, state.session.hint()) {
                (Some(side), _) => (side, Roles::Seen),
                (None, Some(side)) => (side, Roles::FromContent),
                (None, None) => (Side::A, Roles::Assumed),
            };
            reversed.push(initiator == Side::B);
            connections.push(Connection {
                number: index + 1,
                transport: state.transport,
                initiator: state.ends[initiator.index()],
                acceptor: state.ends[initiator.other().index()],
                roles,
                from_start: state.initiator.is_some(),
                smb_direct: state.session.is_smb_direct(),
                ended_ns: state.ended_ns,
            });
        }
        items.sort_by_key(|item| item.frames.last);
        for (item, number) in items.iter_mut().zip(1..) {
            item.number = number;
            if reversed[item.connection - 1] {
                item.direction = item.direction.reversed();
            }
        }
        let summary = Summary::of(&items, counters);
        Report { connections, items, summary, problem }
    }
}
