//! How many messages a second two cores move through the simulator: no trace, no content, no oracles.
//!
//! `cargo bench -p smbd-sim --bench sim_pair [MESSAGES]`

use std::time::Duration;

use smbd_core::{Config, Event, Params};
use smbd_sim::Side;
use smbd_sim::fault::NoFaults;
use smbd_sim::host::{Context, HostConfig, Upper};
use smbd_sim::memory::Range;
use smbd_sim::nic::{NicConfig, Personality};
use smbd_sim::world::{World, WorldConfig};

/// Sends the same buffer over and over, and gives back whatever comes.
#[derive(Default)]
struct Stream {
    len: u32,
    message: Option<Range>,
    received: u64,
}

impl Stream {
    fn fill(&mut self, context: &mut Context<'_>) {
        while let Some(message) = self.message
            && context.send(message, None).is_ok()
        {}
    }
}

impl Upper for Stream {
    fn event(&mut self, event: Event, context: &mut Context<'_>) {
        match event {
            Event::Data(fragment) => {
                self.received += 1;
                context.release(fragment);
            }
            Event::Established(_) => {
                let buffer = context.memory().alloc(self.len);
                self.message = context.memory().whole(buffer);
                self.fill(context);
            }
            // One goes, one comes: the queue stays full and nothing is refused.
            Event::Sent { .. } => {
                if let Some(message) = self.message {
                    let _full = context.send(message, None);
                }
            }
            Event::ConnectFailed(_)
            | Event::Invalidated { .. }
            | Event::RdmaDone { .. }
            | Event::Registered { .. }
            | Event::Deregistered { .. }
            | Event::Probed(_)
            | Event::Writable
            | Event::Closed(_)
            | Event::Drained => {}
        }
    }
}

fn config(size: u32) -> Config {
    let params = Params { max_send_size: size.min(8136), max_receive_size: size, ..Params::windows() };
    Config::try_from(params).expect("valid")
}

fn run(personality: Personality, size: u32, messages: u64) {
    let config = config(size);
    let nic = NicConfig { content: false, ..NicConfig::of(personality, &config.budget()) };
    let host = || HostConfig {
        config: config.clone(),
        nic: nic.clone(),
        upper: Stream { len: size.min(8136) - 24, ..Stream::default() },
    };
    let mut world = World::new(&WorldConfig::new(1, personality), [host(), host()], NoFaults, ());
    world.run_until(smbd_core::Instant::from_nanos(50_000), |_| false);
    let received =
        |world: &World<Stream>| Side::BOTH.map(|side| world.host(side).upper.received).iter().sum::<u64>();
    let before = received(&world);
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    let start = std::time::Instant::now();
    while received(&world) - before < messages {
        if world.step().is_none() {
            break;
        }
    }
    let took: Duration = start.elapsed();
    let done = received(&world) - before;
    let per_message = took.as_nanos() / u128::from(done.max(1));
    assert_eq!(world.breaches().count(), 0);
    println!("{personality:?} {size:>5} B: {done} messages, {per_message} ns each");
}

fn main() {
    let messages = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(5_000_000);
    for personality in [Personality::Roce, Personality::Iwarp] {
        for size in [1364, 8192] {
            run(personality, size, messages);
        }
    }
}
