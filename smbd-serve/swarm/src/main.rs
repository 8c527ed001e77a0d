//! The client and the server of `smbd-smb2` with each other, in virtual time: over simulated devices or a simulated stream, under the
//! faults of the simulator's swarm. The client is driven by the code of `smbd-client`, and the server is that of `smbd-serve` as it ships.
//!
//! In one run of four the client has two connections, and loses one in the middle, or both. It is the handles of `smbd-client` then.
//!
//! A model of all files keeps records of its own, and all messages are looked at on their way. In some runs one side is hostile, or
//! somebody between them. A seed decides everything. One that fails is printed with the command that repeats it.

mod carrier;
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

use std::process::ExitCode;

use clap::Parser;
use smbd_program::output;
use smbd_testkit::swarm::{self, Seeds, Show};

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
    let report = run::run(seed, Show::All);
    let of = |why: Option<String>| why.unwrap_or_else(|| "not at all".into());
    let (client, server) = (of(report.client_ended), of(report.server_ended));
    report.played.print(seed, &format!("client ended: {client}\nserver ended: {server}"))
}
