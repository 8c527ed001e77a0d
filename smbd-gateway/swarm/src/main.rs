//! The pump of `smbd-gateway`, with its client over an async connection, run in virtual time: on simulated devices, with a simulated
//! stream to the server, under the faults of the simulator's swarm. Models of a client and a server keep records of their own.
//!
//! With a gateway on a broker, the device is that of a broker, whose driver ships as well.
//!
//! The other way round its server is over the device. A seed decides everything. One that fails is printed with the command that repeats it.

mod brokered;
mod client_task;
mod clock;
mod gateway;
mod judge;
mod notes;
mod plan;
mod registered;
mod reverse;
mod run;
mod scene;
mod server_end;
mod server_task;
mod socket;
mod summary;
#[cfg(test)]
mod tests;
mod turns;

use std::process::ExitCode;

use clap::Parser;
use smbd_program::output;
use smbd_testkit::swarm::{self, Seeds, Show};

use scene::Report;
use summary::many;

/// The name of this program.
const PROGRAM: &str = "smbd-gateway-swarm";

/// Runs smbd-gateway's pump over simulated devices and a simulated stream, under faults.
///
/// Each run has a client, the pump, and a server; one of the two is on a device and has registered memory. Its seed decides everything. Exit status: 0 all laws hold, 1 a law is broken, 2 wrong usage, or the output cannot be written.
#[derive(Debug, Parser)]
#[command(name = "smbd-gateway-swarm", version)]
struct Arguments {
    #[command(flatten)]
    seeds: Seeds,
    /// The other way round: a client over the stream, a server on the other device
    #[arg(long, conflicts_with = "on_broker")]
    reverse: bool,
    /// The gateway on a broker, which has the device
    #[arg(long)]
    on_broker: bool,
}

/// Which way a run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Direction {
    #[default]
    Forward,
    /// As before, and the gateway is on a broker.
    OnBroker,
    Reverse,
}

impl Direction {
    /// Runs a seed.
    fn run(self, seed: u64, show: Show) -> Report {
        match self {
            Self::Forward => run::run(seed, false, show),
            Self::OnBroker => run::run(seed, true, show),
            Self::Reverse => reverse::run(seed, show),
        }
    }
}

fn main() -> ExitCode {
    swarm::main(PROGRAM, play)
}

fn play(arguments: Arguments) -> Result<ExitCode, String> {
    let direction = match (arguments.reverse, arguments.on_broker) {
        (true, _) => Direction::Reverse,
        (false, true) => Direction::OnBroker,
        (false, false) => Direction::Forward,
    };
    arguments.seeds.play(|seed| one(seed, direction), |seeds, done| many(seeds, direction, done))
}

/// Plays a seed, and prints all of it.
fn one(seed: u64, direction: Direction) -> Result<ExitCode, String> {
    let plan = match direction {
        Direction::Forward => format!("{:#?}\n", plan::Plan::of(seed)),
        Direction::OnBroker => {
            let plan = plan::Plan::of(seed);
            format!("{plan:#?}\n{:#?}\n", brokered::Plan::of(seed, &plan))
        }
        Direction::Reverse => format!("{:#?}\n", reverse::Plan::of(seed)),
    };
    output::write(&plan)?;
    let report = direction.run(seed, Show::All);
    let ending = report.ending.map_or_else(|| "not established".into(), |ending| ending.to_string());
    report.played.print(seed, &format!("planned: {}; ended: {ending}", report.end))
}
