//! A process that serves one client, all of whose connections come from a broker.

use std::fmt::Display;
use std::future::{pending, ready};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::stdio::stdin;
use rustix::thread::set_name;
use smbd_broker::client::{Broker, Connection, Incoming, connect, take_over};
use smbd_broker::socket::UnixPackets;
use smbd_daemon::log::tell_process;
use smbd_daemon::outcome::Failure;
use smbd_daemon::signals::Signals;
use smbd_daemon::trouble::Trouble;
use smbd_smb2::wire::Guid;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::broker::let_in;
use crate::host::host;
use crate::limits::Places;
use crate::settings::Settings;
use crate::shared::Shared;

/// How long it takes at most until it has its first connection.
const STARTS_WITHIN: Duration = Duration::from_secs(10);

/// Serves the client whose connection the parent hands over, until all its connections have ended, the parent ends, or a signal comes.
pub(crate) async fn run(path: &Path, settings: Settings, guid: Guid) -> Result<(), Failure> {
    tell_process();
    // It is the name of the link by which it was started otherwise. Nothing depends on it.
    let _ = set_name(c"smbd-serve");
    // SIGHUP is for its parent. The next child has what is new.
    let Signals { stop: mut signals, reload: _ignored } = Signals::new()?;
    let mut parent = stdin().try_clone_to_owned().and_then(UnixPackets::new);
    let parent = parent.as_mut().map_err(|error| failed("the socket of the parent", error))?;
    let users = watch::Sender::new(Arc::clone(&settings.users));
    let host = host(&settings, guid, &[], users.subscribe())?;
    let attaching = timeout(STARTS_WITHIN, attach(path, parent));
    let (broker, mut incoming, connection) = tokio::select! {
        attached = attaching => attached.map_err(|_| failed(path.display(), "no answer"))??,
        () = signals.came() => return Ok(()),
    };
    // All connections of this process are of one client: the parent holds the limits of an address.
    let admission = Places::of_one(settings.connections).admission();
    let shared = Shared::new(settings, admission, host.announced_to(broker), users);
    let mut tasks = JoinSet::new();
    let_in(connection, &shared, &mut tasks);
    loop {
        tokio::select! {
            biased;
            () = signals.came() => break,
            () = ended(parent) => break,
            connection = incoming.next() => match connection {
                Some(connection) => let_in(connection, &shared, &mut tasks),
                None => {
                    shared.core.log().warning("broker lost").with("broker", path.display()).write();
                    break;
                }
            },
            Some(_) = tasks.join_next() => {}
            // The broker has forgotten the client before its last connection was over, and what it had brought until then has come.
            () = ready(()), if tasks.is_empty() => return Ok(()),
        }
    }
    shared.core.stop.send_replace(true);
    let finish = async { while tasks.join_next().await.is_some() {} };
    tokio::select! {
        () = finish => Ok(()),
        () = refuse(incoming) => Ok(()),
        () = signals.came() => Err(Trouble::other(&"ended at once; clients were not finished").into()),
    }
}

fn failed(what: impl Display, why: impl Display) -> Trouble {
    Trouble::other(&format_args!("{what}: {why}"))
}

/// Becomes an owner, and attaches the connection that the parent hands over.
async fn attach(path: &Path, parent: &mut UnixPackets) -> Result<(Broker, Incoming, Connection), Trouble> {
    let (socket, newcomer) =
        take_over(parent).await.map_err(|error| failed("the socket of the parent", error))?;
    let of_broker = |error| failed(path.display(), error);
    let (broker, incoming) = connect(path, "smbd-serve child").await.map_err(of_broker)?;
    let connection = broker.attach(socket, newcomer).await.map_err(of_broker)?;
    Ok((broker, incoming, connection))
}

/// Ready when the parent has ended, or says so: it hands over nothing else.
async fn ended(parent: &mut UnixPackets) {
    while take_over(parent).await.is_ok() {}
}

/// Takes no other connection. It stays the owner of those that it has.
async fn refuse(mut incoming: Incoming) {
    while incoming.next().await.is_some() {}
    pending().await
}
