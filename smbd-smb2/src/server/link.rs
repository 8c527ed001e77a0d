//! What belongs to one connection of a client (3.3.1.7).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::action::LinkId;
use super::negotiated::{Negotiated, Phase};
use super::session::Login;
use super::transport::Transport;
use super::window::Window;
use crate::security::RdmaTransforms;
use crate::wire::Dialect;

/// What is known of one connection. Sessions, files and what waits are shared by all connections of a client.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) id: LinkId,
    pub(super) transport: Transport,
    pub(super) phase: Phase,
    /// A NEGOTIATE of the past, whose answer was not told yet.
    pub(super) offered: Option<Vec<u8>>,
    pub(super) window: Window,
    /// Whether a message was encrypted.
    pub(super) was_encrypted: bool,
    /// When somebody has to have logged in; nothing when somebody has.
    pub(super) deadline: Option<u64>,
    /// Connection.PreauthSessionTable: sessions that are being bound to it.
    pub(super) bindings: BTreeMap<u64, Login>,
    /// It has ended, and its end is told or about to be.
    pub(super) is_over: bool,
}

impl Link {
    pub(super) fn new(id: LinkId, transport: Transport, credits_max: u16, deadline: Option<u64>) -> Self {
        Self {
            id,
            transport,
            phase: Phase::Start,
            offered: None,
            window: Window::new(credits_max),
            was_encrypted: false,
            deadline,
            bindings: BTreeMap::new(),
            is_over: false,
        }
    }

    /// What NEGOTIATE gave.
    pub(super) const fn negotiated(&self) -> Option<&Negotiated> {
        match &self.phase {
            Phase::Negotiated(negotiated) => Some(negotiated),
            Phase::Start | Phase::Smb1Answered => None,
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.negotiated().map(|negotiated| negotiated.dialect).unwrap_or_default()
    }

    /// Connection.RDMATransformIds.
    pub(super) fn rdma_transforms(&self) -> RdmaTransforms {
        self.negotiated().map(|negotiated| negotiated.rdma_transforms).unwrap_or_default()
    }
}
