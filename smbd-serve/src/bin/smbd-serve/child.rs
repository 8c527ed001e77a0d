//! A process that serves one client, all of whose connections come from a broker.

use std::future::{pending, ready};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::stdio::stdin;
use rustix::thread::set_name;
use smbd_broker::client::{Broker, Connection, Incoming, connect, take_over};
use smbd_broker::socket::UnixPackets;
use smbd_daemon::admission::Admission;
use smbd_daemon::log::tell_process;
use smbd_serve::Host;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::accept::finish;
use crate::broker::let_in;
use crate::clients::Clients;
use crate::log::warning;
use crate::signals::Signals;
use crate::trouble::Trouble;

/// How long it takes at most until it has its first connection.
const STARTS_WITHIN: Duration = Duration::from_secs(10);

/// Serves the client whose connection the parent hands over, until all its connections have ended, the parent ends, or a signal comes.
pub(crate) async fn run(path: &Path, host: Host, connections: u16, drain: Duration) -> Result<(), Trouble> {
    tell_process();
    // It is the name of the link by which it was started otherwise. Nothing depends on it.
    let _ = set_name(c"smbd-serve");
    let mut signals = Signals::new()?;
    let mut parent = stdin().try_clone_to_owned().and_then(UnixPackets::new);
    let parent = parent.as_mut().map_err(|error| Trouble::failed("the socket of the parent", error))?;
    let attaching = timeout(STARTS_WITHIN, attach(path, parent));
    let (broker, mut incoming, connection) = tokio::select! {
        attached = attaching => attached.map_err(|_| Trouble::failed(path.display(), "no answer"))??,
        () = signals.next() => return Ok(()),
    };
    let (stop, stopped) = watch::channel(false);
    // All connections of this process are of one client: the parent holds the limits of an address.
    let admission = Admission::new(connections.into(), connections.into());
    let refusals = Arc::default();
    let host = Arc::new(host.announced_to(broker));
    let clients = Clients { host, admission, refusals, places_of: "--connections", stop: stopped, drain };
    let mut tasks = JoinSet::new();
    let_in(connection, &clients, &mut tasks);
    loop {
        tokio::select! {
            biased;
            () = signals.next() => break,
            () = ended(parent) => break,
            connection = incoming.next() => match connection {
                Some(connection) => let_in(connection, &clients, &mut tasks),
                None => {
                    warning("broker lost").with("broker", path.display()).write();
                    break;
                }
            },
            Some(_) = tasks.join_next() => {}
            // The broker has forgotten the client before its last connection was over, and what it had brought until then has come.
            () = ready(()), if tasks.is_empty() => return Ok(()),
        }
    }
    stop.send_replace(true);
    tokio::select! {
        () = finish(&mut tasks) => Ok(()),
        () = refuse(incoming) => Ok(()),
        () = signals.next() => Err(Trouble::Failed("ended at once; clients were not finished".into())),
    }
}

/// Becomes an owner, and attaches the connection that the parent hands over.
async fn attach(path: &Path, parent: &mut UnixPackets) -> Result<(Broker, Incoming, Connection), Trouble> {
    let (socket, newcomer) =
        take_over(parent).await.map_err(|error| Trouble::failed("the socket of the parent", error))?;
    let failed = |error| Trouble::failed(path.display(), error);
    let (broker, incoming) = connect(path, "smbd-serve child").await.map_err(failed)?;
    let connection = broker.attach(socket, newcomer).await.map_err(failed)?;
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
