//! How often the server's side of an operation allocates, when all that is allocated once is there: the task that `smbd_serve` begins for
//! a client, the server of `smbd-smb2`, the channel and the link. What the devices and the client do is not counted.

mod scenes;

use smbd_testkit::scenes::client::{self, What};
use smbd_testkit::scenes::world::World;
use smbd_testkit::scenes::{device, host};

use scenes::measured::{self, allocations};
use scenes::serves;

/// The most allocations of one of several operations on 4 KiB, which go in messages or by RDMA.
fn of(what: What, by_rdma: bool) -> u64 {
    let (initiator, acceptor) = device::links(&client::config(), &host::config());
    let mut world = World::new(measured::poll, vec![serves::Serves::new().serve(acceptor)]);
    let opened = client::open(&mut world, initiator, if by_rdma { 0 } else { 4096 }, false);
    let mut one = || {
        allocations();
        world.run(opened.operation(what, 4096, false));
        allocations()
    };
    // Tables have their sizes then.
    (0..1100).map(|_| one()).skip(1000).max().unwrap_or_default()
}

// Messages in both directions and lists of descriptors have memory that is used again.

#[test]
fn a_read_in_messages_allocates_its_answer_and_nothing_else() {
    // The data are read into the memory of the answer, which is made when the file is read: reads that wait have none.
    assert_eq!(of(What::ReadInto, false), 1);
}

#[test]
fn a_write_in_messages_allocates_nothing() {
    assert_eq!(of(What::WriteFrom, false), 0);
}

#[test]
fn a_read_by_rdma_allocates_nothing() {
    // The data are in memory of the channel, which is used again.
    assert_eq!(of(What::ReadInto, true), 0);
}

#[test]
fn a_write_by_rdma_allocates_nothing() {
    assert_eq!(of(What::WriteFrom, true), 0);
}
