//! Throughput of two engines on two threads, compared with that of one: `docs/benchmarks.md`, "Many connections".
//!
//! Times are those of the machine; what is exact is that nothing is allocated for a message, and the allocator is the one thing
//! that engines have in common.

#![expect(clippy::disallowed_methods, reason = "what is measured is time")]

#[allow(dead_code, reason = "most scenes are of another benchmark")]
#[path = "path/scenes/mod.rs"]
mod scenes;

use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{fs, thread};

use allocation_counter::measure;
use scenes::busy;

/// Messages of one measurement.
const MESSAGES: u32 = 2000 * busy::CONNECTIONS;
const ROUNDS: usize = 21;

/// What so many engines take for the messages of each, on a thread each.
struct Taken {
    /// From the first that begins to the last that ends.
    wall: f64,
    /// On processors, the mean of the threads: what other programs take of them is not in it.
    processor: f64,
}

fn taken(engines: u32, messages: u32) -> Taken {
    let start = Barrier::new(usize::try_from(engines).expect("a number"));
    let one = || {
        let work = busy::messages::<0>(messages);
        start.wait();
        let (began, before) = (Instant::now(), on_processor());
        let rest = work();
        let (ended, after) = (Instant::now(), on_processor());
        drop(rest);
        (began, ended, after - before)
    };
    let threads: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..engines).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().expect("an engine")).collect()
    });
    let first = threads.iter().map(|(began, ..)| *began).min().expect("an engine");
    let last = threads.iter().map(|(_, ended, _)| *ended).max().expect("an engine");
    let processor: f64 = threads.iter().map(|(_, _, time)| time.as_secs_f64()).sum();
    Taken { wall: (last - first).as_secs_f64(), processor: processor / f64::from(engines) }
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

fn main() {
    let few = allocations(10 * busy::CONNECTIONS);
    assert_eq!(allocations(20 * busy::CONNECTIONS), few, "a message allocates");
    println!("allocations for a message: 0");
    // `cargo test --benches` is for the assertion.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let mut rounds: Vec<[f64; 4]> = (0..ROUNDS)
        .map(|_| {
            let [one, two] = [1, 2].map(|engines| taken(engines, MESSAGES));
            let messages = f64::from(MESSAGES);
            let ratio = |time: fn(&Taken) -> f64| 2.0 * time(&one) / time(&two);
            let processor = ratio(|taken| taken.processor);
            [messages / one.wall, 2.0 * messages / two.wall, ratio(|taken| taken.wall), processor]
        })
        .collect();
    let columns = [
        "messages/s, one engine",
        "messages/s, two engines",
        "throughput of two, that of one is 1",
        "the same by time on processors",
    ];
    for (at, what) in columns.iter().enumerate() {
        rounds.sort_by(|a, b| a[at].total_cmp(&b[at]));
        let [least, median, most] = [0, ROUNDS / 2, ROUNDS - 1].map(|round| rounds[round][at]);
        println!("{what}: median {median:.2}, {least:.2} to {most:.2} in {ROUNDS} rounds");
    }
}
