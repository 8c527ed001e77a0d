//! What is noted of a run.

use std::cell::{Ref, RefCell};
use std::rc::Rc;
use std::time::Duration;

use smbd_core::Instant;
use smbd_gateway::Ending;
use smbd_sim::loops::Stage;
use smbd_smb2::relay::Statistics;

use crate::model::{Breach, Chance};

/// What came of a run so far.
#[derive(Debug, Default)]
pub struct Seen {
    /// The first law that was broken.
    pub breach: Option<Breach>,
    /// The gateway's connection to the client is over, for this reason.
    pub driver_ended: Option<(Instant, String)>,
    pub pump_ended: Option<(Instant, Ending)>,
    /// What has passed through the pump.
    pub statistics: Option<Statistics>,
    /// The pump has let go of its stream.
    pub stream_gone: Option<Instant>,
    /// The connection was not established.
    pub is_refused: bool,
    /// The client has got everything and closed its connection.
    pub is_done: bool,
    /// The client closed before that.
    pub has_left: bool,
    /// The end of the client's connection has cut off something that it sent.
    pub is_cut: bool,
    /// What the plan has for the end has happened.
    pub is_struck: bool,
    /// The simulated devices were told to end a connection.
    pub is_asked: bool,
    /// Steps, if they are wanted.
    pub steps: Option<Vec<String>>,
}

/// The notes of a run; clones are the same ones.
#[derive(Clone, Debug)]
pub struct Notes(Rc<(Stage, RefCell<Seen>)>);

impl Notes {
    pub fn new(stage: &Stage, is_loud: bool) -> Self {
        let seen = Seen { steps: is_loud.then(Vec::new), ..Seen::default() };
        Self(Rc::new((stage.clone(), RefCell::new(seen))))
    }

    pub fn stage(&self) -> &Stage {
        &self.0.0
    }

    /// A time from now on, at most so much later.
    pub fn soon(&self, chance: &mut Chance, most: Duration) -> Instant {
        let nanos = chance.size(0, most.as_nanos() as usize) as u64;
        self.stage().now().saturating_add(Duration::from_nanos(nanos))
    }

    pub fn seen(&self) -> Ref<'_, Seen> {
        self.0.1.borrow()
    }

    pub fn note(&self, change: impl FnOnce(&mut Seen, Instant)) {
        change(&mut self.0.1.borrow_mut(), self.stage().now());
    }

    /// A law is broken, or not.
    pub fn judge(&self, result: Result<(), Breach>) {
        if let Err(breach) = result {
            self.note(|seen, _| _ = seen.breach.get_or_insert(breach));
        }
    }

    pub fn stream_gone(&self) {
        self.note(|seen, now| _ = seen.stream_gone.get_or_insert(now));
    }

    /// A step, for who wants to see them.
    pub fn step(&self, text: impl FnOnce() -> String) {
        self.note(|seen, now| {
            if let Some(steps) = &mut seen.steps {
                let nanos = now.as_nanos();
                steps.push(format!("{:>10}.{:03} us {}", nanos / 1000, nanos % 1000, text()));
            }
        });
    }
}
