//! Repeats a sequence of steps with new connections.

use std::fmt::Write as _;

use super::key::Key;
use super::local::{Local, Outcome};
use super::space::Space;
use super::step::Step;
use crate::Side;
use crate::trace::Trace;

/// The steps along `keys` and one more, by name, and as the connections see them. Names of work and times are those of
/// this way, which a search does not keep; all else must be as it was found, or the search is wrong, and the trace says so.
pub(super) fn counterexample(
    space: &mut Space<'_>,
    keys: &[Key],
    last: Option<Step>,
) -> (Vec<String>, String) {
    let mut trace = Trace::kept();
    let mut names = Vec::new();
    let mut wrong = String::new();
    let mut sides = Side::BOTH.map(|side| Local::begin(space.setup, side, &mut trace).next);
    for (number, key) in keys.iter().enumerate() {
        for side in Side::BOTH {
            let known = space.fingerprint(space.local_of(*key, side));
            if known != sides[side.index()].fingerprint() {
                let _ = writeln!(wrong, "played again, {} is another one after step {number}", side.short());
            }
        }
        let step = match keys.get(number + 1) {
            Some(next) => step_between(space, *key, *next),
            None => last,
        };
        let Some(step) = step else { break };
        names.push(step.to_string());
        for (side, input) in space.inputs(*key, step) {
            let given = space.given(input);
            let Outcome { next, .. } = sides[side.index()].give(space.setup, side, given, &mut trace);
            sides[side.index()] = next;
        }
    }
    trace.end();
    (names, format!("{}{wrong}", trace.text()))
}

fn step_between(space: &mut Space<'_>, from: Key, to: Key) -> Option<Step> {
    let mut steps = Vec::new();
    // A step that breaks a law comes behind those before it.
    let _broken = space.steps(from, &mut steps);
    steps.into_iter().find(|(_, key)| *key == to).map(|(step, _)| step)
}
