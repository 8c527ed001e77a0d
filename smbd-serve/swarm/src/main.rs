//! The client and the server of `smbd-smb2` with each other, in virtual time: over simulated devices or a simulated stream, under the
//! faults of the simulator's swarm. The client is driven by the code of `smbd-client`, and the server is that of `smbd-serve` as it ships.
//!
//! In one run of four the client has two connections, and loses one in the middle, or both. It is the handles of `smbd-client` then.
//!
//! A model of all files keeps records of its own, and all messages are looked at on their way. In some runs one side is hostile, or
//! somebody between them. A seed decides everything. One that fails is printed with the command that repeats it.

mod carrier;
#[path = "../../../smbd-gateway/swarm/src/common/mod.rs"]
#[allow(dead_code, reason = "the swarm of the gateway uses more of it")]
mod common;
mod content;
mod crossing;
mod customs;
mod ends;
mod here;
mod judge;
mod labour;
mod ledger;
mod memory;
mod mischief;
mod model;
mod notes;
mod plan;
mod run;
mod scene;
mod server;
mod several;
mod shared;
mod summary;
#[cfg(test)]
mod tests;
mod transforms;
mod work;

use std::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use smbd_program::output;

use common::Show;
use run::run;
use summary::many;

/// The name of this program.
const PROGRAM: &str = "smbd-serve-swarm";

/// Runs the client and the server of smbd-smb2 with each other, over simulated devices or a simulated stream, under faults.
///
/// In one run of four the client has two connections, over which the handles of smbd-client share out what is asked for; mostly it loses
/// one of them, or both. A seed decides everything. Exit status: 0 all laws hold, 1 a law
/// is broken, 2 wrong usage, or the output cannot be written.
#[derive(Debug, Parser)]
#[command(name = "smbd-serve-swarm", version)]
struct Arguments {
    /// Seeds: A..B, B not included
    #[arg(long, value_name = "A..B", value_parser = common::seeds::range, default_value = "0..1000")]
    seeds: Range<u64>,
    /// One seed, with all of its steps
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,
}

fn main() -> ExitCode {
    match output::options(PROGRAM) {
        Ok(arguments) => output::conclude(PROGRAM, play(arguments)),
        Err(printed) => printed,
    }
}

fn play(arguments: Arguments) -> Result<ExitCode, String> {
    if let Some(seed) = arguments.seed {
        output::write(&format!("{:#?}\n", plan::Plan::of(seed)))?;
        let report = run(seed, Show::All);
        let of = |why: Option<String>| why.unwrap_or_else(|| "not at all".into());
        let (client, server) = (of(report.client_ended), of(report.server_ended));
        return report.played.print(seed, &format!("client ended: {client}\nserver ended: {server}"));
    }
    let summary = common::seeds::shown(arguments.seeds, many);
    output::write(&summary.to_string())?;
    Ok(if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
