//! What runs of both ways have in common: the stage, the stream, and how they go on to their end.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::Instant;
use smbd_gateway::Ending;
use smbd_sim::loops::Stage;
use smbd_sim::trace::Trace;
use smbd_sim::{Rng, Side};
use smbd_smb2::relay;

use crate::memory::{play_on, touched};
use crate::model::{Breach, Chance};
use crate::notes::{Notes, Seen};
use crate::pipe::{self, Pipe, stream};
use crate::plan::Plan;
use crate::server_end::Stream;

/// Longer than any run takes, in virtual time.
const LONGEST: Duration = Duration::from_secs(7200);

/// More turns than any run takes.
const TURNS_MAX: u32 = 400_000;

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    pub breach: Option<Breach>,
    /// How it was to end.
    pub end: String,
    pub ending: Option<Ending>,
    pub is_done: bool,
    pub statistics: Option<relay::Statistics>,
    pub faults: Vec<u64>,
    /// The digest of its trace; 0 if nothing was to be seen.
    pub digest: u64,
    /// Its steps, and its trace.
    pub text: String,
}

/// How much is to be seen of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    Nothing,
    All,
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
        let trace = match show {
            Show::Nothing => None,
            Show::All => Some(Trace::kept()),
        };
        let mut chance = Chance::new(seed ^ 0x7275_6e00);
        let stage = Stage::new(&plan.sim, trace, Rng::new(chance.bits()));
        play_on(Some((stage.clone(), gateway)));
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
        let longest = Instant::ORIGIN.saturating_add(LONGEST);
        let mut turns = 0;
        let mut goes_on = || {
            turns += 1;
            turns < TURNS_MAX && stage.now() < longest && stage.turn()
        };
        while stage.tasks() > 0 && notes.seen().breach.is_none() && goes_on() {
            let used = stage.buffers(gateway);
            if used > buffers {
                notes.judge(Err(format!("budget: {used} buffers, and {buffers} are allowed")));
            }
            if touched() > 0 {
                notes.judge(Err("end of access: the gateway touches memory that is open to its peer".into()));
            }
        }
        notes.step(|| stage.story());
        if notes.seen().breach.is_none() && stage.failure().is_none() {
            let pipes = pipes.each_ref().map(|pipe| pipe.borrow());
            let [to_peer, from_peer] = &pipes;
            let result = judge(&stage, &notes.seen(), [to_peer, from_peer]);
            notes.judge(result);
        }
        stage.clear();
        // What the devices and connections have seen comes first.
        let verdict = stage.verdict().map(|failure| failure.to_string());
        let (digest, trace) = stage.trace().unwrap_or_default();
        play_on(None);
        let seen = notes.seen();
        Report {
            breach: seen.breach.clone().or(verdict),
            end,
            ending: seen.pump_ended.as_ref().map(|(_, ending)| ending.clone()),
            is_done: seen.is_done,
            statistics: seen.statistics.clone(),
            faults: stage.faults(),
            digest,
            text: seen.steps.iter().flatten().map(|step| format!("{step}\n")).collect::<String>() + &trace,
        }
    }
}
