//! The subject's upper layer, if it is part of this program.

use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::{
    Aborted, CloseReason, ConnectError, OpError, ProbeError, RdmaError, RegisterError, RegistrationError,
    SendError, WorkError,
};
use smbd_core::{
    Access, BufferDescriptorV1, Endpoint, Instant, MsgId, Negotiated, OpId, RdmaVerb, RegId, Token, WrId,
};

use super::Unable;

/// What an upper layer was told: an `EndpointEvent` that can be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Negotiation succeeded.
    Established(Negotiated),
    /// The connection did not come about.
    ConnectFailed(ConnectError),
    /// A message.
    Message(Bytes),
    /// The peer invalidated a token.
    Invalidated(RegId, Token),
    /// A message was sent, or not.
    Sent(MsgId, Result<(), Aborted>),
    /// An RDMA operation ended.
    RdmaDone(OpId, Result<(), OpError>),
    /// A registration is valid, or not.
    Registered(RegId, Result<(), RegistrationError>),
    /// A registration is gone, or not.
    Deregistered(RegId, Result<(), RegistrationError>),
    /// The answer to a probe.
    Probed(Result<Duration, ProbeError>),
    /// There is room again.
    Writable,
    /// An established connection ended.
    Closed(CloseReason),
    /// All is over.
    Drained,
}

/// RDMA operations that the subject's device was seen to post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdmaSeen {
    /// When.
    pub at: Instant,
    /// Seen from the subject.
    pub verb: RdmaVerb,
    /// The script's memory.
    pub remote: BufferDescriptorV1,
    /// RDMA Reads under way when it was posted, itself included if it is one.
    pub reads: usize,
}

/// A look at the subject's upper layer and its device, and a hand in what they do. Unless [`by_hand`](Self::by_hand) was
/// called, the upper layer is the server of `smbd_tools::exercise`, which returns messages.
pub trait UpperHand {
    /// From now on messages are kept instead of returned, and commands come from the case alone.
    fn by_hand(&mut self);

    /// All that the upper layer was told, when.
    fn told(&self) -> &[(Instant, Told)];

    /// How many messages the subject's device had been given when the upper layer was told each of these.
    fn sends_when_told(&self) -> &[u64];

    /// The connection, to ask it things.
    fn endpoint(&self) -> &Endpoint;

    /// The connection, to command it things that need no memory.
    fn endpoint_mut(&mut self) -> &mut Endpoint;

    /// Sends a message.
    ///
    /// # Errors
    /// As `Endpoint::send`.
    fn send(&mut self, payload: Bytes, invalidate: Option<Token>) -> Result<MsgId, SendError>;

    /// Begins an RDMA operation on a local buffer that holds `bytes`.
    ///
    /// # Errors
    /// As `Endpoint::rdma`.
    fn rdma(
        &mut self,
        verb: RdmaVerb,
        bytes: &[u8],
        remote: &[BufferDescriptorV1],
        offset: u64,
    ) -> Result<OpId, RdmaError>;

    /// Registers a buffer that holds `bytes`, in as many segments as the device makes of it, 4 at most.
    ///
    /// # Errors
    /// As `Endpoint::register`.
    fn register(&mut self, bytes: &[u8], access: Access) -> Result<RegId, RegisterError>;

    /// Ends the peer's access to a registered buffer.
    ///
    /// # Errors
    /// As `Endpoint::deregister`.
    fn deregister(&mut self, id: RegId) -> Result<(), RegisterError>;

    /// The first bytes of the buffer of an operation or a registration.
    fn memory(&mut self, of: MemoryOf, len: usize) -> Option<Vec<u8>>;

    /// Messages that lie in their receive buffers are kept there, so many at most.
    fn hold(&mut self, fragments: usize);

    /// Gives back what is held.
    fn give_back(&mut self);

    /// The upper layer takes no messages any more, or takes them again.
    fn pause(&mut self, is_paused: bool);

    /// The subject's device takes so many more work requests of a kind and refuses the next one; whatever is posted behind
    /// that is flushed.
    ///
    /// # Errors
    /// It cannot be made to.
    fn refuse_after(&mut self, work: Work, accepted: usize) -> Result<(), Unable>;

    /// The subject's device breaks: all that is posted is flushed. The script's device is not told.
    ///
    /// # Errors
    /// There is no device yet.
    fn break_device(&mut self) -> Result<(), Unable>;

    /// Work that the subject's device reported as failed, in the order of its reports.
    fn failures(&self) -> &[(WrId, WorkError)];

    /// Sends this as soon as it is told that there is a connection, before it is told anything else.
    fn greet(&mut self, payload: Bytes);

    /// The subject's device fails so many deregistrations, and keeps the memory open.
    fn fail_deregistrations(&mut self, count: usize);

    /// RDMA requests posted, in order.
    fn rdma_seen(&self) -> &[RdmaSeen];

    /// Whether an RDMA Write is reported as done when the script's device has taken it (RoCE), or else when it is handed
    /// over (iWARP).
    fn acknowledges_writes(&self) -> bool;

    /// Memory that the device was seen to open to the script, in order.
    fn opened(&self) -> &[BufferDescriptorV1];

    /// The messages received, in order. Only [by hand](Self::by_hand).
    fn received(&self) -> Vec<Bytes> {
        let told = self.told().iter();
        told.filter_map(|(_, told)| if let Told::Message(bytes) = told { Some(bytes.clone()) } else { None })
            .collect()
    }
}

/// Work requests, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// All of them.
    Any,
    /// Messages.
    Sends,
    /// Receives.
    Receives,
    /// What opens and closes memory.
    Registrations,
}

/// Whose buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOf {
    /// Of an RDMA operation.
    Operation(OpId),
    /// Of a registration.
    Registration(RegId),
}
