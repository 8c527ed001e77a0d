//! What a broker knows of a client.

use std::collections::BTreeSet;
use std::time::Duration;

use smbd_smb2::wire::Guid;
use tokio::time::timeout;

use super::registry::{Registry, Rule};

/// How long the end of a client may wait for the broker. One that stands still brings nothing either.
const FORGETS_WITHIN: Duration = Duration::from_secs(5);

/// What was told of a client, and is forgotten at its end.
#[derive(Debug)]
pub(crate) struct Known {
    registry: Registry,
    client: Option<Guid>,
    is_told: bool,
    sessions: BTreeSet<u64>,
}

impl Known {
    /// Nothing yet. `client` is known by its ClientGuid, if all its connections are to come here.
    pub(crate) const fn new(registry: Registry, client: Option<Guid>) -> Self {
        Self { registry, client, is_told: false, sessions: BTreeSet::new() }
    }

    /// Whether the broker knows of the client, and of these sessions in ascending order, and of no others.
    pub(crate) fn is(&self, sessions: impl Iterator<Item = u64>) -> bool {
        self.is_told && sessions.eq(self.sessions.iter().copied())
    }

    /// Tells the broker of the client and of these sessions, and of no others any more. Returns when it knows.
    pub(crate) async fn tell(&mut self, now: BTreeSet<u64>) {
        if !std::mem::replace(&mut self.is_told, true)
            && let Some(client) = self.client
        {
            self.registry.hold(Rule::Client(client)).await;
        }
        // Whoever gives up waiting has told it all the same.
        let before = std::mem::replace(&mut self.sessions, now.clone());
        for session in now.difference(&before) {
            self.registry.hold(Rule::Session(*session)).await;
        }
        for session in before.difference(&now) {
            self.registry.forget(Rule::Session(*session)).await;
        }
    }

    /// Forgets the client and its sessions. What the broker had brought of them has come when this returns.
    pub(crate) async fn end(self) {
        let Self { registry, client, is_told, sessions } = self;
        let forgetting = async {
            for session in sessions {
                registry.forget(Rule::Session(session)).await;
            }
            if let Some(client) = client.filter(|_| is_told) {
                registry.forget(Rule::Client(client)).await;
            }
        };
        let _ = timeout(FORGETS_WITHIN, forgetting).await;
    }
}
