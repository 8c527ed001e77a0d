//! Several pairs of devices, and those who have none, in one time.

use smbd_sim::loops::Stage;

use crate::clock::Clock;
use crate::place;
use smbd_testkit::Chance;

/// Lets everybody go on who was woken; if nobody was, the next thing happens. `false` if nothing is left to happen.
pub fn turn(clock: &Clock, chance: &mut Chance) -> bool {
    let mut order: Vec<usize> = (0..place::stages()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, chance.below(at + 1));
    }
    let mut any = false;
    for number in order {
        let Some(stage) = place::stage(number) else { continue };
        place::enter(Some(number));
        any |= stage.poll_woken();
        place::enter(None);
    }
    any || happen(clock)
}

fn happen(clock: &Clock) -> bool {
    let stages: Vec<Stage> = (0..place::stages()).filter_map(place::stage).collect();
    let next = stages.iter().filter_map(|stage| Some((stage.next_time()?, stage))).min_by_key(|(at, _)| *at);
    let any = match (next, clock.next_time()) {
        // A link that has vanished is found out when nothing else happens.
        (None, None) => stages.iter().any(Stage::happen),
        (Some((at, stage)), timer) if timer.is_none_or(|timer| at <= timer) => {
            let any = stage.happen();
            clock.pass_to(stage.now());
            any
        }
        (_, timer) => {
            timer.into_iter().for_each(|timer| clock.pass_to(timer));
            true
        }
    };
    let now = clock.now();
    stages.iter().for_each(|stage| stage.pass_to(now));
    any
}
