//! What is measured: operations on a file, with all that the client's side does for them: the call and its result, the driver, the client
//! of `smbd-smb2`, the link, its endpoint, and the backend's bookkeeping. What the devices and the server do is not counted.

mod measured;

use smbd_repository::instructions::{Operation, Work};
use smbd_testkit::scenes::client::{self, What};
use smbd_testkit::scenes::world::{Task, World};
use smbd_testkit::scenes::{device, host, server};

/// Data of 4 KiB go in messages if nobody asks for something else.
const THRESHOLD: u32 = 4096;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("read_4k", "`read_at` of 4 KiB, in messages", |count| {
        play(count, What::Read, 4 << 10, THRESHOLD)
    }),
    Operation::new("write_4k", "`write_at` of 4 KiB, in messages", |count| {
        play(count, What::Write, 4 << 10, THRESHOLD)
    }),
    Operation::new("read_4k_rdma", "`read_at` of 4 KiB by RDMA", |count| play(count, What::Read, 4 << 10, 0)),
    Operation::new("write_4k_rdma", "`write_at` of 4 KiB by RDMA", |count| {
        play(count, What::Write, 4 << 10, 0)
    }),
    Operation::new("read_into_4k_rdma", "`read_into` of 4 KiB by RDMA", |count| {
        play(count, What::ReadInto, 4 << 10, 0)
    }),
    Operation::new("write_from_4k_rdma", "`write_from` of 4 KiB by RDMA", |count| {
        play(count, What::WriteFrom, 4 << 10, 0)
    }),
    Operation::new("read_64k", "`read_at` of 64 KiB", |count| play(count, What::Read, 64 << 10, THRESHOLD)),
    Operation::new("write_64k", "`write_at` of 64 KiB", |count| {
        play(count, What::Write, 64 << 10, THRESHOLD)
    }),
    Operation::new("read_into_64k", "`read_into` of 64 KiB", |count| {
        play(count, What::ReadInto, 64 << 10, THRESHOLD)
    }),
    Operation::new("write_from_64k", "`write_from` of 64 KiB", |count| {
        play(count, What::WriteFrom, 64 << 10, THRESHOLD)
    }),
    Operation::new("read_1m", "`read_at` of 1 MiB", |count| play(count, What::Read, 1 << 20, THRESHOLD))
        .between(1, 9),
    Operation::new("write_1m", "`write_at` of 1 MiB", |count| play(count, What::Write, 1 << 20, THRESHOLD))
        .between(1, 9),
    Operation::new("read_into_1m", "`read_into` of 1 MiB", |count| {
        play(count, What::ReadInto, 1 << 20, THRESHOLD)
    })
    .between(1, 9),
    Operation::new("write_from_1m", "`write_from` of 1 MiB", |count| {
        play(count, What::WriteFrom, 1 << 20, THRESHOLD)
    })
    .between(1, 9),
];

fn play(count: u32, what: What, len: u32, threshold: u32) -> Work {
    let (initiator, acceptor) = device::links(&client::config(), &host::config());
    let mut world = World::new(measured::poll, vec![Task::new(false, server::serve(acceptor))]);
    let opened = client::open(&mut world, initiator, threshold, true);
    // Whatever is allocated once is there.
    world.run(opened.operation(what, len, false));
    Box::new(move || {
        for _ in 0..count {
            world.run(opened.operation(what, len, true));
        }
        Box::new((opened, world))
    })
}
