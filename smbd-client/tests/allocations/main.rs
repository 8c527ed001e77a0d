//! How often the client's side of an operation allocates, when all that is allocated once is there: the call, the driver, the client of
//! `smbd-smb2` and the link. What the devices and the server do is not counted.

mod scenes;

use scenes::client::{self, What};
use scenes::measured::allocations;
use scenes::world::{Task, World};
use scenes::{device, host, server};

/// The most allocations of one of several operations on 4 KiB, which go in messages or by RDMA.
fn of(what: What, by_rdma: bool) -> u64 {
    let (initiator, acceptor) = device::links(&client::config(), &host::config());
    let mut world = World(vec![Task::new(false, server::serve(acceptor))]);
    let opened = client::open(&mut world, initiator, if by_rdma { 0 } else { 4096 }, true);
    let mut one = || {
        allocations();
        world.run(opened.operation(what, 4096, true));
        allocations()
    };
    // Tables have their sizes then.
    (0..200).map(|_| one()).skip(100).max().unwrap_or_default()
}

fn assert_at_most(allocations: u64, most: u64) {
    assert!(allocations <= most, "{allocations}");
}

#[test]
fn a_read_in_messages_allocates_at_most_four_times() {
    // The way of the result to the caller; the request; the answer once more, because the endpoint keeps the memory in which it has put
    // its fragments together; the data that the caller gets.
    assert_at_most(of(What::Read, false), 4);
    // The same; the data that are copied into the caller's memory.
    assert_at_most(of(What::ReadInto, false), 4);
}

#[test]
fn a_write_in_messages_allocates_at_most_three_times_and_five_times_out_of_the_callers_memory() {
    // The way of the result to the caller; the request with its data; the answer, of which the receive is given back.
    assert_at_most(of(What::Write, false), 3);
    // The same; the data out of the caller's memory, and their count of owners.
    assert_at_most(of(What::WriteFrom, false), 5);
}

#[test]
fn a_read_by_rdma_allocates_at_most_five_times_and_four_times_into_the_callers_memory() {
    // The way of the result to the caller; the descriptors of the registration; the request; the answer.
    assert_at_most(of(What::ReadInto, true), 4);
    // The same; the data that the caller gets.
    assert_at_most(of(What::Read, true), 5);
}

#[test]
fn a_write_by_rdma_allocates_at_most_four_times() {
    // The way of the result to the caller; the descriptors of the registration; the request; the answer.
    assert_at_most(of(What::Write, true), 4);
    assert_at_most(of(What::WriteFrom, true), 4);
}
