//! The drive loop: a backend that always has something to say starves neither timers nor other connections.

use std::cell::Cell;
use std::time::Duration;

use smbd_core::backend::{Backend, LocalMemory, Payload, ReceiveMemory, Step, Upper, drive};
use smbd_core::error::ConnectError;
use smbd_core::{Body, Config, Connection, Event, Input, Instant, OpId, Params, RecvId, RegId, Role};

/// Never connects, says something harmless in every round, and each look at its clock takes a second.
#[derive(Default)]
struct Chatty {
    spoke: bool,
    seconds: Cell<u64>,
    rounds: u32,
    posted: Vec<RecvId>,
    ending: bool,
}

impl ReceiveMemory for Chatty {
    fn received(&self, _: RecvId) -> &[u8] {
        &[]
    }
}

impl Backend for Chatty {
    type Buffer = ();

    fn now(&self) -> Instant {
        self.seconds.set(self.seconds.get() + 1);
        Instant::from_nanos(self.seconds.get() * 1_000_000_000)
    }

    fn execute(&mut self, step: Step<'_, ()>) {
        match step {
            Step::PostRecv { id, .. } => self.posted.push(id),
            Step::Disconnect => self.ending = true,
            _ => {}
        }
    }

    fn ring(&mut self) {
        self.rounds += 1;
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        if self.ending {
            if let Some(id) = self.posted.pop() {
                return Some(Input::Failed { id: id.into(), error: smbd_core::error::WorkError::Flushed });
            }
            self.ending = false;
            return Some(Input::Disconnected);
        }
        self.spoke = !self.spoke;
        self.spoke.then_some(Input::Timeout)
    }
}

#[derive(Default)]
struct Listener(Vec<Event>);

impl LocalMemory<()> for Listener {
    fn body(&self, _: Body) -> Option<Payload<'_, ()>> {
        None
    }

    fn operation(&self, _: OpId) -> Option<&()> {
        None
    }

    fn registration(&self, _: RegId) -> Option<&()> {
        None
    }
}

impl Upper<Chatty> for Listener {
    fn event(&mut self, _: &mut Connection, _: &mut Chatty, event: Event) {
        self.0.push(event);
    }
}

#[test]
fn a_busy_backend_starves_neither_timers_nor_its_neighbours() {
    let params = Params { active_negotiation_timeout: Duration::from_secs(100), ..Params::example() };
    let config = Config::try_from(params).unwrap();
    let mut connection = Connection::new(Role::Initiator, &config, Instant::ORIGIN);
    let (mut backend, mut upper) = (Chatty::default(), Listener::default());

    let again = drive(&mut connection, &mut backend, &mut upper).unwrap();
    assert!(backend.rounds < 100, "drive did not come back");
    assert!(
        again.is_some_and(|at| at.as_nanos() <= backend.seconds.get() * 1_000_000_000),
        "there is more to do"
    );
    assert!(upper.0.is_empty(), "{:?}", upper.0);

    while upper.0.len() < 2 && backend.rounds < 1000 {
        drive(&mut connection, &mut backend, &mut upper).unwrap();
    }
    assert!(
        matches!(upper.0[..], [Event::ConnectFailed(ConnectError::Timeout), Event::Drained]),
        "{:?}",
        upper.0
    );
}
