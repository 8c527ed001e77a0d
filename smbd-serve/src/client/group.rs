//! A client: its connections, and what they share.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use smbd_link::time::within;
use smbd_smb2::server::{Action, Client, ConnectionId, LinkId, Misuse, OperationId};
use smbd_smb2::wire::Guid;
use tokio::sync::{Semaphore, oneshot, watch};

use super::host::{Host, Opening};
use super::inbox::{Completed, Inbox, REPLACED_MAX, Told};
use super::member::{End, First, Member, Moved, Newcomer, stopped};
use super::named::LOOKING_MAX;
use super::running::Running;
use super::surroundings::{Surroundings, Times};
use crate::announce::Known;
use crate::link::{Data, Event, Order};
use crate::served::Served;

/// Gives a connection to its client, which begins if it is the first.
pub(super) fn admit<F: Served, A: Surroundings>(
    host: &Arc<Host<F, A>>,
    guid: Option<Guid>,
    newcomer: Box<Newcomer<A>>,
    stop: &watch::Receiver<bool>,
    drain: Duration,
) {
    let (mut seed, around) = ([0; 32], newcomer.around.clone());
    if let Err(why) = around.random(&mut seed) {
        let _ = newcomer.ended.send(End { why, seen: None });
        return;
    }
    let Some(Opening { newcomer, number, inbox }) = host.give(guid, newcomer) else { return };
    let mut times = Times::begin(around.clone());
    let client = Client::new(Arc::clone(host.server()), newcomer.link.transport(), times.now(), seed);
    let mut group = Group {
        host: Arc::clone(host),
        number,
        times,
        client,
        members: BTreeMap::new(),
        inbox,
        turned_away: Vec::new(),
        data: BTreeMap::new(),
        running: Running::default(),
        turns: Arc::new(Semaphore::new(LOOKING_MAX)),
        last: LinkId::FIRST,
        known: host.known(guid),
    };
    group.take(LinkId::FIRST, *newcomer);
    around.spawn(group.serve(guid, stop.clone(), drain));
}

pub(super) struct Group<F: Served, A: Surroundings> {
    pub(super) host: Arc<Host<F, A>>,
    pub(super) number: ConnectionId,
    /// Those of the first connection.
    pub(super) times: Times<A>,
    pub(super) client: Client,
    pub(super) members: BTreeMap<LinkId, Member<A>>,
    pub(super) inbox: Inbox<A>,
    /// Connections that came when the last of the others had ended.
    turned_away: Vec<Box<Newcomer<A>>>,
    /// Memory with what was fetched for an operation, or read by it.
    pub(super) data: BTreeMap<OperationId, Data>,
    pub(super) running: Running,
    /// To look up paths.
    pub(super) turns: Arc<Semaphore>,
    /// The connection that was listened to last.
    pub(super) last: LinkId,
    /// What a broker knows of it, if it is told.
    known: Option<Known>,
}

/// What may happen.
pub(super) enum Happened<A> {
    Link(LinkId, Event),
    Lost(LinkId, String),
    Told(Told<A>),
    Time,
}

impl<F: Served, A: Surroundings> Group<F, A> {
    async fn serve(mut self, guid: Option<Guid>, mut stop: watch::Receiver<bool>, drain: Duration) {
        let is_stopped = tokio::select! {
            biased;
            () = stopped(&mut stop) => true,
            () = self.run() => false,
        };
        if is_stopped {
            // What it asked for is done, if that does not take too long.
            let around = self.times.around.clone();
            let _ = within(&around, drain, self.finish()).await;
        }
        let host = Arc::clone(&self.host);
        for newcomer in self.end(guid).await {
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
            match self.wait(false).await {
                // Nothing of it is taken any more.
                Happened::Told(Told::Joined(newcomer)) => self.turned_away.push(newcomer),
                other => self.on(other),
            }
        }
        for member in self.members.values_mut() {
            poll_fn(|cx| member.link.poll_idle(cx)).await;
        }
    }

    /// Ends all connections, waits for threads that still use its files, and closes these. Returns connections that were not taken.
    async fn end(mut self, guid: Option<Guid>) -> Vec<Box<Newcomer<A>>> {
        self.host.forget(guid, self.number);
        while let Some(told) = self.inbox.try_recv() {
            self.hear_late(told);
        }
        for on in self.members.keys().copied().collect::<Vec<_>>() {
            self.client.closed(on);
        }
        let around = self.times.around.clone();
        let close = |(_, mut member): (_, Member<A>)| {
            let (tell, closed) = oneshot::channel();
            around.spawn(async move {
                member.close().await;
                // It is waited for.
                let _ = tell.send(member);
            });
            closed
        };
        let closing: Vec<_> = std::mem::take(&mut self.members).into_iter().map(close).collect();
        let mut members = Vec::new();
        for member in closing {
            members.extend(member.await);
        }
        while !self.running.is_empty() {
            match self.inbox.recv().await {
                Some(told) => self.hear_late(told),
                None => break,
            }
        }
        let (host, number, clock) = (Arc::clone(&self.host), self.number, around.clone());
        // What goes with its last user is deleted there.
        let _ = around.work(move || host.leave(number, clock.date())).await;
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

    /// Takes news when all connections have ended.
    fn hear_late(&mut self, told: Told<A>) {
        match told {
            Told::Completed(Completed { id, .. }) => self.running.end(id),
            Told::Joined(newcomer) => self.turned_away.push(newcomer),
            Told::Replaced { .. } | Told::Overrun => {}
        }
    }

    /// Takes a connection, and its first message.
    fn take(&mut self, on: LinkId, newcomer: Newcomer<A>) {
        let (member, first) = Member::new(self.number, newcomer);
        self.members.insert(on, member);
        let event = match first {
            First::Message(message) => Event::Message(message),
            First::Past(request) => Event::PastRequest(request),
        };
        let now = self.times.now();
        self.on_event(now, on, event);
    }

    /// Does all that the server wants done.
    fn act(&mut self) {
        while let Some((on, action)) = self.client.poll() {
            let member = on.and_then(|on| self.members.get_mut(&on));
            match (action, member) {
                (Action::Send { message, invalidate }, Some(member)) => {
                    member.moved(Moved::MessageOut, message.bytes().len());
                    member.link.order(Order::send(message, invalidate));
                }
                (Action::RdmaRead { id, buffers, len }, Some(member)) => {
                    member.link.order(Order::Fetch { id, buffers, len });
                }
                (Action::RdmaWrite { id, buffers, len }, Some(member)) => match self.data.remove(&id) {
                    Some(data) => {
                        member.moved(Moved::RdmaOut, len as usize);
                        member.link.order(Order::Deliver { id, data, len, buffers });
                    }
                    // It was read.
                    None => self.has_moved(self.times.last(), id, false),
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
        // What was asked for was asked for by now: data of requests that have failed are nobody's. A map that is cleared gives its memory
        // back.
        if !self.data.is_empty() {
            self.data.clear();
        }
    }

    /// A connection has ended, and others go on. The last ends with the files.
    fn part(&mut self, on: Option<LinkId>) {
        if self.client.has_ended() {
            return;
        }
        let Some(mut member) = on.and_then(|on| self.members.remove(&on)) else { return };
        self.times.around.spawn(async move {
            member.close().await;
            let why = member.why.take().unwrap_or_default();
            member.tell(why);
        });
    }

    fn on(&mut self, happened: Happened<A>) {
        let now = self.times.now();
        match happened {
            Happened::Link(on, event) => self.on_event(now, on, event),
            Happened::Lost(on, why) => self.lose(on, why),
            Happened::Told(told) => self.hear(now, told),
            Happened::Time => {
                self.client.timeout(now);
                self.announce_slow(now);
            }
        }
    }

    fn hear(&mut self, now: u64, told: Told<A>) {
        match told {
            Told::Completed(completed) => self.on_completed(now, completed),
            Told::Replaced { session_id, user } => self.client.end_session(now, session_id, &user),
            Told::Overrun => {
                let why = format!("more than {REPLACED_MAX} sessions were replaced and not looked at");
                let all: Vec<_> = self.members.keys().copied().collect();
                all.into_iter().for_each(|on| self.lose(on, why.clone()));
            }
            Told::Joined(newcomer) => match self.client.join(newcomer.link.transport(), now) {
                Some(on) => self.take(on, *newcomer),
                None => self.turned_away.push(newcomer),
            },
        }
    }

    /// Takes the answer of the server to what its driver has told it.
    pub(super) fn expected(&self, told: Result<(), Misuse>) {
        if let Err(misuse) = told {
            self.times.around.misused(misuse);
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
                member.moved(Moved::MessageIn, message.len());
                self.client.received(now, on, &mut message);
                member.around.taken(&message);
            }
            Event::PastRequest(request) => self.client.past_request(now, on, &request),
            Event::PastResponse(response) => self.client.past_response(now, on, &response),
            Event::Fetched { id, data, len } => {
                let is_success = data.is_some();
                if let Some(data) = data {
                    member.moved(Moved::RdmaIn, len as usize);
                    self.data.insert(id, data);
                }
                return self.has_moved(now, id, is_success);
            }
            Event::Delivered(id, is_success) => return self.has_moved(now, id, is_success),
        }
        member.look(self.client.about(on));
    }

    /// Tells the server of the end of a transfer.
    fn has_moved(&mut self, now: u64, id: OperationId, is_success: bool) {
        let told = self.client.rdma_done(now, id, is_success);
        self.expected(told);
    }

    /// Tells the server of the end of an operation.
    pub(super) fn on_completed(&mut self, now: u64, completed: Completed) {
        let Completed { id, completion, data } = completed;
        self.running.end(id);
        if let Some(data) = data {
            self.data.insert(id, data);
        }
        let told = self.client.completed(now, id, completion);
        self.expected(told);
    }
}
