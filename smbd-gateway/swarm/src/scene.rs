//! What runs of both ways have in common: the stage, the stream, and how they go on to their end.

use std::cell::RefCell;
use std::rc::Rc;

use smbd_gateway::Ending;
use smbd_sim::loops::Stage;
use smbd_sim::oracle::{Failure, Law};
use smbd_sim::{Rng, Side};
use smbd_smb2::relay;

use crate::clock;
use crate::notes::{Notes, Seen};
use crate::plan::Plan;
use crate::server_end::Stream;
use smbd_testkit::Chance;
use smbd_testkit::swarm::pipe::{self, Pipe, stream};
use smbd_testkit::swarm::{Place, Played, Show, TooLong, play, play_on};
use smbd_testkit::{Breach, law};

const TOO_LONG: TooLong = TooLong(400_000);

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    pub played: Played,
    /// How it was to end.
    pub end: String,
    pub ending: Option<Ending>,
    pub statistics: Option<relay::Statistics>,
    /// Whether the broker was killed, if there is one.
    pub is_broker_killed: Option<bool>,
}

/// A stage with a stream between the gateway and somebody who has no device.
pub struct Scene {
    pub stage: Stage,
    pub notes: Notes,
    pub chance: Chance,
    /// On this side is the gateway.
    gateway: Side,
    pipes: [Rc<RefCell<Pipe>>; 2],
}

impl Scene {
    /// The scene, the gateway's end of the stream, and the other one.
    pub fn new(seed: u64, plan: &Plan, gateway: Side, show: Show) -> (Self, Stream, pipe::End) {
        let mut chance = Chance::new(seed ^ 0x7275_6e00);
        let stage = Stage::new(&plan.sim, show.trace(), Rng::new(chance.bits()));
        clock::of_stage(Some(&stage));
        play_on(Some(Place {
            stage: stage.clone(),
            home: gateway,
            watches_both: false,
            shares_parts: false,
        }));
        let notes = Notes::new(&stage, show == Show::All);
        let (near, far) = stream(&stage, plan.stream, &mut chance);
        let pipes = [Rc::clone(&near.to_peer), Rc::clone(&near.from_peer)];
        let near = Stream { end: near, notes: notes.clone() };
        (Self { stage, notes, chance, gateway, pipes }, near, far)
    }

    /// Plays to the end. The gateway may have so many buffers; `judge` knows what only the end shows.
    pub fn play(
        self,
        end: String,
        buffers: usize,
        judge: impl FnOnce(&Stage, &Seen, [&Pipe; 2]) -> Result<(), Breach>,
    ) -> Report {
        let Self { stage, notes, gateway, pipes, .. } = self;
        let look = || {
            let used = stage.buffers(gateway);
            law!("budget", used <= buffers, "{used} buffers, and {buffers} are allowed");
            Ok(())
        };
        let of_end = || {
            let pipes = pipes.each_ref().map(|pipe| pipe.borrow());
            let [to_peer, from_peer] = &pipes;
            judge(&stage, &notes.seen(), [to_peer, from_peer])
        };
        // What a process has that was killed is its system's.
        let is_of_system =
            |failure: &Failure| failure.law == Law::Leaks && notes.seen().own.is_broker_killed == Some(true);
        let played = play(&notes, TOO_LONG, look, of_end, is_of_system);
        clock::of_stage(None);
        let seen = notes.seen();
        let ending = seen.own.pump_ended.as_ref().map(|(_, ending)| ending.clone());
        let (statistics, is_broker_killed) = (seen.own.statistics.clone(), seen.own.is_broker_killed);
        Report { played, end, ending, statistics, is_broker_killed }
    }
}
