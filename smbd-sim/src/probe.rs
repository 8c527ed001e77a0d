//! Watching a run from inside: inputs, actions, commands, and frames on the wire.

use smbd_core::{
    Access, Action, BufferDescriptorV1, Close, Event, Fragment, Head, Input, Instant, Misuse, MsgId, OpId,
    RdmaVerb, RegId, Token,
};

use crate::Side;
use crate::error::CommandRefused;
use crate::memory::Range;
use crate::nic::Personality;

/// Where and when something was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Virtual time.
    pub now: Instant,
    /// The host.
    pub side: Side,
}

/// Watches a run from inside. Every method may be left out; `()` watches nothing and costs nothing.
pub trait Probe {
    /// A connection took an input.
    fn input(&mut self, at: At, input: &Input<'_>, result: Result<(), Misuse>) {
        let _ = (at, input, result);
    }

    /// A connection yielded an action (`Wait` too), before it is carried out. What it tells its upper layer comes by
    /// [`event`](Self::event).
    fn action(&mut self, at: At, action: &Action) {
        let _ = (at, action);
    }

    /// A connection tells its upper layer something.
    fn event(&mut self, at: At, event: &Event) {
        let _ = (at, event);
    }

    /// The connection that begins hands up whole messages: [`whole`](Self::whole) instead of events with fragments.
    fn begin_whole(&mut self, at: At) {
        let _ = at;
    }

    /// The connection that begins hands up each fragment by [`whole`](Self::whole), always borrowed.
    fn begin_pieces(&mut self, at: At) {
        let _ = at;
    }

    /// An endpoint was told to hand up no messages, or to hand them up again.
    fn paused(&mut self, at: At, paused: bool) {
        let _ = (at, paused);
    }

    /// An endpoint handed up a message. The fragments of those that are copied were given back before.
    fn whole(&mut self, at: At, message: &Whole<'_>) {
        let _ = (at, message);
    }

    /// Most bytes of one message that have arrived on a side; `None` if that is not counted.
    fn arrived(&self, side: Side) -> Option<usize> {
        let _ = side;
        None
    }

    /// An upper layer gave a command.
    fn command(&mut self, at: At, command: &Command<'_>) {
        let _ = (at, command);
    }

    /// Something happened below that the connection may end of without anybody's disconnect: a fault that was arranged, or a
    /// device that ends it for what the other one did.
    fn disturbed(&mut self) {}

    /// The process of a side is gone, and its system ends the connection for it.
    fn killed(&mut self, side: Side) {
        let _ = side;
    }

    /// Whether [`frame`](Self::frame) is to be called.
    fn wants_frames(&self) -> bool {
        false
    }

    /// A frame left a host.
    fn frame(&mut self, at: At, frame: &Frame<'_>) {
        let _ = (at, frame);
    }
}

impl Probe for () {}

impl<A: Probe, B: Probe> Probe for (A, B) {
    fn disturbed(&mut self) {
        self.0.disturbed();
        self.1.disturbed();
    }

    fn killed(&mut self, side: Side) {
        self.0.killed(side);
        self.1.killed(side);
    }

    fn begin_whole(&mut self, at: At) {
        self.0.begin_whole(at);
        self.1.begin_whole(at);
    }

    fn begin_pieces(&mut self, at: At) {
        self.0.begin_pieces(at);
        self.1.begin_pieces(at);
    }

    fn paused(&mut self, at: At, paused: bool) {
        self.0.paused(at, paused);
        self.1.paused(at, paused);
    }

    fn whole(&mut self, at: At, message: &Whole<'_>) {
        self.0.whole(at, message);
        self.1.whole(at, message);
    }

    fn arrived(&self, side: Side) -> Option<usize> {
        self.0.arrived(side).or_else(|| self.1.arrived(side))
    }

    fn input(&mut self, at: At, input: &Input<'_>, result: Result<(), Misuse>) {
        self.0.input(at, input, result);
        self.1.input(at, input, result);
    }

    fn action(&mut self, at: At, action: &Action) {
        self.0.action(at, action);
        self.1.action(at, action);
    }

    fn event(&mut self, at: At, event: &Event) {
        self.0.event(at, event);
        self.1.event(at, event);
    }

    fn command(&mut self, at: At, command: &Command<'_>) {
        self.0.command(at, command);
        self.1.command(at, command);
    }

    fn wants_frames(&self) -> bool {
        self.0.wants_frames() || self.1.wants_frames()
    }

    fn frame(&mut self, at: At, frame: &Frame<'_>) {
        self.0.frame(at, frame);
        self.1.frame(at, frame);
    }
}

/// A whole message that an endpoint hands up; of one in pieces, a fragment.
#[derive(Clone, Copy, Debug)]
pub struct Whole<'a> {
    /// Its length in bytes.
    pub len: u32,
    /// Where it lies, if it was not copied.
    pub borrowed: Option<&'a Fragment>,
}

/// A command of an upper layer, with what came of it.
#[derive(Debug)]
pub enum Command<'a> {
    /// `send`, or `send_unsignalled`.
    Send {
        /// The message.
        range: Range,
        /// The token to invalidate with it.
        invalidate: Option<Token>,
        /// Its result is not waited for.
        unsignalled: bool,
        /// What came of it.
        result: Result<MsgId, CommandRefused>,
    },
    /// `rdma`, or `rdma_unsignalled`.
    Rdma {
        /// Read or write.
        verb: RdmaVerb,
        /// The local buffer.
        local: Range,
        /// The peer's buffer.
        remote: &'a [BufferDescriptorV1],
        /// Where in it.
        offset: u64,
        /// Its result may come with that of something later.
        unsignalled: bool,
        /// What came of it.
        result: Result<OpId, CommandRefused>,
    },
    /// `register`.
    Register {
        /// Rights.
        access: Access,
        /// The buffer.
        range: Range,
        /// Most segments.
        segments_max: u16,
        /// What came of it.
        result: Result<RegId, CommandRefused>,
    },
    /// `deregister`.
    Deregister {
        /// The registration.
        id: RegId,
        /// What came of it.
        result: Result<(), CommandRefused>,
    },
    /// `release`.
    Release {
        /// The fragment, as it was.
        fragment: &'a Fragment,
    },
    /// `probe`.
    Probe {
        /// What came of it.
        result: Result<(), CommandRefused>,
    },
    /// `close`.
    Close(Close),
}

/// What leaves a device for the wire.
#[derive(Debug)]
pub enum Frame<'a> {
    /// Asks for a connection.
    Connect {
        /// Which kind of network.
        personality: Personality,
        /// RDMA Reads offered.
        read_depth: u16,
    },
    /// Takes it.
    Accept {
        /// RDMA Reads settled on.
        read_depth: u16,
    },
    /// Does not take it.
    Reject,
    /// Ends the connection.
    Disconnect,
    /// A message.
    Send {
        /// Number of the work request.
        seq: u64,
        /// Its first bytes.
        head: &'a Head,
        /// The rest; empty without content.
        body: &'a [u8],
        /// Length of the rest in bytes.
        body_len: u32,
        /// A token to invalidate.
        invalidate: Option<Token>,
        /// Asks for a solicited event.
        solicit: bool,
    },
    /// An RDMA Write.
    Write {
        /// Number of the work request.
        seq: u64,
        /// Where to.
        remote: BufferDescriptorV1,
        /// The bytes; empty without content.
        payload: &'a [u8],
    },
    /// An RDMA Read request.
    Read {
        /// Number of the work request.
        seq: u64,
        /// Where from.
        remote: BufferDescriptorV1,
        /// Where to, on iWARP.
        sink: Option<BufferDescriptorV1>,
    },
    /// The data of an RDMA Read.
    ReadData {
        /// Number of the work request that asked.
        seq: u64,
        /// The bytes; empty without content.
        payload: &'a [u8],
    },
    /// All work requests numbered below `upto` are acknowledged.
    Ack {
        /// First number not acknowledged.
        upto: u64,
    },
    /// A work request is refused.
    Nak {
        /// Its number.
        seq: u64,
        /// How it completes.
        error: smbd_core::error::WorkError,
    },
    /// The stream is ended.
    Terminate {
        /// What it was that broke a rule.
        error: smbd_core::error::WorkError,
    },
}
