//! A broker: the model that its own tests have, and what happens is drawn from the input.

#[path = "../../../smbd-broker/tests/laws/actions.rs"]
mod actions;
#[path = "../../../smbd-broker/tests/laws/calls.rs"]
mod calls;
#[path = "../../../smbd-broker/tests/laws/orders.rs"]
mod orders;
#[path = "../../../smbd-broker/tests/laws/records.rs"]
mod records;
#[path = "../../../smbd-broker/tests/laws/run.rs"]
mod run;
#[path = "../../../smbd-broker/tests/laws/tape.rs"]
mod tape;
#[path = "../../../smbd-broker/tests/laws/words.rs"]
mod words;
#[path = "../../../smbd-broker/tests/laws/world.rs"]
mod world;

/// Owners and clients do what they like, and say whatever bytes they like; every law holds after each step, and at the end nothing is
/// left.
pub fn broker(data: &[u8]) {
    let mut world = world::World::new(tape::Tape(data), crate::replay::is_traced());
    if let Err(breach) = world.run() {
        panic!("{breach}");
    }
}
