//! Messages per second of the simulator, with and without oracles, in processor time of one thread.
//!
//! `cargo bench -p smbd-sim --bench throughput` prints both; nothing is asserted, since the machine decides.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::{Config, Event, Params};
use smbd_sim::Side;
use smbd_sim::fault::NoFaults;
use smbd_sim::host::{Context, HostConfig, Upper};
use smbd_sim::memory::Range;
use smbd_sim::nic::{NicConfig, Personality};
use smbd_sim::oracle::Oracles;
use smbd_sim::probe::Probe;
use smbd_sim::world::{World, WorldConfig};

const LEN: u32 = 1300;

/// Sends as long as there is room, and gives back what comes.
struct Pump {
    left: u64,
    buffer: Option<Range>,
    received: Rc<RefCell<u64>>,
}

impl Pump {
    fn send(&mut self, context: &mut Context<'_>) {
        let range = *self.buffer.get_or_insert_with(|| {
            let buffer = context.memory().alloc(LEN);
            Range { buffer, offset: 0, len: LEN }
        });
        while self.left > 0 && context.send(range, None).is_ok() {
            self.left -= 1;
        }
    }
}

impl Upper for Pump {
    fn event(&mut self, event: Event, context: &mut Context<'_>) {
        match event {
            Event::Established(_) | Event::Writable => self.send(context),
            Event::Data(fragment) => {
                *self.received.borrow_mut() += 1;
                context.release(fragment);
            }
            _ => {}
        }
    }
}

fn run<P: Probe>(probe: P, config: &Config, messages: u64) -> (u64, Duration) {
    let received = Rc::new(RefCell::new(0));
    let host = |left| {
        let mut nic = NicConfig::of(Personality::Roce, &config.budget());
        nic.content = false;
        let upper = Pump { left, buffer: None, received: Rc::clone(&received) };
        HostConfig { nic, config: config.clone(), upper }
    };
    let hosts = [host(messages), host(0)];
    let mut world = World::new(&WorldConfig::new(1, Personality::Roce), hosts, NoFaults, probe);
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    let start = std::time::Instant::now();
    let all = |_: &World<Pump, NoFaults, P>| *received.borrow() == messages;
    let done = world.run_until(smbd_core::Instant::from_nanos(u64::MAX / 2), all);
    let took = start.elapsed();
    assert!(done && black_box(world.connection(Side::Acceptor)).is_some(), "all messages arrive");
    (messages, took)
}

fn report(what: &str, (messages, took): (u64, Duration)) {
    let nanos = took.as_nanos().max(1);
    let per_second = u128::from(messages) * 1_000_000_000 / nanos;
    println!("{what:<20} {per_second:>12} messages/s, {} ns each", nanos / u128::from(messages));
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let messages = arguments.next().and_then(|n| n.parse().ok());
    let only = arguments.next();
    let config = Config::try_from(Params::windows()).expect("a profile is valid");
    for _ in 0..if messages.is_some() { 1 } else { 3 } {
        let messages = messages.unwrap_or(2_000_000);
        if only.as_deref() != Some("oracles") {
            report("without oracles", run((), &config, messages));
        }
        if only.as_deref() != Some("plain") {
            let oracles = Oracles::new([config.clone(), config.clone()]);
            report("with all oracles", run(oracles, &config, messages));
        }
    }
}
