//! A connection, from its first message to its end.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use smbd_link::time::{TokioTime, within};
use smbd_link::transport::Transport;
use smbd_smb2::server::{OperationId, client_guid};
use tokio::sync::{oneshot, watch};

use super::group;
use super::host::Host;
use super::member::{End, First, Newcomer, News, close, stopped};
use super::surroundings::Surroundings;
use crate::link::{Channel, Event, Link};
use crate::served::Served;

/// Serves a connection to its end. When `stop` becomes true, nothing of its client is taken any more; what is being done is finished, in
/// `drain` at most, and it ends. `news` is called with what happens until then.
///
/// All connections that come with one ClientGuid are served together, if sessions can have several channels
/// ([`Params::channels_max`](smbd_smb2::server::Params::channels_max)): in a task of their own, which is spawned.
pub async fn serve<F, T>(
    host: Arc<Host<F>>,
    transport: T,
    stop: watch::Receiver<bool>,
    drain: Duration,
    news: impl FnMut(News<'_>) + Send + 'static,
) -> End
where
    F: Served,
    T: Transport<OperationId> + Send + 'static,
{
    serve_in(host, transport, (stop, drain), news, TokioTime::start()).await
}

/// Serves a connection as [`serve`] does, in surroundings that the caller has. Those of a client's first connection have its tasks.
pub async fn serve_in<F, A, T>(
    host: Arc<Host<F, A>>,
    transport: T,
    (mut stop, drain): (watch::Receiver<bool>, Duration),
    news: impl FnMut(News<'_>) + Send + 'static,
    around: A,
) -> End
where
    F: Served,
    A: Surroundings,
    T: Transport<OperationId> + Send + 'static,
{
    let mut link = Channel::new(transport, around.clone());
    let first = tokio::select! {
        biased;
        () = stopped(&mut stop) => Err("the server ends".to_owned()),
        first = first_message(&host, &around, &mut link) => first,
    };
    let first = match first {
        Ok(first) => first,
        Err(why) => {
            close(&around, &mut link).await;
            return End { why, seen: None };
        }
    };
    let has_channels = host.server().params().channels_max > 1;
    let guid = client_guid(first.bytes()).filter(|_| has_channels);
    let (ended, end) = oneshot::channel();
    let newcomer = Box::new(Newcomer { around, link: Box::new(link), first, news: Box::new(news), ended });
    group::admit(&host, guid, newcomer, &stop, drain);
    end.await.unwrap_or_else(|_| End { why: "what served it has failed".to_owned(), seen: None })
}

/// The first message, by which it is known whose connection it is. It has as much time as a login.
async fn first_message<F: Served, A: Surroundings>(
    host: &Host<F, A>,
    around: &A,
    link: &mut (dyn Link + Send),
) -> Result<First, String> {
    // Units of 100 ns.
    let time = Duration::from_nanos(host.server().params().setup_timeout.saturating_mul(100));
    let event = within(around, time, poll_fn(|cx| link.poll_event(cx, true))).await;
    match event {
        Some(Ok(Event::Message(message))) => Ok(First::Message(message)),
        Some(Ok(Event::PastRequest(request))) => Ok(First::Past(request)),
        Some(Ok(Event::PastResponse(_))) => Err("an answer to nothing that is known".to_owned()),
        Some(Ok(Event::Fetched { .. } | Event::Delivered(..))) => {
            Err("a transfer that nobody asked for".to_owned())
        }
        Some(Err(lost)) => Err(lost),
        None => Err(smbd_smb2::server::Reason::SetupTimeout.to_string()),
    }
}
