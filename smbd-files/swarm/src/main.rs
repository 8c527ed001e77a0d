//! The client and the server of `smbd-smb2` with each other, in virtual time: over simulated devices or a simulated stream, under the
//! faults of the simulator's swarm. The client is driven by the code of `smbd-files`, over its transports.
//!
//! A model of all files keeps records of its own, and all messages are looked at on their way. In some runs one side is hostile, or
//! somebody between them. A seed decides everything. One that fails is printed with the command that repeats it.

mod carrier;
mod content;
mod judge;
mod ledger;
mod memory;
mod mischief;
mod model;
mod notes;
#[path = "../../../smbd-gateway/swarm/src/pipe.rs"]
#[allow(dead_code, reason = "the swarm of the gateway uses more of it")]
mod pipe;
mod plan;
mod run;
#[path = "../../../smbd-gateway/swarm/src/seeds.rs"]
mod seeds;
mod server_end;
mod server_task;
mod summary;
#[cfg(test)]
mod tests;
mod work;

use std::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use run::{Show, run};
use summary::many;

/// Runs the client and the server of smbd-smb2 with each other, over simulated devices or a simulated stream, under faults.
///
/// A seed decides everything. Exit status 1: a law is broken.
#[derive(Debug, Parser)]
#[command(name = "smbd-files-swarm", version)]
struct Arguments {
    /// Seeds: A..B, B not included
    #[arg(long, value_name = "A..B", value_parser = seeds::range, default_value = "0..1000")]
    seeds: Range<u64>,
    /// One seed, with all of its steps
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(seed) = arguments.seed {
        println!("{:#?}", plan::Plan::of(seed));
        let report = run(seed, Show::All);
        print!("{}", report.text);
        let ended = |why: Option<String>| why.unwrap_or_else(|| "not at all".into());
        println!("client ended: {}", ended(report.client_ended));
        println!("server ended: {}; everything done: {}", ended(report.server_ended), report.is_done);
        println!("digest {:016x}", report.digest);
        return match report.breach {
            Some(breach) => {
                println!("seed {seed}: {breach}");
                ExitCode::FAILURE
            }
            None => ExitCode::SUCCESS,
        };
    }
    let bar = ProgressBar::new(arguments.seeds.end - arguments.seeds.start);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {per_sec}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let summary = many(arguments.seeds, &|more| bar.inc(more));
    bar.finish_and_clear();
    print!("{summary}");
    if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
