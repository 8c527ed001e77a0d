//! A broker: the model that its own tests have, and what happens is drawn from the input.

use smbd_testkit::broker::{Tape, World};

/// Owners and clients do what they like, and say whatever bytes they like; every law holds after each step, and at the end nothing is
/// left.
pub fn broker(data: &[u8]) {
    let mut world = World::new(Tape(data), crate::replay::is_traced());
    if let Err(breach) = world.run() {
        panic!("{breach}");
    }
}
