//! Tests whose runs are decided by seeds.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Runs seeds from 0 on: `count`, or as many as the variable `NAME_SEEDS` says. With `NAME_SEED`, runs only that seed, and tells `run` to
/// print all of its steps. Ends after `failures_max` failures.
///
/// # Panics
/// A run has failed or panicked, or was the only one.
pub fn every_seed<E: Display>(
    name: &str,
    count: u64,
    failures_max: usize,
    mut run: impl FnMut(u64, bool) -> Result<(), E>,
) {
    if let Some(seed) = variable(&format!("{name}_SEED")) {
        let end = run(seed, true).map_err(|breach| breach.to_string());
        panic!("seed {seed}: {end:?}");
    }
    let seeds = 0..variable(&format!("{name}_SEEDS")).unwrap_or(count);
    // What broken code says may be too much for a model.
    let failures = seeds.filter_map(|seed| match catch_unwind(AssertUnwindSafe(|| run(seed, false))) {
        Ok(Ok(())) => None,
        Ok(Err(breach)) => Some(format!("seed {seed}: {breach}")),
        Err(_) => Some(format!("seed {seed}: panic")),
    });
    let failures: Vec<_> = failures.take(failures_max).collect();
    assert!(failures.is_empty(), "{name}_SEED=N shows one:\n{}", failures.join("\n"));
}
