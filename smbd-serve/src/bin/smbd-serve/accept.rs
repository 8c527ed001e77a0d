//! Clients are taken until the server ends.

use std::future::{Future, pending};
use std::pin::pin;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::clients::Clients;
use crate::log::warning;

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

    /// Lets nobody else in, while those that are served are finished. It is dropped with them.
    fn refuse(self) -> impl Future<Output = ()> + Send
    where
        Self: Sized,
    {
        async { drop(self) }
    }
}

/// Takes clients until the server ends, and waits for those that are served.
pub(crate) async fn take(mut listener: impl Accept, over: &str, clients: Clients) {
    let mut tasks = JoinSet::new();
    let mut stop = clients.stop.clone();
    loop {
        let accepted = {
            let mut accept = pin!(listener.accept());
            loop {
                tokio::select! {
                    accepted = &mut accept => break Some(accepted),
                    // What has been begun, such as attaching to a broker, goes on when a client ends.
                    Some(_) = tasks.join_next() => {}
                    _ = stop.wait_for(|stops| *stops) => break None,
                }
            }
        };
        let Some(accepted) = accepted else { break };
        match accepted {
            Ok(incoming) => listener.serve(incoming, &clients, &mut tasks),
            Err(why) => {
                warning("listener failed").with("over", over).with("why", why).write();
                sleep(AGAIN_AFTER).await;
            }
        }
    }
    let refusing = async {
        listener.refuse().await;
        pending::<()>().await;
    };
    tokio::select! {
        () = refusing => {}
        () = finish(&mut tasks) => {}
    }
}

/// Waits for all tasks.
pub(crate) async fn finish(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}
