use smbd_core::backend::ShortReceive;
use smbd_core::error::WorkError;
use smbd_core::{Instant, Misuse, MsgId, RdmaVerb, Token, WrId};
use thiserror::Error;

/// A rule of the device, of memory or of the interface between core and backend that was broken.
///
/// Real hardware lets some of them pass, crashes on others, and is only undefined on the rest: a correct endpoint
/// causes none, whatever its peer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Breach {
    /// More work requests than the send queue holds.
    #[error("{work} posted to a send queue of {depth} that is full")]
    SendQueueOverflow {
        /// The work request too many.
        work: WrId,
        /// Depth of the queue.
        depth: u32,
    },
    /// More receives than the receive queue holds.
    #[error("{work} posted to a receive queue of {depth} that is full")]
    ReceiveQueueOverflow {
        /// The work request too many.
        work: WrId,
        /// Depth of the queue.
        depth: u32,
    },
    /// More completions than a completion queue holds.
    #[error("completion queue of {depth} entries overrun")]
    CompletionQueueOverrun {
        /// Its entries.
        depth: u32,
    },
    /// A send or RDMA request before the queue pair could send.
    #[error("{0} posted before the queue pair can send")]
    PostBeforeReady(WrId),
    /// A receive longer than its buffer.
    #[error("{work} asks for {len} bytes in a receive buffer of {max}")]
    ReceiveBuffer {
        /// The receive.
        work: WrId,
        /// Bytes asked for.
        len: u32,
        /// Bytes of a receive buffer.
        max: u32,
    },
    /// More RDMA Reads at once than the connection allows.
    #[error("{work} is one RDMA Read more than the read depth of {depth}")]
    ReadDepth {
        /// The request too many.
        work: WrId,
        /// The depth.
        depth: u16,
    },
    /// An RDMA request longer than the device carries.
    #[error("{work} carries {len} bytes, at most {max} are possible")]
    RdmaLength {
        /// The request.
        work: WrId,
        /// Its length in bytes.
        len: u32,
        /// Longest possible one.
        max: u32,
    },
    /// Send-with-invalidate on a device without it.
    #[error("{0} invalidates a token, which this device cannot")]
    NoInvalidate(WrId),
    /// A token of a window that is no longer bound was invalidated: real drivers have crashed here.
    #[error("{0} was invalidated a second time")]
    DoubleInvalidation(Token),
    /// A token that is no window of this connection was invalidated.
    #[error("{0} was invalidated, which is no memory window of this connection")]
    InvalidatedNoWindow(Token),
    /// The peer was not allowed what it tried: no such token, dead, of another connection, out of bounds, no right.
    #[error("remote access by {token} at 0x{offset:x}, {len} bytes: {fault}")]
    Access {
        /// The token used.
        token: Token,
        /// Where.
        offset: u64,
        /// How many bytes.
        len: u32,
        /// What is wrong with it.
        fault: AccessFault,
    },
    /// A registration was said to be over, and the peer can still reach its memory.
    #[error("{0} is still valid, and its registration is said to be over")]
    LeftOpen(Token),
    /// Local memory named by a work request that does not cover it.
    #[error("{work} reaches beyond its local buffer")]
    LocalRange {
        /// The request.
        work: WrId,
    },
    /// Memory written, or freed, while the device may still use it.
    #[error("buffer {buffer} was {what} while the device may still use it")]
    InUse {
        /// Index of the buffer.
        buffer: u32,
        /// What was done to it.
        what: &'static str,
    },
    /// Memory used after it was freed.
    #[error("buffer {buffer} was used after it was freed")]
    UseAfterFree {
        /// Index of the buffer.
        buffer: u32,
    },
    /// The message had no receive waiting for it.
    #[error("a message arrived with no receive posted")]
    ReceiverNotReady,
    /// The message was longer than the receive it met.
    #[error("a message of {len} bytes met a receive of {max}")]
    ReceiveTooSmall {
        /// Length of the message.
        len: u32,
        /// Length of the receive.
        max: u32,
    },
    /// The connection called an input of the backend senseless.
    #[error("refused by the connection: {0}")]
    Misuse(Misuse),
    /// An action that may be polled only once was polled again, or at the wrong time.
    #[error("{0} polled again or out of place")]
    Action(&'static str),
    /// The connection polled on without ever waiting.
    #[error("more than {0} actions without a wait")]
    Endless(u32),
    /// An action names a message, an operation or a registration without memory.
    #[error("{0} has no memory")]
    UnknownBuffer(WrId),
    /// A fragment is not in the receive buffer it was reported in.
    #[error("{0}")]
    ShortReceive(ShortReceive),
    /// The queues of what is posted refused a request for which the device has room.
    #[error("{0} was refused, and there is room for it")]
    RefusedWithRoom(WrId),
    /// The queues report what did not happen: the wrong request, the wrong result, or one a second time.
    #[error("{work} was reported as {result:?}, which is not what became of it")]
    Report {
        /// The request.
        work: WrId,
        /// What was reported.
        result: Result<(), WorkError>,
    },
    /// The queues say nothing of a request that is complete.
    #[error("{0} is complete, and was not reported")]
    NotReported(WrId),
    /// A completion was refused by the queues of what is posted.
    #[error("the completion of what is posted was refused: {0}")]
    Completion(Misuse),
    /// The end of the connection was reported before what the device had completed.
    #[error("the end was reported before everything that came before it")]
    EndTooEarly,
    /// News of the connection manager were not reported, or twice.
    #[error("{0}: not reported, or not as it was")]
    LinkReport(&'static str),
    /// A promise of [`Endpoint`](smbd_core::Endpoint) was broken.
    #[error("endpoint: {0}")]
    Endpoint(EndpointFault),
    /// Whoever drives left something undone.
    #[error("driven wrongly: {0}")]
    Drive(DriveFault),
}

/// What was wrong with a turn of the loop between connection and backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DriveFault {
    /// Chained requests were left without a doorbell.
    #[error("it waits with requests chained and no doorbell rung")]
    NoDoorbell,
    /// Inputs were not handed over, or more than there were.
    #[error("the backend gave {given} inputs, the connection took {taken}")]
    Inputs {
        /// Given by the backend.
        given: u64,
        /// Taken by the connection.
        taken: u64,
    },
    /// The time had come that the connection waited for, and it was not told, or asked on before.
    #[error("the time had come that the connection waits for, and it was not told")]
    NotTold,
    /// It waits for another time than the connection.
    #[error("it waits until {until:?}, the connection until {deadline:?}")]
    Waits {
        /// When whoever drives comes back.
        until: Option<Instant>,
        /// When it has to.
        deadline: Option<Instant>,
    },
    /// The time was told before what the backend had by then.
    #[error("the time was told before the inputs that were there")]
    Order,
    /// A step for the backend is not what its action asks for.
    #[error("a step is not what its action asks for")]
    BackendOp,
    /// The backend was not asked for inputs before the next round.
    #[error("a round went by in which the backend was not asked for inputs")]
    NotAsked,
    /// The connection was not asked until it waited.
    #[error("the connection was not asked until it waited")]
    Unheard,
}

/// What an endpoint did otherwise than it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointFault {
    /// The bytes of a message did not come back with its result.
    #[error("the bytes of {0:?} did not come back with its result")]
    Payload(MsgId),
    /// The bytes of a message that was not taken did not come back.
    #[error("the bytes of a message that was not taken did not come back")]
    NotSent,
    /// The reassembly buffer is larger than what has arrived explains.
    #[error(
        "{capacity} bytes are kept for reassembly, and no more than {arrived} of one message have arrived"
    )]
    Memory {
        /// Bytes kept.
        capacity: usize,
        /// Most bytes of one message that have arrived.
        arrived: usize,
    },
}

impl Breach {
    pub(crate) fn of_invalidation(token: Token, fault: AccessFault) -> Self {
        if fault == AccessFault::Dead {
            Self::DoubleInvalidation(token)
        } else {
            Self::InvalidatedNoWindow(token)
        }
    }
}

/// The first breaches of a run, and how many there were.
#[derive(Clone, Debug, Default)]
pub struct Breaches {
    first: Vec<Breach>,
    count: u64,
}

impl Breaches {
    /// How many are kept.
    pub const KEPT: usize = 64;

    /// Records one.
    pub fn record(&mut self, breach: Breach) {
        self.count += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(breach);
        }
    }

    /// The first [`Self::KEPT`], in order.
    #[must_use]
    pub fn first(&self) -> &[Breach] {
        &self.first
    }

    /// How many there were.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether there was none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Why an access by token was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AccessFault {
    /// No such token was ever given out.
    #[error("unknown token")]
    Unknown,
    /// The token is deregistered or invalidated.
    #[error("token no longer valid")]
    Dead,
    /// The token belongs to another connection.
    #[error("token of another protection domain")]
    ForeignDomain,
    /// The range is not inside the registered one.
    #[error("out of bounds")]
    OutOfBounds,
    /// The right was not given.
    #[error("no right to {}", match .0 { RdmaVerb::Read => "read", RdmaVerb::Write => "write" })]
    NoRight(RdmaVerb),
    /// A token that is no window was to be invalidated.
    #[error("not a memory window")]
    NoWindow,
    /// The memory behind the token was freed.
    #[error("memory was freed")]
    Freed,
}
