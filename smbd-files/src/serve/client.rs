//! One client, from its first message to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use smbd_smb2::server::{About, Action, Connection, ConnectionId, Operation, OperationId};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::carry::carry_out;
use super::host::{Host, Told};
use super::link::{Event, Link, Order};

/// From 1601 to 1970, in 100 ns.
const EPOCH: u64 = 116_444_736_000_000_000;
/// How long what was ordered may still take when a client ends.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// What went between a client and the server, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Of messages from the client.
    pub messages_in: u64,
    /// Of messages to the client.
    pub messages_out: u64,
    /// Read from the client's memory.
    pub rdma_in: u64,
    /// Written to the client's memory.
    pub rdma_out: u64,
}

/// What a client did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What is known of it.
    pub about: About,
    /// What went there and back.
    pub counts: Counts,
}

/// How a client ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Why, as a text for people.
    pub why: String,
    /// What it did, as far as it was known.
    pub seen: Option<Seen>,
}

/// Serves a client to its end. When `stop` becomes true, nothing of it is taken any more; what is being done is finished, in `drain` at most,
/// and it ends. `logged_in` is called when it has a session.
pub async fn serve<L: Link>(
    host: Arc<Host>,
    link: L,
    mut stop: watch::Receiver<bool>,
    drain: Duration,
    mut logged_in: impl FnMut(&About) + Send,
) -> End {
    let mut seed = [0; 32];
    if let Err(error) = getrandom::fill(&mut seed) {
        return End { why: format!("the system has no entropy: {error}"), seen: None };
    }
    let (tell, told) = unbounded_channel();
    let number = host.enter(tell);
    let connection = Connection::new(Arc::clone(host.server()), link.transport(), now(), seed);
    let mut client = Client {
        host,
        number,
        connection,
        link,
        told,
        data: BTreeMap::new(),
        running: BTreeSet::new(),
        cancelled: BTreeSet::new(),
        counts: Counts::default(),
        about: None,
    };
    let why = tokio::select! {
        why = client.run(&mut logged_in) => why,
        () = stopped(&mut stop) => {
            // What it asked for is done, if that does not take too long.
            let _ = timeout(drain, client.finish()).await;
            "the server ends".to_owned()
        }
    };
    client.end().await;
    let Client { counts, about, .. } = client;
    End { why, seen: about.map(|about| Seen { about, counts }) }
}

struct Client<L> {
    host: Arc<Host>,
    number: ConnectionId,
    connection: Connection,
    link: L,
    told: UnboundedReceiver<Told>,
    /// What was fetched for an operation, or read by it.
    data: BTreeMap<OperationId, Vec<u8>>,
    /// Operations that a thread carries out.
    running: BTreeSet<OperationId>,
    /// Those of them for which the client does not want to wait.
    cancelled: BTreeSet<OperationId>,
    counts: Counts,
    about: Option<About>,
}

enum Happened {
    Link(Event),
    Told(Told),
    Time,
}

impl<L: Link> Client<L> {
    /// Serves it until it is over. Returns why. Whatever is dropped of it goes on.
    async fn run(&mut self, logged_in: &mut (impl FnMut(&About) + Send)) -> String {
        loop {
            if let Some(why) = self.act() {
                return why;
            }
            self.look(logged_in);
            let happened = match self.wait(true).await {
                Ok(happened) => happened,
                Err(why) => return why,
            };
            self.on(happened);
        }
    }

    /// Finishes what is being done, and sends the answers.
    async fn finish(&mut self) {
        while self.act().is_none() && (!self.running.is_empty() || self.link.is_transferring()) {
            let Ok(happened) = self.wait(false).await else { return };
            self.on(happened);
        }
        poll_fn(|cx| self.link.poll_idle(cx)).await;
    }

    /// Ends the connection, waits for threads that still use its files, and closes these.
    async fn end(&mut self) {
        self.connection.closed();
        // What was said last has to leave first: why a client is refused, for example.
        let _ = timeout(CLOSE_WITHIN, poll_fn(|cx| self.link.poll_idle(cx))).await;
        let _ = timeout(CLOSE_WITHIN, poll_fn(|cx| self.link.poll_close(cx))).await;
        while !self.running.is_empty() {
            match self.told.recv().await {
                Some(Told::Done(id, ..) | Told::Waits(id)) => drop(self.running.remove(&id)),
                Some(Told::Replaced { .. }) => {}
                None => break,
            }
        }
        let (host, number) = (Arc::clone(&self.host), self.number);
        // What goes with its last user is deleted there.
        let _ = spawn_blocking(move || host.leave(number, now())).await;
    }

    /// Does all that the server wants done. Returns why it ends, if it does.
    fn act(&mut self) -> Option<String> {
        while let Some(action) = self.connection.poll() {
            match action {
                Action::Send { message, invalidate } => {
                    add(&mut self.counts.messages_out, message.bytes().len());
                    self.link.order(Order::Send { message, invalidate });
                }
                Action::RdmaRead { id, buffers, len } => self.link.order(Order::Fetch { id, buffers, len }),
                Action::RdmaWrite { id, buffers, len } => {
                    let mut data = self.data.remove(&id).unwrap_or_default();
                    data.truncate(len as usize);
                    add(&mut self.counts.rdma_out, data.len());
                    self.link.order(Order::Deliver { id, data, buffers });
                }
                Action::Transform { id, len } => {
                    let data = self.data.get_mut(&id).and_then(|data| data.get_mut(..len as usize));
                    // Without its data a request fails.
                    let _ = self.connection.transform(now(), id, &mut [data.unwrap_or_default()]);
                }
                Action::File { id, operation } => self.start(id, operation),
                Action::Cancel(id) => self.cancel(id),
                Action::SessionReplaced { session_id, user } => {
                    self.host.replaced(self.number, session_id, &user);
                }
                Action::Close(reason) => return Some(reason.to_string()),
            }
        }
        // What was asked for was asked for by now: data of requests that have failed are nobody's.
        self.data.clear();
        None
    }

    fn start(&mut self, id: OperationId, operation: Operation) {
        self.running.insert(id);
        let (host, number) = (Arc::clone(&self.host), self.number);
        let data = self.data.remove(&id).unwrap_or_default();
        spawn_blocking(move || carry_out(&host, number, id, operation, data, now()));
    }

    /// The client does not want to wait for a lock. One that is still being tried is looked at when it waits.
    fn cancel(&mut self, id: OperationId) {
        if self.running.contains(&id) {
            self.cancelled.insert(id);
        }
        let ended = self.host.files().cancel(self.number, id);
        if let Some(completion) = ended {
            self.host.tell(self.number, Told::Done(id, completion, None));
        }
    }

    /// Waits until something has happened.
    async fn wait(&mut self, wants_messages: bool) -> Result<Happened, String> {
        let until = self.connection.deadline();
        let (link, told) = (&mut self.link, &mut self.told);
        let mut time = pin!(async move {
            match until {
                Some(until) => {
                    // Units of 100 ns.
                    let left = until.saturating_sub(now()).saturating_mul(100);
                    sleep(Duration::from_nanos(left).saturating_add(Duration::from_millis(1))).await;
                }
                None => std::future::pending().await,
            }
        });
        poll_fn(|cx| {
            if let Poll::Ready(Some(told)) = told.poll_recv(cx) {
                return Poll::Ready(Ok(Happened::Told(told)));
            }
            if let Poll::Ready(event) = link.poll_event(cx, wants_messages) {
                return Poll::Ready(event.map(Happened::Link).map_err(|lost| lost.to_string()));
            }
            time.as_mut().poll(cx).map(|()| Ok(Happened::Time))
        })
        .await
    }

    fn on(&mut self, happened: Happened) {
        let now = now();
        match happened {
            Happened::Link(Event::Message(mut message)) => {
                add(&mut self.counts.messages_in, message.len());
                self.connection.received(now, &mut message);
            }
            Happened::Link(Event::Fetched(id, data)) => {
                let is_success = data.is_some();
                let data = data.unwrap_or_default();
                add(&mut self.counts.rdma_in, data.len());
                self.data.insert(id, data);
                // It was asked for.
                let _ = self.connection.rdma_done(now, id, is_success);
            }
            Happened::Link(Event::Delivered(id, is_success)) => {
                let _ = self.connection.rdma_done(now, id, is_success);
            }
            Happened::Told(told) => self.on_told(now, told),
            Happened::Time => self.connection.timeout(now),
        }
    }

    fn on_told(&mut self, now: u64, told: Told) {
        match told {
            Told::Done(id, completion, data) => {
                self.running.remove(&id);
                self.cancelled.remove(&id);
                if let Some(data) = data.filter(|data| !data.is_empty()) {
                    self.data.insert(id, data);
                }
                // The server has forgotten it if its client has left.
                let _ = self.connection.completed(now, id, completion);
            }
            Told::Waits(id) => {
                self.running.remove(&id);
                let _ = self.connection.prolong(now, id);
                if self.cancelled.remove(&id) {
                    self.cancel(id);
                }
            }
            Told::Replaced { session_id, user } => self.connection.end_session(now, session_id, &user),
        }
    }

    /// Tells of a session as soon as there is one.
    fn look(&mut self, logged_in: &mut impl FnMut(&About)) {
        let had_user = self.about.as_ref().is_some_and(|about| about.user.is_some());
        let Some(about) = self.connection.about() else { return };
        if !had_user && about.user.is_some() {
            logged_in(&about);
        }
        // What it was stays known when its sessions have ended.
        if !had_user || about.user.is_some() {
            self.about = Some(about);
        }
    }
}

fn add(count: &mut u64, bytes: usize) {
    *count = count.saturating_add(bytes as u64);
}

/// The time as a FILETIME.
#[expect(clippy::disallowed_methods, reason = "clients are told the time of the day, and files have it")]
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos() / 100).unwrap_or(0).saturating_add(EPOCH)
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stops| *stops).await.is_err() {
        // Nobody can say so any more.
        std::future::pending::<()>().await;
    }
}
