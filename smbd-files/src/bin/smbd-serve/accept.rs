//! Clients are taken until the server ends.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::clients::Clients;
use crate::log::Line;

/// How long to wait when no client can be taken: too many files are open, for example.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A listener.
pub(crate) trait Accept: Send {
    /// A client that has come.
    type Incoming;

    /// The next client. No client is lost if this is dropped.
    fn accept(&mut self) -> impl Future<Output = Result<Self::Incoming, String>> + Send;

    /// Lets it in or not; what serves it is one of the tasks.
    fn serve(&self, incoming: Self::Incoming, clients: &Clients, tasks: &mut JoinSet<()>);
}

/// Takes clients until the server ends, and waits for those that are served.
pub(crate) async fn take(mut listener: impl Accept, over: &str, clients: Clients) {
    let mut tasks = JoinSet::new();
    let mut stop = clients.stop.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
            _ = stop.wait_for(|stops| *stops) => break,
        };
        match accepted {
            Ok(incoming) => listener.serve(incoming, &clients, &mut tasks),
            Err(why) => {
                Line::new("listener failed").with("over", over).with("why", why).write();
                sleep(AGAIN_AFTER).await;
            }
        }
    }
    // Nobody else is let in.
    drop(listener);
    while tasks.join_next().await.is_some() {}
}
