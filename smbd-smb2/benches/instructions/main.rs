//! Instructions of the relay: see [`smbd_repository::instructions`].

#[path = "../scenes/mod.rs"]
mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-smb2",
        options: "--features client",
        bench: "instructions",
        file: "relay.toml",
        operations: scenes::OPERATIONS,
    })
}
