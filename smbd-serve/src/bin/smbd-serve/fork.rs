//! Clients that come from a broker are served by processes of their own.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use smbd_broker::client::{Connection, hand_over};
use smbd_broker::socket::{self, UnixPackets};
use smbd_smb2::wire::Guid;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::clients::enter;
use crate::connection::{Connection as Known, Way};
use crate::counters::Counters;
use crate::shared::Shared;

/// How long a child may take to end, beyond the time for what it does (--drain).
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// The command that serves, if it was written.
const COMMAND: &str = "run";

/// What a child runs: this program, called as it was, and told that it is a child.
#[derive(Debug)]
pub(crate) struct Program {
    arguments: Vec<OsString>,
    drain: Duration,
}

impl Program {
    /// `guid` is the ServerGuid of all children: a client may look whether it is the same on all of its connections.
    pub(crate) fn new(guid: Guid, drain: Duration) -> Self {
        let guid = format!("{:032x}", u128::from_be_bytes(guid.0));
        let (command, rest): (Vec<_>, Vec<_>) =
            std::env::args_os().skip(1).enumerate().partition(|(at, word)| *at == 0 && word == COMMAND);
        let words = |words: Vec<(usize, OsString)>| words.into_iter().map(|(_, word)| word);
        // Behind the command, because options of a command do not come before it.
        let own = ["--child".into(), guid.into()];
        Self { arguments: words(command).chain(own).chain(words(rest)).collect(), drain }
    }

    /// Starts a child. Its standard input is the other end of the socket that is returned.
    fn start(&self) -> io::Result<(Child, UnixPackets)> {
        let (own, theirs) = socket::pair()?;
        let own = UnixPackets::new(own)?;
        // This file, whatever has its name by now.
        let mut command = Command::new("/proc/self/exe");
        command.arg0("smbd-serve").args(&self.arguments).stdin(Stdio::from(theirs)).kill_on_drop(true);
        Ok((command.spawn()?, own))
    }

    /// Has a client served by a child, to the end of the child.
    async fn serve(&self, shared: &Shared, connection: Connection, mut stop: watch::Receiver<bool>) {
        let client = connection.newcomer().peer_addr();
        let failed = |why: io::Error| {
            Counters::count(&shared.counters.failed);
            shared.core.log().warning("client failed").with("client", client).with("why", why).write();
        };
        let (mut child, mut socket) = match self.start() {
            Ok(started) => started,
            Err(why) => return failed(why),
        };
        let pid = child.id().unwrap_or_default();
        let line = |what| shared.core.log().line(what);
        Counters::count(&shared.counters.taken);
        let known = Known { child: child.id(), ..Known::new(client, Way::Broker) };
        let _entry = shared.connections.add(known);
        line("child started").number("child", pid.into()).with("client", client).write();
        let handed = hand_over(&mut socket, connection).await;
        // A child without this socket ends.
        let socket = handed.map(|()| socket).map_err(failed).ok();
        let ended = tokio::select! {
            ended = child.wait() => Some(ended),
            // Whoever is not there any more cannot say so.
            _ = stop.wait_for(|stops| *stops) => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                drop(socket);
                self.end(&mut child).await
            }
        };
        let status = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
        line("child ended").number("child", pid.into()).with("status", status).write();
    }

    /// Waits for a child that has been told to end.
    async fn end(&self, child: &mut Child) -> io::Result<ExitStatus> {
        if let Ok(ended) = timeout(self.drain.saturating_add(ENDS_WITHIN), child.wait()).await {
            return ended;
        }
        child.start_kill()?;
        child.wait().await
    }
}

/// Has a client served by a child, if there may be another one.
pub(crate) fn let_in(
    connection: Connection,
    shared: &Arc<Shared>,
    program: &Arc<Program>,
    tasks: &mut JoinSet<()>,
) {
    let Some(pass) = enter(shared, connection.newcomer().peer_addr()) else { return };
    let (shared, program, stop) = (Arc::clone(shared), Arc::clone(program), shared.core.stop.subscribe());
    tasks.spawn(async move {
        program.serve(&shared, connection, stop).await;
        drop(pass);
    });
}
