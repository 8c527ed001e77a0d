//! The loops of `smbd_core::runtime` over simulated devices, in virtual time, under the faults of the swarm and with the oracles
//! watching: `blocking`, `engine` and the tokio connection as initiators, the latter two as acceptors.
//!
//! Configurations, devices, times and faults are those of a swarm's seed. An initiator sends messages and gets them back; what
//! comes is a beginning of what was sent, each run ends, and without faults all comes.

mod engines;
mod hub;
mod machine;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::Negotiated;
use smbd_core::runtime::blocking;
use smbd_core::runtime::tokio::{Options as Waiting, Sender, open_with};

use crate::fault::Disruption;
use crate::swarm::{FaultLevel, Options, Plan};
use crate::{Rng, Side};
use hub::{Hub, LoopEnd};

/// Longer than a connection may take to end.
const LONG: Duration = Duration::from_secs(600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loop {
    Blocking,
    Engine,
    Tokio,
}

/// What came of a run.
#[derive(Debug, Default)]
struct Seen {
    sent: Vec<Bytes>,
    back: Vec<Bytes>,
    /// The initiator has come to its end.
    over: bool,
    established: bool,
}

type Notes = Rc<RefCell<Seen>>;

/// What a run does.
struct Game {
    messages: usize,
    window: usize,
    longest: usize,
    /// Little is kept for the acceptor's program.
    waiting: Waiting,
}

impl Game {
    fn drawn(rng: &mut Rng) -> Self {
        let messages_max = usize::try_from(rng.between(1, 8)).unwrap_or(1);
        Self {
            messages: usize::try_from(rng.between(1, 60)).unwrap_or(1),
            window: usize::try_from(rng.between(1, 4)).unwrap_or(1),
            longest: 1 << rng.between(0, 15),
            waiting: Waiting { messages_max, bytes_max: 1 << rng.between(0, 16) },
        }
    }

    fn message(&self, nth: usize, negotiated: &Negotiated) -> Bytes {
        let most = self.longest.min(negotiated.max_fragmented_send_size as usize);
        let len = 1 + nth.wrapping_mul(7919) % most;
        (0..len).map(|at| u8::try_from((at * 7 + nth * 31) % 251).unwrap_or(0)).collect()
    }
}

/// A connection of `blocking`, whose calls let the acceptor have its turns.
fn ask_blocking(hub: &Rc<Hub>, plan: &Plan, game: &Game, notes: &Notes) {
    let end = LoopEnd::new(hub, Side::Initiator, plan);
    let machine = hub.machine(plan, Side::Initiator);
    if let Ok(mut connection) = blocking::Connection::establish_with(machine, end) {
        notes.borrow_mut().established = true;
        let mut talk = || {
            let negotiated = connection.negotiated()?;
            for nth in 0..game.messages + game.window {
                if nth < game.messages {
                    let message = game.message(nth, &negotiated);
                    connection.send(message.clone()).ok()?;
                    notes.borrow_mut().sent.push(message);
                }
                if nth >= game.window {
                    let back = connection.recv(LONG).ok()?;
                    notes.borrow_mut().back.push(back);
                }
            }
            Some(())
        };
        talk();
        let _ = connection.close(LONG);
    }
    notes.borrow_mut().over = true;
}

/// A tokio connection: one task sends, one receives.
fn ask_tokio(hub: &Rc<Hub>, plan: &Plan, game: &Rc<Game>, notes: &Notes) {
    let end = LoopEnd::new(hub, Side::Initiator, plan);
    let machine = hub.machine(plan, Side::Initiator);
    let (connecting, driver) = open_with(machine, end, Waiting { messages_max: 2, bytes_max: 1 });
    hub.spawn(async { drop(driver.await) });
    let (game, notes, hub_of_tasks) = (Rc::clone(game), Rc::clone(notes), Rc::clone(hub));
    hub.spawn(async move {
        if let Ok(connection) = connecting.await {
            notes.borrow_mut().established = true;
            let (sender, mut receiver) = connection.split();
            hub_of_tasks.spawn(send_all(sender.clone(), Rc::clone(&game), Rc::clone(&notes)));
            while notes.borrow().back.len() < game.messages {
                let Ok(back) = receiver.recv().await else { break };
                notes.borrow_mut().back.push(back);
            }
            let _ = sender.close(LONG).await;
        }
        notes.borrow_mut().over = true;
    });
}

async fn send_all(sender: Sender<LoopEnd>, game: Rc<Game>, notes: Notes) {
    let negotiated = sender.negotiated();
    for nth in 0..game.messages {
        let message = game.message(nth, &negotiated);
        notes.borrow_mut().sent.push(message.clone());
        if sender.send(message).await.is_err() {
            return;
        }
    }
}

/// Returns every message.
fn answer_tokio(hub: &Rc<Hub>, plan: &Plan, waiting: Waiting) {
    let end = LoopEnd::new(hub, Side::Acceptor, plan);
    let machine = hub.machine(plan, Side::Acceptor);
    let (connecting, driver) = open_with(machine, end, waiting);
    hub.spawn(async { drop(driver.await) });
    hub.spawn(async {
        if let Ok(mut connection) = connecting.await {
            while let Ok(message) = connection.recv().await {
                if connection.send(message).await.is_err() {
                    break;
                }
            }
            let _ = connection.close(LONG).await;
        }
    });
}

/// A seed, played; what it has seen, or what was wrong.
fn play(seed: u64, initiator: Loop, acceptor: Loop, faults: FaultLevel) -> Result<bool, String> {
    let plan = Plan::of(seed, &Options { faults, ..Options::default() });
    // A stream of its own: what the swarm draws of a seed stays as it is.
    let mut rng = Rng::new(seed ^ 0x6c6f_6f70_7300_0000);
    let game = Rc::new(Game::drawn(&mut rng));
    let breaks = faults != FaultLevel::None && rng.chance(1, 3);
    let disruption = breaks.then(|| {
        let side = if rng.chance(1, 2) { Side::Initiator } else { Side::Acceptor };
        let what = [Disruption::CutLoudly, Disruption::CutSilently, Disruption::BreakQueuePair(side)];
        (rng.between(1, 4000), what[usize::try_from(rng.below(3)).unwrap_or(0)])
    });
    let hub = Hub::new(&plan, disruption);
    let notes = Notes::default();
    match acceptor {
        Loop::Engine => engines::answer(&hub, &plan),
        Loop::Tokio | Loop::Blocking => answer_tokio(&hub, &plan, game.waiting),
    }
    match initiator {
        Loop::Blocking => ask_blocking(&hub, &plan, &game, &notes),
        Loop::Engine => engines::ask(&hub, &plan, &game, &notes),
        Loop::Tokio => ask_tokio(&hub, &plan, &game, &notes),
    }
    while hub.tasks() > 0 && hub.turn() {}
    let seen = notes.borrow();
    verdict(&hub, &seen, &game, faults)?;
    Ok(seen.back.len() == game.messages)
}

fn verdict(hub: &Hub, seen: &Seen, game: &Game, faults: FaultLevel) -> Result<(), String> {
    let world = hub.world.borrow();
    if let Some(failure) = world.probe().verdicts().failure() {
        return Err(format!("{failure:?}"));
    }
    if let Some((side, breach)) = world.breaches().next() {
        return Err(format!("{side:?}: {breach:?}"));
    }
    if hub.tasks() > 0 || !seen.over {
        return Err(format!(
            "{} tasks have not ended, {} sent, {} back, {}",
            hub.tasks(),
            seen.sent.len(),
            seen.back.len(),
            hub.story()
        ));
    }
    if !seen.sent.starts_with(&seen.back) {
        return Err(format!("{} came back, not as the {} that were sent", seen.back.len(), seen.sent.len()));
    }
    if faults == FaultLevel::None && seen.back.len() < game.messages {
        return Err(format!("{} of {} came back", seen.back.len(), game.messages));
    }
    Ok(())
}

/// Plays seeds with each pair of loops; how many runs there were and in how many all came.
fn seeds(range: std::ops::Range<u64>, faults: FaultLevel) -> (u32, u32) {
    let (mut runs, mut whole) = (0, 0);
    for seed in range {
        for initiator in [Loop::Blocking, Loop::Engine, Loop::Tokio] {
            for acceptor in [Loop::Engine, Loop::Tokio] {
                match play(seed, initiator, acceptor, faults) {
                    Ok(all) => (runs, whole) = (runs + 1, whole + u32::from(all)),
                    Err(wrong) => panic!("seed {seed}, {initiator:?} with {acceptor:?}, {faults:?}: {wrong}"),
                }
            }
        }
    }
    (runs, whole)
}

#[test]
fn without_faults_every_message_comes_back_over_every_loop() {
    let (runs, whole) = seeds(0..60, FaultLevel::None);
    assert_eq!((runs, whole), (360, 360));
}

/// A server that waits for its send receives nothing meanwhile: its client has no credits soon, and can grant none. Some of these
/// stand still for ever if the server's queue has no way out.
#[test]
fn a_server_that_answers_one_by_one_serves_a_client_that_sends_without_waiting() {
    for seed in 0..500 {
        let played = play(seed, Loop::Tokio, Loop::Tokio, FaultLevel::None);
        assert_eq!(played, Ok(true), "seed {seed}");
    }
}

#[test]
fn under_faults_no_law_breaks_nobody_waits_for_ever_and_what_comes_is_what_was_sent() {
    let (runs, whole) = seeds(0..150, FaultLevel::Heavy);
    assert_eq!(runs, 900);
    assert!((90..850).contains(&whole), "the faults let {whole} of {runs} runs do everything");
}
