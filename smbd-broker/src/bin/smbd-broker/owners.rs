//! Servers attach.

use std::sync::Arc;
use std::time::Duration;

use smbd_broker::server::attend_as;
use smbd_broker::socket::{UnixListener, UnixPackets, credentials};
use smbd_daemon::trouble::Trouble;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::counters::Counters;
use crate::shared::Shared;

/// How long to wait when nobody can be taken: too many files are open, for example.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Mode of a folder that is made for the socket.
const FOLDER: u32 = 0o755;

/// Listens where servers attach. Its folder is made if only that is missing.
pub(crate) fn listen(shared: &Shared) -> Result<UnixListener, Trouble> {
    use std::os::unix::fs::DirBuilderExt as _;

    let settings = shared.settings();
    let path = &settings.socket;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        // What is wrong with it is said by what follows.
        let _ = std::fs::DirBuilder::new().mode(FOLDER).create(folder);
    }
    let listener = UnixListener::bind(path, settings.socket_mode.bits());
    let listener = listener
        .map_err(|error| Trouble::other(&format!("no server can attach at {}: {error}", path.display())))?;
    shared.log().line("listening").with("socket", path.display()).write();
    Ok(listener)
}

/// Attends to servers until it is dropped.
pub(crate) async fn take(listener: UnixListener, shared: Arc<Shared>) {
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
        };
        match accepted {
            Ok(socket) => {
                tasks.spawn(attend(socket, Arc::clone(&shared)));
            }
            Err(error) => {
                shared.log().line("listener failed").with("why", error).write();
                sleep(AGAIN_AFTER).await;
            }
        }
    }
}

/// Attends to one.
async fn attend(socket: UnixPackets, shared: Arc<Shared>) {
    let Ok(who) = credentials(socket.get_ref()) else { return };
    let line = |what| {
        let line = shared.log().line(what).number("uid", who.uid.into());
        line.number("pid", u64::try_from(who.pid).unwrap_or(0))
    };
    if !shared.settings().may_attach(who) {
        Counters::count(&shared.counters.owners_refused);
        line("owner refused")
            .with("why", "neither its user nor its group may (owners.uids, owners.gids)")
            .write();
        return;
    }
    line("owner connected").write();
    let mut id = None;
    let joined = |owner| {
        id = Some(owner);
        Counters::count(&shared.counters.owners);
        shared.owners().insert(owner, who);
    };
    if !attend_as(shared.hub.clone(), socket, joined).await {
        Counters::count(&shared.counters.owners_refused);
        line("owner refused").with("why", "there are as many as there may be (owners.max)").write();
    }
    if let Some(id) = id {
        shared.owners().remove(&id);
    }
}
