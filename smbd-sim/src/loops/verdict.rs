//! What is wrong with a run that is over, and its report.

use super::hub::Hub;
use super::notes::Seen;
use super::plan::LoopPlan;
use crate::Side;
use crate::oracle::Law;
use crate::probe::At;
use crate::swarm::Report;
use crate::upper::Carried;

/// Checks what only the end shows. What the oracles saw on the way comes first.
pub(super) fn judge(hub: &Hub, plan: &LoopPlan, seen: &Seen) {
    judge_breaches(hub);
    let story = hub.story();
    let mut world = hub.world.borrow_mut();
    let now = world.now();
    let mut probe = world.probe_mut();
    let verdicts = probe.0.oracles.verdicts_mut();
    verdicts.at(At { now, side: Side::Initiator });
    verdicts.check(Law::Driven, seen.broken.is_none(), || seen.broken.clone().unwrap_or_default());
    let (sent, back) = (seen.sent.len(), seen.back.len());
    verdicts.check(Law::Liveness, hub.tasks() == 0 && seen.over && !hub.is_stuck(), || {
        let tasks = hub.tasks();
        format!("somebody waits for ever: {tasks} tasks have not ended, {sent} messages sent, {back} back, {story}")
    });
    for (number, came) in seen.back.iter().enumerate() {
        verdicts.check(Law::Delivery, seen.sent.get(number) == Some(came), || {
            format!("message {number} of {sent} came back otherwise: {} bytes", came.len())
        });
    }
    let missed = plan.load.moved > 0 && seen.moved.is_none() && !plan.is_faulty();
    verdicts.check(Law::Content, seen.moved != Some(false) && !missed, || {
        format!("a buffer of {} bytes: was not read and written back", plan.load.moved)
    });
    let all = plan.load.messages;
    verdicts.check(Law::Liveness, plan.is_faulty() || back == all, || {
        format!("{back} of {all} messages came back")
    });
    drop(probe);
    drop(world);
    judge_leaks(hub);
}

/// What devices have against their users, and what was left.
pub(super) fn judge_devices(hub: &Hub) {
    judge_breaches(hub);
    judge_leaks(hub);
}

fn judge_breaches(hub: &Hub) {
    let mut world = hub.world.borrow_mut();
    let breaches: Vec<_> = world.breaches().collect();
    let now = world.now();
    let mut probe = world.probe_mut();
    let verdicts = probe.0.oracles.verdicts_mut();
    for law in [Law::Device, Law::Driven, Law::Reported, Law::LinkReported] {
        verdicts.check(law, true, String::new);
    }
    for (side, breach) in breaches {
        verdicts.at(At { now, side });
        verdicts.check(Law::of(&breach), false, || breach.to_string());
    }
}

fn judge_leaks(hub: &Hub) {
    let mut world = hub.world.borrow_mut();
    let left = Side::BOTH.map(|side| {
        let nic = &world.host(side).device.nic;
        let known = hub.buffers()[side.index()];
        (nic.buffers.live().saturating_sub(known), nic.tokens.live(nic.domain()).count())
    });
    let now = world.now();
    let mut probe = world.probe_mut();
    let verdicts = probe.0.oracles.verdicts_mut();
    for (side, (buffers, tokens)) in Side::BOTH.into_iter().zip(left) {
        verdicts.at(At { now, side });
        verdicts.check(Law::Leaks, buffers == 0 && tokens == 0, || {
            format!("{buffers} buffers, {tokens} tokens left")
        });
    }
}

/// The report of a run that was judged.
pub(super) fn report(hub: &Hub, plan: &LoopPlan, seen: &Seen) -> Report {
    let mut world = hub.world.borrow_mut();
    let faults = world.faults_mut().counts().to_vec();
    // There and back.
    let bytes = seen.back.iter().map(|message| message.len() as u64).sum::<u64>();
    let moved = u64::from(seen.moved.is_some());
    let carried = Carried {
        messages: 2 * seen.back.len() as u64,
        bytes: 2 * bytes,
        operations: 2 * moved,
        operation_bytes: 2 * moved * u64::from(plan.load.moved),
        registrations: moved,
        ..Carried::default()
    };
    let delivered = seen.back.len() == plan.load.messages;
    let report = Report::of(&plan.plan, &world.probe().0);
    Report { pair: Some(plan.pair), carried, faults, delivered, ..report }
}
