//! The calls that are measured, and nothing else: each entry is one jump into the crate, its arguments are ready.

use smbd_smb2::relay::{Action, Arrived, Event, Misuse, Placement, Relay, Room, Transfer};

#[inline(never)]
pub fn poll<'r, 'a: 'r>(relay: &'r mut Relay, arrived: &mut Arrived<'a>, room: Room) -> Action<'r> {
    relay.poll(arrived, room)
}

#[inline(never)]
pub fn handle(relay: &mut Relay, event: Event) -> Result<(), Misuse> {
    relay.handle(event)
}

#[inline(never)]
pub fn placement(relay: &mut Relay) -> Option<Placement> {
    relay.placement()
}

/// Descriptors are the relay's work, from the first to the last who has them.
#[inline(never)]
pub fn drop_transfer(transfer: Transfer) {
    drop(transfer);
}
