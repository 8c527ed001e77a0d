//! The record of an input, for the checks of lines.

use alloc::vec::Vec;
use core::fmt;

use crate::error::{ConnectReason, DisconnectReason, WorkError};
use crate::{BufferDescriptorV1, Head, Input, Limits, RdmaId, RecvId, RegId, SendId, Token, WrId};

/// An [`Input`] that owns what it says; a received message with its bytes.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Connected(Limits),
    ConnectFailed(ConnectReason),
    Disconnected(DisconnectReason),
    Timeout,
    Received { id: RecvId, head: Head, len: u32, invalidated: Option<Token>, bytes: Vec<u8> },
    Sent(SendId),
    RdmaDone(RdmaId),
    Registered { id: RegId, segments: Vec<BufferDescriptorV1>, bind_complete: bool },
    BindComplete(RegId),
    Deregistered(RegId),
    Failed(WrId, WorkError),
}

impl Seen {
    pub(super) fn of(input: &Input<'_>) -> Self {
        match *input {
            Input::Connected { limits } => Self::Connected(limits),
            Input::ConnectFailed { reason } => Self::ConnectFailed(reason),
            Input::Disconnected { reason } => Self::Disconnected(reason),
            Input::Timeout => Self::Timeout,
            Input::Received { id, head, len, invalidated } => {
                Self::Received { id, head, len, invalidated, bytes: Vec::new() }
            }
            Input::Sent { id } => Self::Sent(id),
            Input::RdmaDone { id } => Self::RdmaDone(id),
            Input::Registered { id, segments, bind_complete } => {
                Self::Registered { id, segments: segments.to_vec(), bind_complete }
            }
            Input::BindComplete { id } => Self::BindComplete(id),
            Input::Deregistered { id } => Self::Deregistered(id),
            Input::Failed { id, error } => Self::Failed(id, error),
        }
    }

    /// The work it is about.
    pub(super) fn work(&self) -> Option<WrId> {
        Some(match *self {
            Self::Received { id, .. } => id.into(),
            Self::Sent(id) => id.into(),
            Self::RdmaDone(id) => id.into(),
            Self::Registered { id, .. } | Self::BindComplete(id) | Self::Deregistered(id) => id.into(),
            Self::Failed(id, _) => id,
            Self::Connected(_) | Self::ConnectFailed(_) | Self::Disconnected(_) | Self::Timeout => {
                return None;
            }
        })
    }

    /// The receive and the bytes, if it says that a message came.
    pub(super) fn message(&self) -> Option<(RecvId, &[u8])> {
        if let Self::Received { id, bytes, .. } = self { Some((*id, bytes)) } else { None }
    }

    /// Whether it says that the transport connection is gone.
    pub(super) const fn is_disconnected(&self) -> bool {
        self.disconnect_reason().is_some()
    }

    /// Why the transport connection is gone, if it says that.
    pub(super) const fn disconnect_reason(&self) -> Option<DisconnectReason> {
        if let Self::Disconnected(reason) = self { Some(*reason) } else { None }
    }

    /// Whether it says that the connection is over or about to be.
    pub(super) const fn is_end(&self) -> bool {
        matches!(self, Self::Disconnected(_) | Self::ConnectFailed(_) | Self::Failed(..))
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected(_) => f.write_str("Connected"),
            Self::ConnectFailed(reason) => write!(f, "ConnectFailed({reason:?})"),
            Self::Disconnected(reason) => write!(f, "Disconnected({reason:?})"),
            Self::Timeout => f.write_str("Timeout"),
            Self::Received { id, len, invalidated, .. } => {
                write!(f, "Received({id:?}, {len} bytes")?;
                invalidated.map_or(Ok(()), |token| write!(f, ", invalidated {token}"))?;
                f.write_str(")")
            }
            Self::Sent(id) => write!(f, "Sent({id:?})"),
            Self::RdmaDone(id) => write!(f, "RdmaDone({id:?})"),
            Self::Registered { id, segments, bind_complete } => {
                write!(f, "Registered({id:?}, {} segments, bind_complete: {bind_complete})", segments.len())
            }
            Self::BindComplete(id) => write!(f, "BindComplete({id:?})"),
            Self::Deregistered(id) => write!(f, "Deregistered({id:?})"),
            Self::Failed(id, error) => write!(f, "Failed({id}, {error:?})"),
        }
    }
}
