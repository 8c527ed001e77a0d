//! What is measured: many clients of one server, with what the server's side does for them and keeps for them: the server of `smbd-smb2`,
//! the channel and the link. Tables of the endpoint and the backend, memory of devices, and files are not in the bytes.

mod measured;
#[path = "../../operations/scenes/serves.rs"]
mod serves;

use smbd_repository::instructions::{Operation, Work};
use smbd_testkit::crowd::{BUSY, crowd, held};
use smbd_testkit::scenes::client::{self, Opened, What};
use smbd_testkit::scenes::world::World;
use smbd_testkit::scenes::{device, host};

use serves::Serves;

/// Bytes of an operation, and of a file.
const LEN: u32 = 4 << 10;
/// With this threshold data of that length go in messages, with the other by RDMA.
const MESSAGES: u32 = LEN;
const RDMA: u32 = 0;
/// Operations of each kind after which a client is busy.
const OPERATIONS_EACH: u32 = 100;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("idle", "a client that has logged in and opened a file: what is kept for it", |count| {
        clients(count, MESSAGES, &[])
    })
    .held(held)
    .between(10, 110),
    Operation::new("idle_1000", "the same, one of a thousand", |count| clients(count, MESSAGES, &[]))
        .held(held)
        .between(1000, 1010),
    Operation::new("busy", "the same, after WRITEs of 4 KiB in messages", |count| {
        clients(count, MESSAGES, &[What::WriteFrom])
    })
    .held(held)
    .between(10, 110),
    Operation::new(
        "busy_rdma",
        "the same, after READs and WRITEs by RDMA: with 64 KiB for the data of a transfer",
        |count| clients(count, RDMA, &[What::ReadInto, What::WriteFrom]),
    )
    .held(held)
    .between(10, 110),
    Operation::new(
        "busy_100_idle_0",
        "100 clients that read 4 KiB each in turn, in messages: a READ",
        reads::<0>,
    )
    .between(BUSY, 5 * BUSY),
    Operation::new("busy_100_idle_1000", "the same with 1,000 more clients that are idle", reads::<1000>)
        .between(BUSY, 5 * BUSY),
];

/// A server and its clients.
struct Many {
    world: World,
    serves: Serves,
}

impl Many {
    fn new() -> Self {
        Self { world: World::new(measured::poll, Vec::new()), serves: Serves::new() }
    }

    /// A client with a file of its own.
    fn connect(&mut self, number: u32, threshold: u32) -> Opened {
        let (initiator, acceptor) = device::links(&client::config(), &host::config());
        self.world.tasks.push(self.serves.serve(acceptor));
        let file = (format!("file {number}"), LEN);
        client::open_file(&mut self.world, initiator, threshold, false, file)
    }
}

/// So many clients, each after operations of these kinds.
fn clients(count: u32, threshold: u32, operations: &'static [What]) -> Work {
    Box::new(move || {
        let mut many = Many::new();
        let clients: Vec<_> = (0..count).map(|number| many.connect(number, threshold)).collect();
        for _ in 0..OPERATIONS_EACH {
            for (client, what) in
                clients.iter().flat_map(|client| operations.iter().map(move |what| (client, what)))
            {
                many.world.run(client.operation(*what, LEN, false));
            }
        }
        Box::new((clients, many.world))
    })
}

/// So many READs of those that are busy, in turn.
fn reads<const IDLE: u32>(count: u32) -> Work {
    let mut many = Many::new();
    let (busy, idle) = crowd(IDLE, |number| many.connect(number, MESSAGES));
    for client in &busy {
        many.world.run(client.operation(What::ReadInto, LEN, false));
    }
    Box::new(move || {
        for _ in 0..count / BUSY {
            for client in &busy {
                many.world.run(client.operation(What::ReadInto, LEN, false));
            }
        }
        Box::new((busy, idle, many.world))
    })
}
