//! What all of the client have in common: what has begun, what has failed, and the session.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use smbd_client::Session;
use smbd_sim::loops::Stage;
use tokio::sync::oneshot;

use crate::memory::Pooled;
use crate::notes::Notes;
use crate::plan::Plan;
use crate::scene::Scene;
use crate::server::Site;
use smbd_testkit::{Breach, law};

/// Operations of a run that fail because messages are changed.
const FAILURES_MAX: usize = 20;

/// What all of the client have in common.
pub struct Crew {
    pub stage: Stage,
    pub site: Rc<Site>,
    pub scene: Rc<Scene>,
    /// Operations that have begun, and those that have no result yet.
    issued: Cell<usize>,
    under_way: Cell<usize>,
    /// Whoever waits for the time to bind the second connection; whether that comes.
    pub binds: RefCell<Option<oneshot::Sender<bool>>>,
    /// The second connection is one of the session.
    pub is_bound: Cell<bool>,
    /// The session, as long as anybody does something in it.
    pub session: RefCell<Option<Session>>,
    /// Somebody cannot go on.
    pub has_failed: Cell<bool>,
    /// Operations that have failed because of somebody who changes messages.
    failures: Cell<usize>,
}

impl Crew {
    pub fn new(stage: &Stage, site: &Rc<Site>) -> Self {
        Self {
            stage: stage.clone(),
            site: Rc::clone(site),
            scene: Rc::clone(&site.scene),
            issued: Cell::new(0),
            under_way: Cell::new(0),
            binds: RefCell::new(None),
            is_bound: Cell::new(false),
            session: RefCell::new(None),
            has_failed: Cell::new(false),
            failures: Cell::new(0),
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.scene.shared.plan
    }

    pub fn notes(&self) -> &Notes {
        &self.scene.shared.notes
    }

    pub fn judge(&self, judged: Result<(), Breach>) {
        self.notes().judge(judged);
    }

    /// Whether anybody is to begin anything.
    pub fn goes_on(&self) -> bool {
        let has_breach = self.notes().seen().breach.is_some();
        !has_breach && !self.has_failed.get() && self.issued.get() < self.plan().operations
    }

    /// An operation has failed because messages are changed: whether that is enough.
    pub fn fails_too_often(&self) -> bool {
        self.failures.set(self.failures.get() + 1);
        self.failures.get() > FAILURES_MAX
    }

    /// How many connections the session has, and how many it has lost.
    pub fn connections(&self) -> (usize, usize) {
        self.session.borrow().as_ref().map_or((0, 0), Session::connections)
    }

    /// An operation begins.
    pub fn begins(&self) {
        self.issued.set(self.issued.get() + 1);
        self.under_way.set(self.under_way.get() + 1);
        let at = self.plan().channels.map_or(0, |channels| channels.bound_at);
        if self.issued.get() > at {
            self.tell_binder(true);
        }
    }

    /// An operation has its result.
    pub fn ends(&self) {
        self.under_way.set(self.under_way.get() - 1);
        self.judge(self.registrations_are_back());
    }

    fn registrations_are_back(&self) -> Result<(), Breach> {
        let open = if self.under_way.get() == 0 { Pooled::open_count() } else { 0 };
        law!("end of access", open == 0, "nothing is under way, and the server can use {open} buffers");
        Ok(())
    }

    pub fn tell_binder(&self, may_bind: bool) {
        if let Some(binder) = self.binds.borrow_mut().take() {
            // It waits for nothing else.
            let _ = binder.send(may_bind);
        }
    }
}
