//! Servers attach.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use smbd_broker::server::attend_as;
use smbd_broker::socket::{self, UnixListener, UnixPackets, credentials};
use smbd_daemon::socket_path::{SocketMode, SocketPath};
use smbd_daemon::trouble::Trouble;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::counters::Counters;
use crate::shared::Shared;

/// How long to wait when nobody can be taken: too many files are open, for example.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Listens where servers attach.
pub(crate) fn listen(shared: &Shared) -> Result<(SocketPath, UnixListener), Trouble> {
    let settings = shared.core.settings();
    let path = &settings.socket;
    let bound = bind(path, settings.socket_mode)
        .map_err(|error| Trouble::other(&format!("no server can attach at {}: {error}", path.display())))?;
    shared.core.log().line("listening").with("socket", path.display()).write();
    Ok(bound)
}

fn bind(path: &Path, mode: SocketMode) -> io::Result<(SocketPath, UnixListener)> {
    SocketPath::bind(path, mode, socket::connect, UnixListener::bind)
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
                shared.core.log().warning("listener failed").with("why", error).write();
                sleep(AGAIN_AFTER).await;
            }
        }
    }
}

/// Attends to one.
async fn attend(socket: UnixPackets, shared: Arc<Shared>) {
    let Ok(who) = credentials(socket.get_ref()) else { return };
    let line = |what| {
        let line = shared.core.log().line(what).number("uid", who.uid.into());
        line.number("pid", u64::try_from(who.pid).unwrap_or(0))
    };
    if !shared.core.settings().may_attach(who) {
        Counters::count(&shared.counters.owners_refused);
        line("owner refused")
            .warn()
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
        line("owner refused").warn().with("why", "there are as many as there may be (owners.max)").write();
    }
    if let Some(id) = id {
        shared.owners().remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt;

    use smbd_broker::socket::{connect, listen};

    use super::*;

    #[tokio::test]
    async fn the_socket_has_its_mode_and_replaces_what_a_killed_broker_left_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("smbd-broker-owners-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("socket");
        drop(listen(&path).unwrap());
        let first = bind(&path, SocketMode::Group).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        assert_eq!(bind(&path, SocketMode::User).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert!(connect(&path).is_ok());
        drop(first);
        assert!(!path.exists());
        let second = bind(&path, SocketMode::User).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(second);
        // A program of another kind listens there: neither this one nor what it has is touched.
        let stream = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(bind(&path, SocketMode::User).is_err());
        assert!(path.exists());
        drop(stream);
        std::fs::write(folder.join("file"), "precious").unwrap();
        assert_eq!(
            bind(&folder.join("file"), SocketMode::User).unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
