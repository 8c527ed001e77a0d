//! What a login needs from its first SESSION_SETUP to its last (3.2.4.2.3, 3.2.5.3).

use super::table::Key;
use crate::security::{AuthError, Fresh, Initiator, PreauthHash, Step};
use crate::wire::SessionId;

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
