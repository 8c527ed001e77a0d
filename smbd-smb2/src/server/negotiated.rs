//! What NEGOTIATE gave (3.3.1.7).

use alloc::vec::Vec;

use crate::security::{KeySchedule, PreauthHash, RdmaTransforms};
use crate::wire::{Capabilities, Cipher, Dialect, Guid, SecurityMode, SigningAlgorithm};

/// Connection.NegotiateDialect, and what a connection has with it.
#[derive(Debug)]
pub(super) enum Phase {
    /// 0xFFFF: nothing has come.
    Start,
    /// 0x02FF: a client of SMB1 was told that there is SMB2.
    Smb1Answered,
    /// A dialect.
    Negotiated(Negotiated),
}

/// What both sides know of each other.
#[derive(Clone, Debug)]
pub(super) struct Negotiated {
    pub(super) dialect: Dialect,
    pub(super) client_guid: Guid,
    pub(super) client_capabilities: Capabilities,
    pub(super) client_security_mode: SecurityMode,
    pub(super) client_dialects: Vec<Dialect>,
    pub(super) capabilities: Capabilities,
    pub(super) security_mode: SecurityMode,
    /// Connection.CipherId; AES-128-CCM in 3.0 and 3.0.2 if both sides can encrypt.
    pub(super) cipher: Option<Cipher>,
    /// Connection.SigningAlgorithmId.
    pub(super) signing: SigningAlgorithm,
    /// Connection.RDMATransformIds.
    pub(super) rdma_transforms: RdmaTransforms,
    /// Connection.PreauthIntegrityHashValue.
    pub(super) preauth: PreauthHash,
}

/// What two connections have to have in common to have a session in common (3.3.5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) client_guid: Guid,
    pub(super) dialect: Dialect,
    pub(super) cipher: Option<Cipher>,
    pub(super) signing: SigningAlgorithm,
}

impl Negotiated {
    pub(super) const fn agreed(&self) -> Agreed {
        let Self { client_guid, dialect, cipher, signing, .. } = *self;
        Agreed { client_guid, dialect, cipher, signing }
    }

    /// How keys are made of that of an authentication.
    pub(super) fn schedule<'a>(&self, preauth: &'a PreauthHash) -> KeySchedule<'a> {
        if self.dialect == Dialect::SMB_3_1_1 {
            KeySchedule::Smb311 { signing: self.signing, cipher: self.cipher, preauth }
        } else {
            KeySchedule::Smb30 { can_encrypt: self.cipher.is_some() }
        }
    }
}
