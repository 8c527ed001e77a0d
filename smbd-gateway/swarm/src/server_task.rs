//! The server of a run: its model at the other end of the stream.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::Context;

use smbd_core::Instant;

use crate::notes::Notes;
use crate::plan::{End, Plan};
use crate::turns::{AtStream, Tried, read, write};
use smbd_testkit::Chance;
use smbd_testkit::relay::{Client, Server};
use smbd_testkit::swarm::pipe;

pub struct ServerTask {
    pub plan: Rc<Plan>,
    pub notes: Notes,
    pub end: pipe::End,
    pub model: Rc<RefCell<Server>>,
    pub client: Rc<RefCell<Client>>,
    pub chance: Chance,
    reads_at: Instant,
    answers_at: Instant,
}

impl ServerTask {
    pub fn new(
        plan: &Rc<Plan>,
        notes: &Notes,
        end: pipe::End,
        models: (&Rc<RefCell<Client>>, &Rc<RefCell<Server>>),
        chance: Chance,
    ) -> Self {
        Self {
            plan: Rc::clone(plan),
            notes: notes.clone(),
            end,
            model: Rc::clone(models.1),
            client: Rc::clone(models.0),
            chance,
            reads_at: Instant::ORIGIN,
            answers_at: Instant::ORIGIN,
        }
    }

    fn now(&self) -> Instant {
        self.notes.stage().now()
    }

    /// Whether its end is due. One in order is behind all answers that were begun.
    fn is_to_end(&self) -> bool {
        let model = self.model.borrow();
        let is_late = model.received.len() > self.plan.end_at + 3;
        match self.plan.end {
            End::ServerFinishes => {
                let is_amid_burst = self.plan.pace.bursts.is_some() && model.has_answers();
                is_late && model.out.is_empty() && !is_amid_burst
            }
            End::ServerResets => is_late,
            _ => false,
        }
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Tried {
        if self.reads_at > self.now() {
            return Tried::Nothing;
        }
        let bytes = match read(&mut self.end, cx) {
            Ok(bytes) => bytes,
            Err(tried) => return tried,
        };
        let before = self.model.borrow().received.len();
        let result = self.model.borrow_mut().receive(&bytes, &self.client.borrow(), &mut self.chance);
        self.notes.judge(result);
        let model = self.model.borrow();
        if model.received.len() > before {
            self.notes.step(|| format!("server: has received {:?}", &model.received[before..]));
        }
        drop(model);
        if self.chance.one_in(24) {
            self.reads_at = self.notes.soon(&mut self.chance, self.plan.pace.stalls);
        }
        Tried::Something
    }

    fn answer(&mut self) -> Tried {
        let is_silent = self.plan.end == End::NoSession && self.model.borrow().received.len() > 1;
        if is_silent || self.answers_at > self.now() || !self.model.borrow().has_answers() {
            return Tried::Nothing;
        }
        self.model.borrow_mut().answer(&self.client.borrow(), &mut self.chance);
        let has_more = self.model.borrow().has_answers();
        self.answers_at = match self.plan.pace.bursts {
            Some(_) if has_more => self.now(),
            Some(pause) => self.notes.soon(&mut self.chance, pause),
            None => self.notes.soon(&mut self.chance, self.plan.pace.answers),
        };
        Tried::Something
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Tried {
        write(&mut self.end, &mut self.model.borrow_mut().out, cx)
    }
}

impl AtStream for ServerTask {
    const NAME: &'static str = "server";

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn leaves(&mut self) -> bool {
        if !self.is_to_end() {
            return false;
        }
        self.notes.note(|seen| seen.is_struck = true);
        self.notes.step(|| format!("server: {:?}", self.plan.end));
        if self.plan.end == End::ServerResets {
            self.end.reset();
        }
        true
    }

    fn act(&mut self, cx: &mut Context<'_>) -> [Tried; 3] {
        [self.write(cx), self.read(cx), self.answer()]
    }

    fn next_time(&self, now: Instant) -> Option<Instant> {
        let answers = self.model.borrow().has_answers().then_some(self.answers_at);
        [Some(self.reads_at), answers].into_iter().flatten().filter(|at| *at > now).min()
    }
}
