//! Clients over SMB Direct, whose connections `smbd-broker` has.

use std::path::{Path, PathBuf};

use smbd_broker::client::{Accepted, Acceptor, Carried, Connection};
use smbd_link::transport::Heap;
use tokio::task::JoinSet;

use crate::accept::Accept;
use crate::clients::Clients;
use crate::log::{line, warning};
use crate::trouble::Trouble;

/// What comes from a broker. One that is gone is waited for.
#[derive(Debug)]
pub(crate) struct FromBroker {
    path: PathBuf,
    acceptor: Acceptor,
}

impl FromBroker {
    /// Attaches to the broker, and takes all connections that no other server takes.
    pub(crate) async fn attach(path: &Path) -> Result<Self, Trouble> {
        let attached = Acceptor::attach(path.to_owned(), "smbd-serve").await;
        let (acceptor, instance) = attached.map_err(|why| Trouble::failed(path.display(), why))?;
        let broker = Self { path: path.to_owned(), acceptor };
        broker.is_attached(instance);
        Ok(broker)
    }

    fn is_attached(&self, instance: u64) {
        let instance = format_args!("{instance:016x}").to_string();
        line("attached").with("broker", self.path.display()).with("instance", instance).write();
    }
}

impl Accept for FromBroker {
    type Incoming = Box<Connection>;

    async fn accept(&mut self) -> Result<Self::Incoming, String> {
        loop {
            match self.acceptor.next().await {
                Accepted::Connection(connection) => return Ok(connection),
                Accepted::Lost => warning("broker lost").with("broker", self.path.display()).write(),
                Accepted::Attached { instance } => self.is_attached(instance),
            }
        }
    }

    fn serve(&self, connection: Self::Incoming, clients: &Clients, tasks: &mut JoinSet<()>) {
        let_in(*connection, clients, tasks);
    }

    /// Those that are served have this process for their owner, so it has to stay one.
    async fn refuse(self) {
        self.acceptor.refuse().await;
    }
}

/// Lets in a client whose connection the broker has given to this process.
pub(crate) fn let_in(connection: Connection, clients: &Clients, tasks: &mut JoinSet<()>) {
    let client = connection.newcomer().peer_addr();
    let Some(place) = clients.enter(client, "broker") else { return };
    let carried = Carried::<_, Heap, _>::new(connection);
    tasks.spawn(clients.clone().serve(client, "broker", carried, place));
}
