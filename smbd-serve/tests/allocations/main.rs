//! How often the server's side of an operation allocates, when all that is allocated once is there: the server of `smbd-smb2`, the channel
//! and the link. What the devices and the client do, and what is done with files, is not counted.

mod scenes;

use scenes::client::{self, What};
use scenes::measured::allocations;
use scenes::world::{Task, World};
use scenes::{device, host, serves};

/// The most allocations of one of several operations on 4 KiB, which go in messages or by RDMA.
fn of(what: What, by_rdma: bool) -> u64 {
    let (initiator, acceptor) = device::links(&client::config(), &host::config());
    let mut world = World(vec![Task::new(true, serves::serve(acceptor))]);
    let opened = client::open(&mut world, initiator, if by_rdma { 0 } else { 4096 }, false);
    let mut one = || {
        allocations();
        world.run(opened.operation(what, 4096, false));
        allocations()
    };
    // Tables have their sizes then.
    (0..200).map(|_| one()).skip(100).max().unwrap_or_default()
}

fn assert_at_most(allocations: u64, most: u64) {
    assert!(allocations <= most, "{allocations}");
}

// Of each operation:
// - 1: the request, of which the receive is given back; one of several fragments once more, because the endpoint keeps the memory in
//   which it has put them together
// - 2: the requests of a message, and where its chains begin
// - 3: the answer, which grows twice
// - 2: the answers of a message, and where they are
const EACH: u64 = 8;

#[test]
fn a_read_in_messages_allocates_at_most_ten_times() {
    // The header and the body in front of the data, which grow once. The answer is in the memory that the data were read into.
    assert_at_most(of(What::ReadInto, false), EACH + 2);
}

#[test]
fn a_write_in_messages_allocates_at_most_ten_times() {
    // The data for the file; the count of owners of the answer, which does not fill its memory.
    assert_at_most(of(What::WriteFrom, false), EACH + 2);
}

#[test]
fn a_read_by_rdma_allocates_at_most_eleven_times() {
    // The descriptors of the request, twice: as the server gives them, and as the link keeps them. The count of owners of the answer.
    // The data are in memory of the channel, which is used again.
    assert_at_most(of(What::ReadInto, true), EACH + 3);
}

#[test]
fn a_write_by_rdma_allocates_at_most_eleven_times() {
    // As for a READ: what is fetched comes to memory of the channel, which is used again.
    assert_at_most(of(What::WriteFrom, true), EACH + 3);
}
