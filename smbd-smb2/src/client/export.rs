//! What one client gives another one of a session and its tree connects.

use super::bind_error::BindError;
use super::negotiate::Negotiated;
use crate::security::{BindingSigner, Opener, Sealer, Secret, Verifier};
use crate::wire::{Guid, SessionId, TreeId};

/// Messages of a binding: as many as NTLM has.
pub(super) const BINDING_MESSAGES: u16 = 2;

/// A session of one client, for another client that binds it to its own connection ([`Client::bind`](super::Client::bind)). It is for
/// one binding: what it signs and encrypts has nonces that no other has. Keys are wiped when it is dropped.
#[derive(Debug)]
pub struct SessionExport {
    pub(super) id: SessionId,
    /// Session.SigningKey, for the binding itself.
    pub(super) signer: BindingSigner,
    pub(super) verifier: Verifier,
    pub(super) encryption: Option<(Sealer, Opener)>,
    pub(super) application_key: Option<Secret>,
    pub(super) signing_required: bool,
    pub(super) encrypts: bool,
    pub(super) client_guid: Guid,
    /// Of the session's first connection.
    pub(super) negotiated: Negotiated,
}

/// A tree connect of a session: it is valid on all of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeExport {
    pub(super) session_id: SessionId,
    pub(super) id: TreeId,
    pub(super) encrypts: bool,
}

impl TreeExport {
    /// The SessionId of its session.
    #[must_use]
    pub const fn session_id(&self) -> SessionId {
        self.session_id
    }
}

impl SessionExport {
    /// The session's SessionId.
    #[must_use]
    pub const fn session_id(&self) -> SessionId {
        self.id
    }

    /// Whether a connection is one of the same client to the same server, with the same dialect, ciphers and signatures.
    pub(super) fn fits(&self, client_guid: Guid, other: &Negotiated) -> Result<(), BindError> {
        let own = &self.negotiated;
        // 3.3.5.5
        if other.dialect != own.dialect {
            return Err(BindError::Dialect { got: other.dialect, expected: own.dialect });
        }
        if client_guid != self.client_guid {
            return Err(BindError::ClientGuid { got: client_guid, expected: self.client_guid });
        }
        // 3.2.5.2
        if other.server_guid != own.server_guid {
            return Err(BindError::ServerGuid { got: other.server_guid, expected: own.server_guid });
        }
        if other.security_mode != own.security_mode {
            return Err(BindError::SecurityMode { got: other.security_mode, expected: own.security_mode });
        }
        if other.capabilities != own.capabilities {
            return Err(BindError::Capabilities { got: other.capabilities, expected: own.capabilities });
        }
        if other.cipher != own.cipher {
            return Err(BindError::Cipher { got: other.cipher, expected: own.cipher });
        }
        if other.signing != own.signing {
            return Err(BindError::Signing { got: other.signing, expected: own.signing });
        }
        Ok(())
    }
}
