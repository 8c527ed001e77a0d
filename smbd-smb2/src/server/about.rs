//! What is known of a client.

use alloc::sync::Arc;

use super::inner::Inner;
use super::link::Link;
use super::session::Session;
use crate::security::Identity;
use crate::wire::{Cipher, Dialect, SigningAlgorithm};

/// What is known of a client: for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// What was negotiated; nothing before that.
    pub dialect: Option<Dialect>,
    /// How messages are signed, if they are.
    pub signing: Option<SigningAlgorithm>,
    /// How messages can be encrypted, if they can.
    pub cipher: Option<Cipher>,
    /// The user of the first session that is valid. Empty: a guest or an anonymous user.
    pub user: Option<Arc<str>>,
    /// The server or a client requires that sessions are signed.
    pub is_signed: bool,
    /// Messages came encrypted, or have to.
    pub is_encrypted: bool,
}

impl About {
    /// What is known of one connection.
    pub(super) fn of(inner: &Inner, link: &Link) -> Self {
        let negotiated = link.negotiated();
        let here = |session: &&Session| session.is_on(link.id);
        let sessions = || inner.sessions.values().filter(here).filter_map(Session::valid);
        let user = sessions().next().map(|session| match &session.identity {
            Identity::User { user, .. } => user.clone(),
            Identity::Guest | Identity::Anonymous => Arc::default(),
        });
        Self {
            dialect: negotiated.map(|negotiated| negotiated.dialect),
            signing: negotiated.map(|negotiated| negotiated.signing),
            cipher: negotiated.and_then(|negotiated| negotiated.cipher),
            user,
            is_signed: sessions().any(|session| session.signing_required),
            is_encrypted: link.was_encrypted || sessions().any(|session| session.encrypt_data),
        }
    }
}
