//! Clients over SMB Direct, whose connections `smbd-broker` has.

use std::path::PathBuf;
use std::sync::Arc;

use smbd_broker::client::{Accepted, Acceptor, Carried, Connection};
use smbd_daemon::trouble::Trouble;
use smbd_link::transport::Heap;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::PROGRAM;
use crate::clients::{attend, enter};
use crate::connection::Way;
use crate::fork::{self, Program};
use crate::shared::Shared;

/// Attaches to the broker, and takes all connections that no other server takes, until the server stops: in a task, which keeps those that
/// it has, because they end with their owner. With a program, clients are served by children of it; those that are left are killed with
/// the task.
pub(crate) async fn open(
    shared: &Arc<Shared>,
    path: PathBuf,
    program: Option<Program>,
) -> Result<JoinHandle<()>, Trouble> {
    let attached = Acceptor::attach(path.clone(), PROGRAM).await;
    let (acceptor, instance) =
        attached.map_err(|why| Trouble::other(&format_args!("{}: {why}", path.display())))?;
    let source = Source { shared: Arc::clone(shared), path, program: program.map(Arc::new) };
    source.is_attached(instance);
    Ok(tokio::spawn(source.take(acceptor, shared.core.stop.subscribe())))
}

struct Source {
    shared: Arc<Shared>,
    path: PathBuf,
    program: Option<Arc<Program>>,
}

impl Source {
    fn is_attached(&self, instance: u64) {
        let instance = format_args!("{instance:016x}").to_string();
        let line = self.shared.core.log().line("attached").with("broker", self.path.display());
        line.with("instance", instance).write();
    }

    async fn take(self, mut acceptor: Acceptor, mut stop: watch::Receiver<bool>) {
        let mut tasks = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = acceptor.next() => accepted,
                // Whoever could say so has gone.
                _ = stop.wait_for(|stops| *stops) => break,
            };
            while tasks.try_join_next().is_some() {}
            match accepted {
                Accepted::Connection(connection) => self.let_in(*connection, &mut tasks),
                Accepted::Lost => {
                    let line = self.shared.core.log().warning("broker lost");
                    line.with("broker", self.path.display()).write();
                }
                Accepted::Attached { instance } => self.is_attached(instance),
            }
        }
        // This is not waited for as a connection is.
        drop(stop);
        acceptor.refuse().await;
        while tasks.join_next().await.is_some() {}
    }

    fn let_in(&self, connection: Connection, tasks: &mut JoinSet<()>) {
        match &self.program {
            None => let_in(connection, &self.shared, tasks),
            Some(program) => fork::let_in(connection, &self.shared, program, tasks),
        }
    }
}

/// Serves a client whose connection the broker has given to this process, if there is room.
pub(crate) fn let_in(connection: Connection, shared: &Arc<Shared>, tasks: &mut JoinSet<()>) {
    let client = connection.newcomer().peer_addr();
    let Some(pass) = enter(shared, client) else { return };
    let carried = Carried::<_, Heap, _>::new(connection);
    let stop = shared.core.stop.subscribe();
    tasks.spawn(attend(Arc::clone(shared), stop, (client, Way::Broker), carried, pass));
}
