//! A run: all of it, from its seed.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::Instant;
use smbd_gateway::Ending;
use smbd_sim::loops::Stage;
use smbd_sim::trace::Trace;
use smbd_sim::{Rng, Side};
use smbd_smb2::relay;

use crate::client_task::ClientTask;
use crate::gateway::serve;
use crate::judge::judge;
use crate::memory::play_on;
use crate::model::{Breach, Chance, Client, Limits, Pool, Server};
use crate::notes::Notes;
use crate::pipe::stream;
use crate::plan::{End, Plan};
use crate::server_end::Stream;
use crate::server_task::ServerTask;

/// Longer than any run takes, in virtual time.
const LONGEST: Duration = Duration::from_secs(7200);

/// More turns than any run takes.
const TURNS_MAX: u32 = 400_000;

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    pub breach: Option<Breach>,
    pub end: End,
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

/// Runs a seed.
pub fn run(seed: u64, show: Show) -> Report {
    let plan = Rc::new(Plan::of(seed));
    let trace = match show {
        Show::Nothing => None,
        Show::All => Some(Trace::kept()),
    };
    let mut chance = Chance::new(seed ^ 0x7275_6e00);
    let stage = Stage::new(&plan.sim, trace, Rng::new(chance.bits()));
    play_on(Some(stage.clone()));
    let notes = Notes::new(&stage, show == Show::All);
    let (client, server) = models(&plan);
    let (near, far) = stream(&stage, plan.stream, &mut chance);
    let pipes = [Rc::clone(&near.to_peer), Rc::clone(&near.from_peer)];
    let near = Stream { end: near, notes: notes.clone() };
    stage.spawn(serve(stage.clone(), Rc::clone(&plan), near, notes.clone()));
    let of_client = ClientTask::new(&plan, &notes, (&client, &server), Chance::new(chance.bits()));
    stage.spawn(of_client.run(stage.machine(Side::Initiator), stage.end(Side::Initiator)));
    let of_server = ServerTask::new(&plan, &notes, far, (&client, &server), Chance::new(chance.bits()));
    stage.spawn(of_server.run());
    let buffers = relay::Config::new(&plan.relay).map_or(0, |config| 2 * usize::from(config.buffers()));
    let longest = Instant::ORIGIN.saturating_add(LONGEST);
    let mut turns = 0;
    let mut goes_on = || {
        turns += 1;
        turns < TURNS_MAX && stage.now() < longest && stage.turn()
    };
    while stage.tasks() > 0 && notes.seen().breach.is_none() && goes_on() {
        let used = stage.buffers(Side::Acceptor);
        if used > buffers {
            notes.judge(Err(format!("budget: {used} buffers, and {buffers} are allowed")));
        }
    }
    notes.step(|| stage.story());
    if notes.seen().breach.is_none() && stage.failure().is_none() {
        let pipes = pipes.each_ref().map(|pipe| pipe.borrow());
        let [to_server, from_server] = &pipes;
        let models = (&*client.borrow(), &*server.borrow());
        let result = judge(&plan, &stage, &notes.seen(), models, [to_server, from_server]);
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
        end: plan.end,
        ending: seen.pump_ended.as_ref().map(|(_, ending)| ending.clone()),
        is_done: seen.is_done,
        statistics: seen.statistics.clone(),
        faults: stage.faults(),
        digest,
        text: seen.steps.iter().flatten().map(|step| format!("{step}\n")).collect::<String>() + &trace,
    }
}

fn models(plan: &Plan) -> (Rc<RefCell<Client>>, Rc<RefCell<Server>>) {
    let relay::Params { held_max, max_fragmented_size, max_read_write_size, descriptors_max, .. } =
        plan.relay;
    let limits = Limits {
        held: held_max as usize,
        fragmented: max_fragmented_size as usize,
        read_write: max_read_write_size as usize,
        descriptors: descriptors_max as usize,
    };
    let mut client = Client::new(limits, plan.requests);
    let [near, far] = &plan.sim.nics;
    client.pool = Some(Pool::new(near.windows && far.send_with_invalidate));
    (Rc::new(RefCell::new(client)), Rc::new(RefCell::new(Server::new())))
}
