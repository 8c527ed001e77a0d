//! The gateway as an owner: it takes what no rule matches, and asks for slots when they are too few.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use smbd_broker::client::{OwnedConnection, Slots};
use smbd_broker::owner::{Calls, News};
use smbd_broker::socket::{PacketBuffer, PacketSocket};
use smbd_broker::wire::{Call, Limits, Memory, Packet, Reply, VERSION};

use crate::notes::Notes;
use crate::socket::{End, Passed};

/// Slots at first.
pub const SLOTS_MIN: u16 = 8;

/// What others know of the owner. Clones are the same.
#[derive(Clone, Default)]
pub struct Owner(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    connection: Option<OwnedConnection<End>>,
    /// It takes what no rule matches.
    listens: bool,
    /// No connection comes any more.
    is_over: bool,
    /// It leaves.
    is_leaving: bool,
    wakers: Vec<Waker>,
}

impl Owner {
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.borrow_mut();
        change(&mut state);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// No connection comes any more.
    pub fn set_over(&self) {
        self.change(|state| state.is_over = true);
    }

    /// Its socket is closed.
    pub fn leave(&self) {
        self.change(|state| state.is_leaving = true);
    }

    /// Waits until it takes what no rule matches. Not if the broker is gone before.
    pub async fn listens(&self) {
        poll_fn(|cx| self.poll(cx, |state| (state.listens || state.is_over).then_some(()))).await;
    }

    /// The connection that comes; `None` if none will.
    pub async fn connection(&self) -> Option<OwnedConnection<End>> {
        let come = |state: &mut State| {
            let connection = state.connection.take();
            (connection.is_some() || state.is_over).then_some(connection)
        };
        poll_fn(|cx| self.poll(cx, come)).await
    }

    fn poll<T>(&self, cx: &Context<'_>, mut wanted: impl FnMut(&mut State) -> Option<T>) -> Poll<T> {
        let mut state = self.0.borrow_mut();
        if let Some(wanted) = wanted(&mut state) {
            return Poll::Ready(wanted);
        }
        state.wakers.push(cx.waker().clone());
        Poll::Pending
    }

    fn is_leaving(&self, cx: &Context<'_>) -> bool {
        let mut state = self.0.borrow_mut();
        state.wakers.push(cx.waker().clone());
        state.is_leaving
    }
}

/// Has the socket of the owner.
pub struct Task {
    owner: Owner,
    notes: Notes,
    socket: End,
    calls: Calls,
    outgoing: VecDeque<Packet>,
    welcome: Option<(Limits, Slots<Passed>)>,
    /// How many more slots it asks for, as long as the broker has no answer to that.
    asked: Option<u16>,
}

impl Task {
    pub fn new(owner: &Owner, socket: End, notes: &Notes) -> Self {
        let mut task = Self {
            owner: owner.clone(),
            notes: notes.clone(),
            socket,
            calls: Calls::new(),
            outgoing: VecDeque::new(),
            welcome: None,
            asked: None,
        };
        task.call(Call::Hello { version: VERSION, name: "gateway".into() });
        task
    }

    /// Goes on until it is to leave, or the broker is gone.
    pub async fn run(mut self) {
        poll_fn(|cx| self.poll(cx)).await;
        self.owner.set_over();
        self.notes.step(|| "owner: over".into());
    }

    fn call(&mut self, call: Call) {
        let (_, packet) = self.calls.call(call);
        self.outgoing.push_back(packet);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.owner.is_leaving(cx) {
                return Poll::Ready(());
            }
            while let Some(packet) = self.outgoing.front() {
                match self.socket.poll_send(cx, packet.bytes(), None) {
                    Poll::Ready(Ok(())) => drop(self.outgoing.pop_front()),
                    Poll::Ready(Err(_)) => return Poll::Ready(()),
                    Poll::Pending => break,
                }
            }
            let mut has_moved = self.ask_for_slots(cx);
            let mut packet = PacketBuffer::new();
            match self.socket.poll_receive(cx, &mut packet) {
                Poll::Ready(Ok(passed)) => {
                    self.received(&packet, passed);
                    has_moved = true;
                }
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Pending => {}
            }
            if !has_moved {
                return Poll::Pending;
            }
        }
    }

    fn ask_for_slots(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((limits, slots)) = &self.welcome else { return false };
        if self.asked.is_some() || slots.poll_short(cx).is_pending() {
            return false;
        }
        let (total, slots_max) = (slots.count().0, limits.slots_max);
        self.grow(total, slots_max, total);
        true
    }

    fn grow(&mut self, total: u16, slots_max: u16, more: u16) {
        self.asked = Some(more);
        self.call(Call::GetMemParams { slots: (total + more).min(slots_max) });
    }

    fn received(&mut self, packet: &PacketBuffer, passed: Vec<Passed>) {
        let news = match self.calls.received(packet.bytes()) {
            Ok(news) => news,
            Err(error) => return self.notes.judge(Err(format!("wire: {error}"))),
        };
        let mut passed = passed.into_iter();
        for news in news {
            let with = if news.has_descriptor() { passed.next() } else { None };
            self.notes.step(|| format!("owner: {news:?}"));
            self.on(news, with);
        }
    }

    fn on(&mut self, news: News, with: Option<Passed>) {
        match (news, with) {
            (News::Answer { result: Ok(Reply::Welcome(welcome)), .. }, None) => {
                self.welcome = Some((welcome.limits, Slots::new(&welcome.limits)));
                self.call(Call::Listen { is_on: true });
                self.grow(0, welcome.limits.slots_max, SLOTS_MIN);
            }
            (News::Answer { result: Ok(Reply::Memory(memory)), .. }, with) => self.on_memory(memory, with),
            (News::Answer { result: Ok(Reply::Done), .. }, None) => {
                self.owner.change(|state| state.listens = true);
            }
            (News::Answer { result: Err(refusal), .. }, None) => {
                let Some((limits, slots)) = &self.welcome else { return };
                let (total, slots_max) = (slots.count().0, limits.slots_max);
                match self.asked.take().map(|more| more / 2) {
                    None => self.notes.judge(Err(format!("answers to calls: {refusal}"))),
                    Some(0) => slots.none_added(),
                    Some(more) => self.grow(total, slots_max, more),
                }
            }
            (News::New(newcomer), Some(Passed::Socket(socket))) => {
                let Some((limits, slots)) = &self.welcome else { return };
                let connection = OwnedConnection::new(newcomer, socket, *limits, slots.clone());
                self.owner.change(|state| state.connection = Some(connection));
            }
            (news, with) => self.notes.judge(Err(format!("wire: {news:?} with {with:?}"))),
        }
    }

    fn on_memory(&mut self, memory: Memory, with: Option<Passed>) {
        self.asked = None;
        let Some((_, slots)) = &self.welcome else { return };
        match with {
            Some(passed) => slots.add(memory, passed),
            None => slots.none_added(),
        }
    }
}
