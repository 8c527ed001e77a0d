//! Runs many seeds on many threads. The result does not depend on the number of threads.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::{Options, Plan, Report, Summary, run};

/// Seeds taken by a thread at a time.
const CHUNK: u64 = 32;

/// Runs one seed.
#[must_use]
pub fn run_seed(seed: u64, options: &Options) -> Report {
    run(&Plan::of(seed, options), None)
}

/// Runs all seeds; `done` hears how many more are done. Sums do not depend on who ran what, failures are in the order
/// of their seeds: the number of threads cannot be seen in the result.
pub fn run_seeds(seeds: Range<u64>, options: &Options, done: &(dyn Fn(u64) + Sync)) -> Summary {
    let take = |seed: u64, summary: &mut Summary| summary.take(&run_seed(seed, options));
    over_seeds(seeds, None, &take, Summary::merge, done)
}

/// Has `take` put what came of each seed into a sum of its thread, and `merge` put those together. On so many threads, as
/// many as there are processors if left out; `done` hears how many more seeds are done.
pub fn over_seeds<S: Default + Send>(
    seeds: Range<u64>,
    threads: Option<NonZeroUsize>,
    take: &(dyn Fn(u64, &mut S) + Sync),
    merge: impl Fn(&mut S, S),
    done: &(dyn Fn(u64) + Sync),
) -> S {
    let next = AtomicU64::new(seeds.start);
    let threads = threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let worker = || {
        let mut sum = S::default();
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            if start >= seeds.end {
                return sum;
            }
            let end = seeds.end.min(start.saturating_add(CHUNK));
            for seed in start..end {
                take(seed, &mut sum);
            }
            done(end - start);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let mut sum = S::default();
        for worker in workers {
            match worker.join() {
                Ok(part) => merge(&mut sum, part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sum
    })
}
