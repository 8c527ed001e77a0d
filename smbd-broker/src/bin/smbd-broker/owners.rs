//! Servers attach.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::process::geteuid;
use smbd_broker::server::{Hub, attend};
use smbd_broker::socket::{UnixListener, credentials};
use smbd_broker::verbs::Linux;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::log::line;

/// How long to wait when nobody can be taken: too many files are open, for example.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Who may attach.
pub(crate) fn allowed(users: &[u32]) -> Vec<u32> {
    if users.is_empty() { vec![0, geteuid().as_raw()] } else { users.to_vec() }
}

pub(crate) fn listen(path: &Path, mode: u32) -> Result<UnixListener, String> {
    let failed = |error| format!("{}: {error}", path.display());
    let listener = UnixListener::bind(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)?;
    Ok(listener)
}

/// Attends to servers until it is dropped.
pub(crate) async fn take(listener: UnixListener, users: Vec<u32>, hub: Hub<Linux>) {
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
        };
        let socket = match accepted {
            Ok(socket) => socket,
            Err(error) => {
                line(format_args!("listener failed why={:?}", error.to_string()));
                sleep(AGAIN_AFTER).await;
                continue;
            }
        };
        let Ok(who) = credentials(socket.get_ref()) else { continue };
        if !users.contains(&who.uid) {
            line(format_args!("owner refused uid={} pid={} why=\"--allow-uid\"", who.uid, who.pid));
            continue;
        }
        line(format_args!("owner connected uid={} pid={}", who.uid, who.pid));
        let hub = hub.clone();
        tasks.spawn(async move {
            if !attend(hub, socket).await {
                line(format_args!("owner refused pid={} why=\"--owners\"", who.pid));
            }
        });
    }
}
