//! What a broker is told, so that it brings other connections of clients and sessions that are served here.

use std::collections::BTreeMap;

use smbd_broker::client::{Broker, CallError};
use smbd_smb2::wire::Guid;
use tokio::sync::{mpsc, oneshot};

/// What may wait until the broker is told: each client waits for what it has told, and one that has ended may have left something behind
/// while the broker stood still. Others wait for room.
const WAITING_MAX: usize = 64;

/// A broker that is told. Clones tell the same one.
#[derive(Clone, Debug)]
pub(crate) struct Registry(mpsc::Sender<Tell>);

/// By what connections are recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Those of a client (SET_CLIENT_GUID).
    Client(Guid),
    /// Those that bind a session (SET_SESSION_ID).
    Session(u64),
}

#[derive(Debug)]
struct Tell {
    rule: Rule,
    is_held: bool,
    /// Who waits until the broker knows.
    done: oneshot::Sender<()>,
}

impl Registry {
    /// Tells this broker, in a task of its own: what was begun is finished, whoever gives up waiting.
    pub(crate) fn new(broker: Broker) -> Self {
        let (tell, told) = mpsc::channel(WAITING_MAX);
        tokio::spawn(run(broker, told));
        Self(tell)
    }

    /// Returns when the broker brings such connections, or refuses: another process has them, or too many rules are held. A client is
    /// served all the same, without other connections then.
    pub(super) async fn hold(&self, rule: Rule) {
        self.tell(rule, true).await;
    }

    /// Returns when the broker brings no such connection any more. Those that it had brought before have come.
    pub(super) async fn forget(&self, rule: Rule) {
        self.tell(rule, false).await;
    }

    async fn tell(&self, rule: Rule, is_held: bool) {
        let (done, waits) = oneshot::channel();
        if self.0.send(Tell { rule, is_held, done }).await.is_ok() {
            // A broker that is gone brings none.
            let _ = waits.await;
        }
    }
}

async fn run(broker: Broker, mut told: mpsc::Receiver<Tell>) {
    // How many serve a client: the next one may begin before the last has ended.
    let mut clients: BTreeMap<[u8; 16], usize> = BTreeMap::new();
    while let Some(Tell { rule, is_held, done }) = told.recv().await {
        let result = match rule {
            Rule::Session(session_id) => broker.set_session_id(session_id, is_held).await,
            Rule::Client(guid) if counts(&mut clients, guid, is_held) => {
                broker.set_client_guid(guid, is_held).await
            }
            Rule::Client(_) => Ok(()),
        };
        if matches!(result, Err(CallError::Gone)) {
            return;
        }
        // Nobody may wait any more.
        let _ = done.send(());
    }
}

/// Counts who serves a client. True for the first, and when the last has ended.
fn counts(clients: &mut BTreeMap<[u8; 16], usize>, guid: Guid, is_held: bool) -> bool {
    let count = clients.entry(guid.0).or_default();
    if is_held {
        *count = count.saturating_add(1);
        return *count == 1;
    }
    *count = count.saturating_sub(1);
    if *count > 0 {
        return false;
    }
    clients.remove(&guid.0);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_held_once_until_the_last_who_serves_it_has_ended() {
        let (mut clients, one, other) = (BTreeMap::new(), Guid([1; 16]), Guid([2; 16]));
        let mut tell = |guid, is_held| counts(&mut clients, guid, is_held);
        assert_eq!([tell(one, true), tell(one, true), tell(other, true)], [true, false, true]);
        assert_eq!([tell(one, false), tell(one, false), tell(other, false)], [false, true, true]);
        assert!(tell(one, true));
        assert!(clients.len() == 1);
    }
}
