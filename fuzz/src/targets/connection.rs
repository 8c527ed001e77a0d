//! One connection, fed any inputs and calls, from any phase.

use arbitrary::{Arbitrary, Unstructured};
use smbd_core::{Action, Head};
use smbd_sim::oracle::Oracles;
use smbd_sim::probe::{At, Probe};

use crate::rig::{Rig, Setup, Step, Watch, honest};

/// The simulator's laws hold, what is refused changes nothing, and from everywhere there is a way to the end.
pub fn connection(data: &[u8]) {
    play(data, honest);
}

/// Has to fail: the laws are told of a credit that was not granted, in messages with data that grant four or more.
pub fn canary(data: &[u8]) {
    play(data, generous);
}

fn play(data: &[u8], watch: Watch) {
    let mut data = Unstructured::new(data);
    let Ok(setup) = Setup::arbitrary(&mut data) else { return };
    let steps = std::iter::from_fn(|| (!data.is_empty()).then(|| Step::arbitrary(&mut data).ok()).flatten());
    Rig::play(&setup, steps, watch);
}

fn generous(oracles: &mut Oracles, at: At, action: &Action) {
    if let Action::PostSend { id, head, body, invalidate, signal, solicit } = *action
        && body.is_some()
        && let [_, _, granted @ 4..=u8::MAX, 0, ..] = head.as_bytes()
    {
        let mut bytes = head.as_bytes().to_vec();
        bytes[2] = granted.saturating_add(1);
        let head = Head::of(&bytes);
        return oracles.action(at, &Action::PostSend { id, head, body, invalidate, signal, solicit });
    }
    oracles.action(at, action);
}
