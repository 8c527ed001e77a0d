//! How often the client's side of an operation allocates, when all that is allocated once is there: the call, the driver, the client of
//! `smbd-smb2` and the link. What the devices and the server do is not counted.

mod measured;

use smbd_testkit::scenes::client::{self, What};
use smbd_testkit::scenes::world::{Task, World};
use smbd_testkit::scenes::{device, host, server};

use measured::allocations;

/// The most allocations of one of several operations on 4 KiB, which go in messages or by RDMA.
fn of(what: What, by_rdma: bool) -> u64 {
    let (initiator, acceptor) = device::links(&client::config(), &host::config());
    let mut world = World::new(measured::poll, vec![Task::new(false, server::serve(acceptor))]);
    let opened = client::open(&mut world, initiator, if by_rdma { 0 } else { 4096 }, true);
    let mut one = || {
        allocations();
        world.run(opened.operation(what, 4096, true));
        allocations()
    };
    // Tables have their sizes then.
    (0..1100).map(|_| one()).skip(1000).max().unwrap_or_default()
}

// Requests, answers and lists of descriptors have memory that is used again, and so has the way of a result to the caller.

#[test]
fn a_read_allocates_the_data_that_the_caller_gets_and_nothing_else() {
    assert_eq!(of(What::Read, false), 1);
    assert_eq!(of(What::Read, true), 1);
}

#[test]
fn a_read_into_the_callers_memory_allocates_nothing() {
    assert_eq!(of(What::ReadInto, false), 0);
    assert_eq!(of(What::ReadInto, true), 0);
}

#[test]
fn a_write_in_messages_allocates_its_request_and_nothing_else() {
    // A link keeps up to 32 requests until the device has told that they were sent: with data, that would be much memory to use again.
    assert_eq!(of(What::Write, false), 1);
    assert_eq!(of(What::WriteFrom, false), 1);
}

#[test]
fn a_write_by_rdma_allocates_nothing() {
    assert_eq!(of(What::Write, true), 0);
    assert_eq!(of(What::WriteFrom, true), 0);
}
