//! What is measured: operations of a client on a file, with all that the server's side does for them: the task of the client that
//! `smbd_serve` begins, the server of `smbd-smb2`, the channel, the link, its endpoint, and the backend's bookkeeping. What the devices and the
//! client do is not counted, and files have no bytes.

mod measured;
mod serves;

use smbd_repository::instructions::{Operation, Work};
use smbd_testkit::scenes::client::{self, What};
use smbd_testkit::scenes::world::World;
use smbd_testkit::scenes::{device, host};

/// Data of 4 KiB go in messages if nobody asks for something else.
const THRESHOLD: u32 = 4096;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("read_4k", "a READ of 4 KiB, in messages", |count| {
        play(count, What::ReadInto, 4 << 10, THRESHOLD)
    }),
    Operation::new("write_4k", "a WRITE of 4 KiB, in messages", |count| {
        play(count, What::WriteFrom, 4 << 10, THRESHOLD)
    }),
    Operation::new("read_4k_rdma", "a READ of 4 KiB by RDMA", |count| {
        play(count, What::ReadInto, 4 << 10, 0)
    }),
    Operation::new("write_4k_rdma", "a WRITE of 4 KiB by RDMA", |count| {
        play(count, What::WriteFrom, 4 << 10, 0)
    }),
    Operation::new("read_64k", "a READ of 64 KiB by RDMA", |count| {
        play(count, What::ReadInto, 64 << 10, THRESHOLD)
    }),
    Operation::new("write_64k", "a WRITE of 64 KiB by RDMA", |count| {
        play(count, What::WriteFrom, 64 << 10, THRESHOLD)
    }),
    Operation::new("read_1m", "a READ of 1 MiB by RDMA", |count| {
        play(count, What::ReadInto, 1 << 20, THRESHOLD)
    })
    .between(1, 9),
    Operation::new("write_1m", "a WRITE of 1 MiB by RDMA", |count| {
        play(count, What::WriteFrom, 1 << 20, THRESHOLD)
    })
    .between(1, 9),
];

fn play(count: u32, what: What, len: u32, threshold: u32) -> Work {
    let (initiator, acceptor) = device::links(&client::config(), &host::config());
    let mut world = World::new(measured::poll, vec![serves::Serves::new().serve(acceptor)]);
    let opened = client::open(&mut world, initiator, threshold, false);
    // Whatever is allocated once is there.
    world.run(opened.operation(what, len, false));
    Box::new(move || {
        for _ in 0..count {
            world.run(opened.operation(what, len, false));
        }
        Box::new((opened, world))
    })
}
