//! What a login needs from its first SESSION_SETUP to its last (3.2.4.2.3, 3.2.5.3).

use alloc::boxed::Box;

use super::export::SessionExport;
use super::table::Key;
use crate::security::{AuthError, Fresh, Initiator, PreauthHash, SecurityError, Step};
use crate::wire::{Flags, SessionId};

/// An authentication that is under way.
#[derive(Debug)]
pub(super) struct Login {
    initiator: Initiator,
    fresh: Fresh,
    steps: u32,
    pub(super) target: Target,
}

/// Of what.
#[derive(Debug)]
pub(super) enum Target {
    New {
        session_id: SessionId,
        /// Session.PreauthIntegrityHashValue.
        preauth: PreauthHash,
        previous: SessionId,
    },
    /// Of a session that is there already.
    Again(Key),
    /// Of one that another connection has (3.2.5.3.3).
    Bind(Box<Binding>),
}

/// A session that is being bound to this connection.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) session: SessionExport,
    /// The hash of this connection's messages, for its own signing key.
    pub(super) preauth: PreauthHash,
}

impl Binding {
    /// Signs a request that is about to go, with the key of the session (3.2.4.1.1).
    pub(super) fn sign(&mut self, element: &mut [u8]) -> Result<(), SecurityError> {
        self.session.signer.sign_in_place(element)?;
        self.preauth.update([&*element]);
        Ok(())
    }

    /// Looks at an answer that is not the last one. Some servers do not sign it; whoever changes it makes the authentication fail (SE-12).
    pub(super) fn verify(&self, flags: Flags, element: &[u8]) -> Result<(), SecurityError> {
        if flags.contains(Flags::SIGNED) { self.session.verifier.verify([element]) } else { Ok(()) }
    }
}

impl Login {
    pub(super) const fn new(initiator: Initiator, fresh: Fresh, target: Target) -> Self {
        Self { initiator, fresh, steps: 0, target }
    }

    /// Takes the server's token.
    pub(super) fn step(&mut self, token: &[u8]) -> Result<Step, AuthError> {
        let fresh = self.fresh.step(self.steps);
        self.steps = self.steps.saturating_add(1);
        self.initiator.step(token, &fresh)
    }

    /// What came of it.
    pub(super) fn established(&self) -> Option<crate::security::Established> {
        self.initiator.established()
    }
}
