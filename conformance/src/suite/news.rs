//! Lets time pass, and adds the reports of the rig to the records.

use std::time::Duration;

use smbd_core::error::WorkError;
use smbd_core::{Instant, Token};

use super::play::Play;
use super::rig::{News, Order};
use super::script::Data;
use super::seen::Message;
use super::state::Link;
use super::trace::{By, Kind, Packet, What};
use super::waiting::Cut;

impl Play {
    /// Lets time pass, whatever happens in it.
    pub fn pass(&mut self, time: Duration) {
        let until = self.now().saturating_add(time);
        self.wait_for("time to pass", until, |_| false);
    }

    /// Lets time pass until `done` says so, which is what it waits for; `false` if it did not until then.
    pub(super) fn wait_for(
        &mut self,
        what: &'static str,
        until: Instant,
        mut done: impl FnMut(&Self) -> bool,
    ) -> bool {
        let begin = self.now();
        let end = self.limit.map_or(until, |limit| until.min(limit));
        self.watch.set(what);
        loop {
            self.take_news();
            self.say_what_is_urgent();
            if done(self) {
                return true;
            }
            let now = self.now();
            if now >= end {
                if end < until {
                    let (waited, whole) = (now.saturating_since(begin), until.saturating_since(begin));
                    self.cut.get_or_insert(Cut { what, waited, whole });
                }
                return false;
            }
            self.rig.pass(end);
        }
    }

    /// What upper layers wait for before they answer anything, as far as there are credits for it.
    fn say_what_is_urgent(&mut self) {
        for id in 0..self.states.len() {
            while self.states[id].credits > 0
                && let Some(message) = self.states[id].dialogue.urgent()
            {
                let credits_requested = self.states[id].asking;
                let data = Data { credits_requested, ..Data::of(&message) };
                if self.peer(id).send_now(&data).is_err() {
                    return;
                }
            }
        }
    }

    /// Takes in all that the rig has noticed.
    pub(super) fn take_news(&mut self) {
        for event in self.rig.seen() {
            let at = Instant::from_nanos(event.at);
            self.record.trace.push(at, event.connection, event.by, event.what);
        }
        for id in 0..self.states.len() {
            while let Some((at, news)) = self.rig.news(id) {
                self.take(id, at, news);
            }
        }
    }

    fn take(&mut self, id: usize, at: Instant, news: News) {
        match news {
            News::Connected(limits) => {
                let state = &mut self.states[id];
                state.limits = Some(limits);
                if matches!(state.link, Link::Opening) {
                    state.link = Link::Up;
                }
                self.note(id, By::Script, What::Connected);
            }
            News::ConnectFailed(reason) => {
                let state = &mut self.states[id];
                (state.link, state.down_at) = (Link::Failed(reason), Some(at));
                self.note(id, By::Script, What::ConnectFailed { reason: reason.to_string() });
                self.note_trouble(id);
            }
            News::Disconnected => {
                let state = &mut self.states[id];
                (state.link, state.down_at) = (Link::Down, Some(at));
                self.note(id, By::Script, What::Disconnected);
                self.note_trouble(id);
            }
            News::Message(bytes, invalidated) => self.take_message(id, at, bytes, invalidated),
            News::Done(ticket, result) => {
                let state = &mut self.states[id];
                if state.awaited.contains(&ticket) {
                    state.ended.insert(ticket, result);
                }
                match result {
                    // The end of the connection, not a failure of its own.
                    Ok(()) | Err(WorkError::Flushed) => {}
                    Err(WorkError::LocalLength) => self.too_long(id),
                    Err(error) => {
                        state.failures.push(error);
                        self.note(id, By::Script, What::WorkFailed { text: error.to_string() });
                    }
                }
            }
            News::Registered(ticket, segments) => {
                self.states[id].registered.insert(ticket, segments);
            }
        }
    }

    fn note_trouble(&mut self, id: usize) {
        if let Some(text) = self.rig.trouble(id).map(str::to_owned) {
            self.note(id, By::Script, What::Step { text });
        }
    }

    /// A message of the subject did not fit into a receive of the script, which is as long as the script has said.
    fn too_long(&mut self, id: usize) {
        let state = &self.states[id];
        let (len, accepts) = (state.receive_len, self.subject_accepts());
        let announced = state.announced.map_or(0, |all| all.preferred_send_size());
        // What it said it prefers may be more than it may send: then that is what it has not reduced.
        let statement = match announced > len {
            false => "3.1.5.4-13",
            true if accepts => "3.1.5.6-14",
            true => "3.1.5.7-14",
        };
        let text = format!("a message of {len} bytes at most should come, a longer one came");
        self.note(id, By::Script, What::WorkFailed { text: text.clone() });
        self.shared(id, statement, false, || text);
    }

    fn take_message(&mut self, id: usize, at: Instant, bytes: Vec<u8>, invalidated: Option<Token>) {
        let state = &mut self.states[id];
        if matches!(state.link, Link::Opening) {
            state.link = Link::Up;
        }
        let kind = state.kind(By::Subject, state.came);
        let reposts = state.came(kind, &bytes);
        let len = state.receive_len;
        let (left, len_came) = (state.granted, bytes.len());
        let overdrawn = kind == Kind::DataTransfer && left < 0 && !state.raw;
        let packet = Packet::of(kind, &bytes, invalidated.map(|token| token.0));
        state.show(Message { at, bytes, invalidated, left });
        self.record.trace.push(at, id, By::Subject, What::Message(packet));
        self.shared(id, "3.1.5.1-06 +3.1.5.1-09", !overdrawn, || {
            format!("without a credit nothing should come, a message of {len_came} bytes came, {} more than were granted", -left)
        });
        // Without room the subject gets no credit for it, which its next message will show.
        if reposts && self.rig.order(id, Order::Receive(len)).is_ok() {
            self.states[id].posted += 1;
            self.states[id].ungranted += 1;
        }
    }
}
