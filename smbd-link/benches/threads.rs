//! Throughput of two engines on two threads, compared with that of one: `docs/benchmarks.md`, "Many connections".
//!
//! Times are those of the machine; what is exact is that nothing is allocated for a message, and the allocator is the one thing
//! that engines have in common.

#![expect(clippy::disallowed_methods, reason = "what is measured is time")]

#[allow(dead_code, reason = "most scenes are of another benchmark")]
#[path = "path/scenes/mod.rs"]
mod scenes;

use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};
use std::{fs, hint, thread};

use allocation_counter::measure;
use scenes::busy::{self, Exchange};

/// What is counted in one go.
const WINDOW: Duration = Duration::from_millis(40);
/// By then both threads look at the clock.
const LEAD: Duration = Duration::from_micros(500);
const ROUNDS: usize = 101;

/// The windows of a round, and which engine works in each. What either does alone is between what both do: a processor that is
/// slower than the other, or gets slower meanwhile, is then not taken for what two engines do to each other.
const WINDOWS: [[bool; 2]; 4] = [[true, false], [true, true], [false, true], [true, true]];

/// Messages per second of one engine in a window.
#[derive(Clone, Copy, Default)]
struct Rate {
    clock: f64,
    /// Of the time in which the thread had a processor: what others take of it is not in it.
    processor: f64,
}

/// What is agreed on between the threads: when a window begins.
struct Start {
    meeting: Barrier,
    at: Mutex<Instant>,
}

impl Start {
    /// Returns when both have come and it is time.
    fn wait(&self) -> Instant {
        if self.meeting.wait().is_leader() {
            *self.at.lock().expect("no thread panics") = Instant::now() + LEAD;
        }
        self.meeting.wait();
        let at = *self.at.lock().expect("no thread panics");
        while Instant::now() < at {
            hint::spin_loop();
        }
        at
    }
}

/// The rate of an engine from `start` on.
fn rate(exchange: &mut Exchange, start: Instant) -> Rate {
    let (answers, before) = (exchange.answers(), on_processor());
    let clock = loop {
        exchange.turn();
        let taken = start.elapsed();
        if taken >= WINDOW {
            break taken;
        }
    };
    let processor = on_processor() - before;
    let messages = f64::from(u32::try_from(exchange.answers() - answers).expect("messages of a window"));
    Rate { clock: messages / clock.as_secs_f64(), processor: messages / processor.as_secs_f64() }
}

/// The rates of one of two engines, a thread each, in all windows.
fn rates(thread: usize, start: &Start) -> Vec<[Rate; 4]> {
    let mut exchange = Exchange::new(0);
    let mut window = |works: bool| {
        let start = start.wait();
        if works { rate(&mut exchange, start) } else { Rate::default() }
    };
    (0..ROUNDS).map(|_| WINDOWS.map(|works| window(works[thread]))).collect()
}

/// Time of this thread on processors.
fn on_processor() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("statistics of the scheduler");
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("nanoseconds"))
}

/// Allocations while one engine has so many messages.
fn allocations(messages: u32) -> u64 {
    let work = busy::messages::<0>(messages);
    let mut rest = None;
    let count = measure(|| rest = Some(work()));
    drop(rest);
    count.count_total
}

/// The throughput of one engine, of two, and how many times that of one this is: in a round.
fn round(one: &[Rate; 4], other: &[Rate; 4], rate: fn(&Rate) -> f64) -> [f64; 3] {
    // As in `WINDOWS`.
    let [one_alone, one_first, _, one_second] = one.each_ref().map(rate);
    let [_, other_first, other_alone, other_second] = other.each_ref().map(rate);
    let alone = (one_alone + other_alone) / 2.0;
    let both = (one_first + other_first + one_second + other_second) / 2.0;
    [alone, both, both / alone]
}

fn main() {
    let few = allocations(10 * busy::CONNECTIONS);
    assert_eq!(allocations(20 * busy::CONNECTIONS), few, "a message allocates");
    println!("allocations for a message: 0");
    // `cargo test --benches` is for the assertion.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let start = Start { meeting: Barrier::new(2), at: Mutex::new(Instant::now()) };
    let [one, other] = thread::scope(|scope| {
        let start = &start;
        let threads = [0, 1].map(|thread| scope.spawn(move || rates(thread, start)));
        threads.map(|thread| thread.join().expect("an engine"))
    });
    for (by, rate) in
        [("by the clock", (|of| of.clock) as fn(&Rate) -> f64), ("by time on processors", |of| of.processor)]
    {
        let mut rounds: Vec<_> = one.iter().zip(&other).map(|(one, other)| round(one, other, rate)).collect();
        for (at, what) in
            ["messages/s, one engine", "messages/s, two engines", "throughput of two, that of one is 1"]
                .iter()
                .enumerate()
        {
            rounds.sort_by(|a, b| a[at].total_cmp(&b[at]));
            let [least, median, most] = [0, ROUNDS / 2, ROUNDS - 1].map(|round| rounds[round][at]);
            println!("{what}, {by}: median {median:.2}, {least:.2} to {most:.2} in {ROUNDS} rounds");
        }
    }
}
