//! A client: its connections, and what they share.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use smbd_smb2::server::{Action, Client, ConnectionId, LinkId, OperationId};
use smbd_smb2::wire::Guid;
use tokio::sync::mpsc::{self, UnboundedReceiver, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::clock::{Clock, now};
use super::host::{Host, REPLACED_MAX, Replaced, Told};
use super::member::{End, First, Member, Newcomer, News, add, stopped};
use super::named::LOOKING_MAX;
use crate::announce::Known;
use crate::link::{Data, Event, Order};
use crate::served::Served;

/// Gives a connection to its client, which begins if it is the first.
pub(super) fn admit<F: Served>(
    host: &Arc<Host<F>>,
    guid: Option<Guid>,
    newcomer: Newcomer,
    stop: &watch::Receiver<bool>,
    drain: Duration,
) {
    let Some((newcomer, joining)) = host.give(guid, newcomer) else { return };
    let mut seed = [0; 32];
    if let Err(error) = getrandom::fill(&mut seed) {
        let _ = newcomer.ended.send(End { why: format!("the system has no entropy: {error}"), seen: None });
        return;
    }
    let (tell, told) = unbounded_channel();
    let (tell_replaced, replaced) = mpsc::channel(REPLACED_MAX);
    let (number, clock) = (host.enter(tell, tell_replaced), Clock::new());
    let client = Client::new(Arc::clone(host.server()), newcomer.link.transport(), clock.now(), seed);
    let mut group = Group {
        host: Arc::clone(host),
        number,
        clock,
        client,
        members: BTreeMap::new(),
        joining,
        turned_away: Vec::new(),
        told,
        replaced,
        data: BTreeMap::new(),
        running: BTreeSet::new(),
        cancelled: BTreeSet::new(),
        turns: Arc::new(Semaphore::new(LOOKING_MAX)),
        last: LinkId::FIRST,
        known: host.known(guid),
    };
    group.take(LinkId::FIRST, newcomer);
    tokio::spawn(group.serve(guid, stop.clone(), drain));
}

pub(super) struct Group<F: Served> {
    pub(super) host: Arc<Host<F>>,
    pub(super) number: ConnectionId,
    pub(super) clock: Clock,
    pub(super) client: Client,
    pub(super) members: BTreeMap<LinkId, Member>,
    /// Other connections of the client.
    joining: mpsc::Receiver<Newcomer>,
    /// Those that came when the last of the others had ended.
    turned_away: Vec<Newcomer>,
    told: UnboundedReceiver<Told>,
    replaced: mpsc::Receiver<Replaced>,
    /// Memory with what was fetched for an operation, or read by it.
    pub(super) data: BTreeMap<OperationId, Data>,
    /// Operations that a thread carries out.
    pub(super) running: BTreeSet<OperationId>,
    /// Those of them for which the client does not want to wait.
    pub(super) cancelled: BTreeSet<OperationId>,
    /// To look up paths.
    pub(super) turns: Arc<Semaphore>,
    /// The connection that was listened to last.
    last: LinkId,
    /// What a broker knows of it, if it is told.
    known: Option<Known>,
}

enum Happened {
    Link(LinkId, Event),
    Lost(LinkId, String),
    Told(Told),
    /// None: too many have waited.
    Replaced(Option<Replaced>),
    Joined(Newcomer),
    Time,
}

impl<F: Served> Group<F> {
    async fn serve(mut self, guid: Option<Guid>, mut stop: watch::Receiver<bool>, drain: Duration) {
        tokio::select! {
            () = self.run() => {}
            () = stopped(&mut stop) => {
                // What it asked for is done, if that does not take too long.
                let _ = timeout(drain, self.finish()).await;
            }
        }
        let host = Arc::clone(&self.host);
        for newcomer in self.end().await {
            admit(&host, guid, newcomer, &stop, drain);
        }
    }

    /// Serves it until it is over. Whatever is dropped of it goes on.
    async fn run(&mut self) {
        loop {
            self.announce().await;
            self.act();
            if self.client.has_ended() {
                return;
            }
            for (on, member) in &mut self.members {
                member.look(self.client.about(*on));
            }
            let happened = self.wait(true).await;
            self.on(happened);
        }
    }

    /// Tells the broker of sessions that have begun or ended, before the client gets an answer.
    async fn announce(&mut self) {
        if let Some(known) = self.known.as_mut().filter(|known| !known.is(self.client.sessions())) {
            known.tell(self.client.sessions().collect()).await;
        }
    }

    /// Finishes what is being done, and sends the answers.
    async fn finish(&mut self) {
        loop {
            self.act();
            let is_busy = self.members.values().any(|member| member.link.is_transferring());
            if self.client.has_ended() || (self.running.is_empty() && !is_busy) {
                break;
            }
            let happened = self.wait(false).await;
            self.on(happened);
        }
        for member in self.members.values_mut() {
            poll_fn(|cx| member.link.poll_idle(cx)).await;
        }
    }

    /// Ends all connections, waits for threads that still use its files, and closes these. Returns connections that were not taken.
    async fn end(mut self) -> Vec<Newcomer> {
        self.joining.close();
        self.host.forget();
        while let Ok(newcomer) = self.joining.try_recv() {
            self.turned_away.push(newcomer);
        }
        for on in self.members.keys().copied().collect::<Vec<_>>() {
            self.client.closed(on);
        }
        let close = |(_, mut member): (_, Member)| {
            tokio::spawn(async move {
                member.close().await;
                member
            })
        };
        let closing: Vec<_> = std::mem::take(&mut self.members).into_iter().map(close).collect();
        let mut members = Vec::new();
        for member in closing {
            members.extend(member.await);
        }
        while !self.running.is_empty() {
            match self.told.recv().await {
                Some(Told::Done(id, ..) | Told::Waits(id)) => drop(self.running.remove(&id)),
                None => break,
            }
        }
        let (host, number) = (Arc::clone(&self.host), self.number);
        // What goes with its last user is deleted there.
        let _ = spawn_blocking(move || host.leave(number, now())).await;
        // Until then a client that comes again comes here, where its files are.
        if let Some(known) = self.known.take() {
            known.end().await;
        }
        for mut member in members {
            let why = member.why.take().unwrap_or_else(|| "the server ends".to_owned());
            member.tell(why);
        }
        self.turned_away
    }

    /// Takes a connection, and its first message.
    fn take(&mut self, on: LinkId, newcomer: Newcomer) {
        let Newcomer { link, first, mut news, ended } = newcomer;
        news(News::Client(self.number));
        self.members.insert(on, Member::new(link, news, ended));
        let event = match first {
            First::Message(message) => Event::Message(message),
            First::Past(request) => Event::PastRequest(request),
        };
        self.on_event(self.clock.now(), on, event);
    }

    /// Does all that the server wants done.
    fn act(&mut self) {
        while let Some((on, action)) = self.client.poll() {
            let member = on.and_then(|on| self.members.get_mut(&on));
            match (action, member) {
                (Action::Send { message, invalidate }, Some(member)) => {
                    add(&mut member.counts.messages_out, message.bytes().len());
                    member.link.order(Order::send(message, invalidate));
                }
                (Action::RdmaRead { id, buffers, len }, Some(member)) => {
                    member.link.order(Order::Fetch { id, buffers, len });
                }
                (Action::RdmaWrite { id, buffers, len }, Some(member)) => match self.data.remove(&id) {
                    Some(data) => {
                        add(&mut member.counts.rdma_out, len as usize);
                        member.link.order(Order::Deliver { id, data, len, buffers });
                    }
                    // It was read.
                    None => _ = self.client.rdma_done(self.clock.now(), id, false),
                },
                (Action::Transform { id, len }, _) => self.transform(id, len),
                (Action::File { id, operation }, _) => self.start(on, id, operation),
                (Action::Cancel(id), _) => self.cancel(id),
                (Action::SessionReplaced { session_id, user }, _) => {
                    self.host.replaced(self.number, session_id, &user);
                }
                (Action::Refused(refused), Some(member)) => member.refused(&refused),
                (Action::Close(reason), Some(member)) => {
                    member.why.get_or_insert_with(|| reason.to_string());
                    self.part(on);
                }
                // Of a connection that is there no more.
                (_, None) => {}
            }
        }
        // What was asked for was asked for by now: data of requests that have failed are nobody's.
        self.data.clear();
    }

    /// A connection has ended, and others go on. The last ends with the files.
    fn part(&mut self, on: Option<LinkId>) {
        if self.client.has_ended() {
            return;
        }
        let Some(mut member) = on.and_then(|on| self.members.remove(&on)) else { return };
        tokio::spawn(async move {
            member.close().await;
            let why = member.why.take().unwrap_or_default();
            member.tell(why);
        });
    }

    /// Waits until something has happened.
    async fn wait(&mut self, wants_messages: bool) -> Happened {
        let left = self.client.deadline().map(|until| self.clock.until(until));
        let mut time = pin!(async move {
            match left {
                Some(left) => sleep(left.saturating_add(Duration::from_millis(1))).await,
                None => std::future::pending().await,
            }
        });
        poll_fn(|cx| {
            if let Poll::Ready(Some(told)) = self.told.poll_recv(cx) {
                return Poll::Ready(Happened::Told(told));
            }
            if let Poll::Ready(replaced) = self.replaced.poll_recv(cx) {
                return Poll::Ready(Happened::Replaced(replaced));
            }
            if wants_messages && let Poll::Ready(Some(newcomer)) = self.joining.poll_recv(cx) {
                return Poll::Ready(Happened::Joined(newcomer));
            }
            if let Poll::Ready(happened) = self.poll_members(cx, wants_messages) {
                return Poll::Ready(happened);
            }
            time.as_mut().poll(cx).map(|()| Happened::Time)
        })
        .await
    }

    /// What has come on one of the connections, each of which has its turn.
    fn poll_members(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Happened> {
        let last = self.last;
        // Those behind the one that was listened to last come first.
        for is_behind in [true, false] {
            for (on, member) in self.members.iter_mut().filter(|(on, _)| (**on > last) == is_behind) {
                if member.ended.poll_closed(cx).is_ready() {
                    return Poll::Ready(Happened::Lost(*on, "nobody serves it any more".to_owned()));
                }
                if let Poll::Ready(event) = member.link.poll_event(cx, wants_messages) {
                    self.last = *on;
                    return Poll::Ready(match event {
                        Ok(event) => Happened::Link(*on, event),
                        Err(lost) => Happened::Lost(*on, lost),
                    });
                }
            }
        }
        Poll::Pending
    }

    fn on(&mut self, happened: Happened) {
        let now = self.clock.now();
        match happened {
            Happened::Link(on, event) => self.on_event(now, on, event),
            Happened::Lost(on, why) => self.lose(on, why),
            Happened::Replaced(Some(Replaced { session_id, user })) => {
                self.client.end_session(now, session_id, &user);
            }
            Happened::Replaced(None) => {
                let why = format!("more than {REPLACED_MAX} sessions were replaced and not looked at");
                let all: Vec<_> = self.members.keys().copied().collect();
                all.into_iter().for_each(|on| self.lose(on, why.clone()));
            }
            Happened::Told(told) => self.on_told(now, told),
            Happened::Joined(newcomer) => match self.client.join(newcomer.link.transport(), now) {
                Some(on) => self.take(on, newcomer),
                None => self.turned_away.push(newcomer),
            },
            Happened::Time => self.client.timeout(now),
        }
    }

    pub(super) fn lose(&mut self, on: LinkId, why: String) {
        if let Some(member) = self.members.get_mut(&on) {
            member.why = Some(why);
        }
        self.client.closed(on);
    }

    fn on_event(&mut self, now: u64, on: LinkId, event: Event) {
        let Some(member) = self.members.get_mut(&on) else { return };
        match event {
            Event::Message(mut message) => {
                add(&mut member.counts.messages_in, message.len());
                self.client.received(now, on, &mut message);
            }
            Event::PastRequest(request) => self.client.past_request(now, on, &request),
            Event::PastResponse(response) => self.client.past_response(now, on, &response),
            Event::Fetched { id, data, len } => {
                let is_success = data.is_some();
                if let Some(data) = data {
                    add(&mut member.counts.rdma_in, len as usize);
                    self.data.insert(id, data);
                }
                // It was asked for.
                let _ = self.client.rdma_done(now, id, is_success);
            }
            Event::Delivered(id, is_success) => {
                let _ = self.client.rdma_done(now, id, is_success);
            }
        }
    }

    fn on_told(&mut self, now: u64, told: Told) {
        match told {
            Told::Done(id, completion, data) => {
                self.running.remove(&id);
                self.cancelled.remove(&id);
                if let Some(data) = data {
                    self.data.insert(id, data);
                }
                // The server has forgotten it if its client has left.
                let _ = self.client.completed(now, id, completion);
            }
            Told::Waits(id) => {
                self.running.remove(&id);
                let _ = self.client.prolong(now, id);
                if self.cancelled.remove(&id) {
                    self.cancel(id);
                }
            }
        }
    }
}
