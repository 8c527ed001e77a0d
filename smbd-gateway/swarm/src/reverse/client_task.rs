//! The client of a run: its model at the other end of the stream.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

use smbd_core::Instant;

use super::device::Device;
use super::plan::{End, Plan};
use crate::notes::Notes;
use crate::turns::{AtStream, Tried, read, write};
use smbd_testkit::Chance;
use smbd_testkit::relay::reverse::{Client, Server};
use smbd_testkit::swarm::pipe;

/// Bytes that it has to send, beyond which it asks for nothing new.
const UNSENT_MAX: usize = 20_000;
/// The longest time before the next CANCEL of a client that can send nothing else.
const WITHOUT_CREDITS: Duration = Duration::from_millis(20);

pub struct ClientTask {
    pub plan: Rc<Plan>,
    pub notes: Notes,
    pub end: pipe::End,
    pub model: Rc<RefCell<Client>>,
    pub server: Rc<RefCell<Server>>,
    pub device: Rc<RefCell<Device>>,
    pub chance: Chance,
    pub state: State,
}

/// What it does.
#[derive(Default)]
pub struct State {
    sent: usize,
    thinks_until: Option<Instant>,
    reads_at: Option<Instant>,
    /// It sends nothing new.
    is_silent: bool,
}

impl ClientTask {
    fn now(&self) -> Instant {
        self.notes.stage().now()
    }

    fn is_to_end(&self) -> bool {
        let is_late = self.state.sent > self.plan.common.end_at;
        is_late && matches!(self.plan.end, End::ClientFinishes | End::ClientResets)
    }

    fn is_done(&self) -> bool {
        let model = self.model.borrow();
        let has_sent = model.has_session && !model.has_more() && model.out.is_empty();
        has_sent && model.open.is_empty() && !self.state.is_silent
    }

    /// The next message, if there is one to be sent now, or what the plan has for the end.
    fn think(&mut self) -> Tried {
        let now = self.now();
        let mut model = self.model.borrow_mut();
        if self.state.is_silent || self.state.thinks_until > Some(now) || model.out.len() > UNSENT_MAX {
            return Tried::Nothing;
        }
        let before = model.out.len();
        if self.state.sent > self.plan.common.end_at && model.has_session && model.credits >= 12 {
            match self.plan.end {
                End::Channel(is_signed) => model.with_channel(is_signed),
                End::TooLong => model.too_long(),
                End::Framing => {
                    let header = if self.chance.one_in(2) { [0; 4] } else { [0x81, 0, 0, 4] };
                    model.out.extend_from_slice(&header);
                }
                _ => {}
            }
            if model.out.len() > before {
                self.notes.note(|seen| seen.is_struck = true);
                self.notes.step(|| format!("client: {:?}", self.plan.end));
                self.state.is_silent = true;
                return Tried::Something;
            }
        }
        let of_sent = model.sent.len();
        model.next(&mut self.chance);
        let has_credits = model.credits >= 12;
        if model.out.len() == before {
            return Tried::Nothing;
        }
        self.notes.step(|| format!("client: sends {:?}", &model.sent[of_sent..]));
        drop(model);
        self.state.sent += 1;
        let pace = if has_credits { self.plan.common.pace.thinks } else { WITHOUT_CREDITS };
        self.state.thinks_until = Some(self.notes.soon(&mut self.chance, pace));
        Tried::Something
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Tried {
        let mut model = self.model.borrow_mut();
        let tried = write(&mut self.end, &mut model.out, cx);
        if !matches!(tried, Tried::Over) {
            return tried;
        }
        // What came before is still to be read.
        model.out.clear();
        self.state.is_silent = true;
        Tried::Something
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Tried {
        if self.state.reads_at > Some(self.now()) {
            return Tried::Nothing;
        }
        let bytes = match read(&mut self.end, cx) {
            Ok(bytes) => bytes,
            Err(tried) => return tried,
        };
        let result = self.model.borrow_mut().receive(&bytes, &self.server.borrow(), &*self.device.borrow());
        self.notes.step(|| format!("client: receives {} bytes", bytes.len()));
        self.notes.judge(result);
        if self.chance.one_in(24) {
            self.state.reads_at = Some(self.notes.soon(&mut self.chance, self.plan.common.pace.stalls));
        }
        Tried::Something
    }
}

impl AtStream for ClientTask {
    const NAME: &'static str = "client";

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn leaves(&mut self) -> bool {
        if self.is_to_end() {
            self.notes.note(|seen| seen.is_struck = true);
            self.notes.step(|| format!("client: {:?}", self.plan.end));
            if self.plan.end == End::ClientResets {
                self.end.reset();
            }
            return true;
        }
        let is_done = self.is_done();
        if is_done {
            self.notes.note(|seen| seen.is_done = true);
            self.notes.step(|| "client: done".into());
        }
        is_done
    }

    fn act(&mut self, cx: &mut Context<'_>) -> [Tried; 3] {
        [self.think(), self.write(cx), self.read(cx)]
    }

    fn next_time(&self, now: Instant) -> Option<Instant> {
        let times = [self.state.reads_at, self.state.thinks_until];
        times.into_iter().flatten().filter(|at| *at > now).min()
    }
}
