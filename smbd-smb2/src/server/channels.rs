//! Connections of a session, and the keys that it has on them: Session.ChannelList (3.3.1.8, 3.3.1.14).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use super::action::LinkId;
use crate::security::{Acceptor, Opener, Sealer, SecurityError, SessionKeys, Signer, Verifier};
use crate::wire::MessageId;

/// The channels of a session.
#[derive(Debug)]
pub(super) struct Channels {
    /// Session.SigningKey, and the keys that encrypt on all channels. None for guests and anonymous users.
    keys: Option<SessionKeys>,
    list: BTreeMap<LinkId, Channel>,
}

/// A connection of a session.
#[derive(Debug)]
struct Channel {
    key: Key,
    /// The user authenticates again on it (3.3.5.5.2).
    again: Option<Acceptor>,
}

/// Channel.SigningKey.
#[derive(Debug)]
enum Key {
    /// Session.SigningKey: of the channel on which the session was made.
    Session,
    /// A key of its own: of a channel that was bound.
    Own(Box<(Signer, Verifier)>),
}

impl Channels {
    /// Those of a session that begins on this connection.
    pub(super) fn new(first: LinkId, keys: Option<SessionKeys>) -> Self {
        let mut list = BTreeMap::new();
        list.insert(first, Channel { key: Key::Session, again: None });
        Self { keys, list }
    }

    /// Leaves the MessageIds below this one to answers of bindings (SE-2).
    pub(super) fn leave(&mut self, below: MessageId) {
        if let Some(keys) = &mut self.keys {
            keys.signer.leave(below);
        }
    }

    /// A connection is bound.
    pub(super) fn bind(&mut self, link: LinkId, signer: Signer, verifier: Verifier) {
        let key = Key::Own(Box::new((signer, verifier)));
        self.list.insert(link, Channel { key, again: None });
    }

    /// A connection is lost. Returns whether none is left.
    pub(super) fn lose(&mut self, link: LinkId) -> bool {
        self.list.remove(&link);
        self.list.is_empty()
    }

    pub(super) fn has(&self, link: LinkId) -> bool {
        self.list.contains_key(&link)
    }

    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Whether the session has keys: a user has, a guest has not.
    pub(super) const fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Session.DecryptionKey and its counterpart, if messages can be encrypted.
    pub(super) fn encryption(&self) -> Option<&(Sealer, Opener)> {
        self.keys.as_ref()?.encryption.as_ref()
    }

    /// As [`Self::encryption`].
    pub(super) fn encryption_mut(&mut self) -> Option<&mut (Sealer, Opener)> {
        self.keys.as_mut()?.encryption.as_mut()
    }

    /// What signs on a channel.
    pub(super) fn signer(&mut self, link: LinkId) -> Option<&mut Signer> {
        match &mut self.list.get_mut(&link)?.key {
            Key::Session => Some(&mut self.keys.as_mut()?.signer),
            Key::Own(own) => Some(&mut own.0),
        }
    }

    /// What verifies on a channel.
    pub(super) fn verifier(&self, link: LinkId) -> Option<&Verifier> {
        match &self.list.get(&link)?.key {
            Key::Session => Some(&self.keys.as_ref()?.verifier),
            Key::Own(own) => Some(&own.1),
        }
    }

    /// What verifies requests that bind the session (3.3.5.2.4).
    pub(super) fn session_verifier(&self) -> Option<&Verifier> {
        Some(&self.keys.as_ref()?.verifier)
    }

    /// Whether an answer to a request that binds the session can be signed (SE-2).
    pub(super) fn can_sign_binding(&self, message_id: MessageId) -> bool {
        self.keys.as_ref().is_some_and(|keys| keys.signer.can_sign_binding(message_id))
    }

    /// Signs an answer to a request that binds the session, and does not end that (3.3.4.1.1). A failure without a nonce of its own is
    /// left without a signature (SE-2).
    pub(super) fn sign_binding(&mut self, element: &mut [u8]) -> Result<(), SecurityError> {
        let Some(keys) = &mut self.keys else { return Ok(()) };
        match keys.signer.sign_binding(element) {
            Err(SecurityError::NonceKept { .. }) => Ok(()),
            other => other,
        }
    }

    /// The authentication that goes on on a channel whose user is known.
    pub(super) fn again(&mut self, link: LinkId) -> Option<&mut Option<Acceptor>> {
        Some(&mut self.list.get_mut(&link)?.again)
    }
}
