//! The driver of `smbd-broker` in virtual time: over simulated devices, one pair for each connection, and simulated sockets, under the
//! faults of the simulator's swarm. Models of clients and owners keep records of their own.
//!
//! A seed decides everything. One that fails is printed with the command that repeats it.

mod arrivals;
mod broker;
mod client;
mod clock;
mod host;
mod large;
mod ledger;
mod notes;
mod owner;
mod place;
mod plan;
mod run;
mod shared;
mod slot;
mod socket;
mod summary;
#[cfg(test)]
mod tests;
mod turns;
mod words;

use std::process::ExitCode;

use clap::Parser;
use smbd_program::output;
use smbd_testkit::swarm::{self, Seeds};

/// The name of this program.
const PROGRAM: &str = "smbd-broker-swarm";

/// Runs the driver of smbd-broker over simulated devices and sockets, under faults.
///
/// Each run has a broker, one to three owners, and clients with devices of their own. Its seed decides everything. Exit status: 0
/// all laws hold, 1 a law is broken, 2 wrong usage, or the output cannot be written.
#[derive(Debug, Parser)]
#[command(name = "smbd-broker-swarm", version)]
struct Arguments {
    #[command(flatten)]
    seeds: Seeds,
}

fn main() -> ExitCode {
    swarm::main(PROGRAM, play)
}

fn play(arguments: Arguments) -> Result<ExitCode, String> {
    arguments.seeds.play(one, summary::many)
}

/// Plays a seed, and prints all of it.
fn one(seed: u64) -> Result<ExitCode, String> {
    output::write(&format!("{:#?}\n", plan::Plan::of(seed)))?;
    let report = run::run(seed, true);
    let (text, done, clients) = (report.text, report.done, report.clients);
    output::write(&format!("{text}{done} of {clients} clients have done all\n"))?;
    match report.breach {
        Some(breach) => output::write(&format!("seed {seed}: {breach}\n")).map(|()| ExitCode::FAILURE),
        None => Ok(ExitCode::SUCCESS),
    }
}
