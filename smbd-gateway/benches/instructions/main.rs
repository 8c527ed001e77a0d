//! Instructions of a gateway: see [`smbd_repository::instructions`].

#[path = "../scenes/mod.rs"]
mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-gateway",
        options: "",
        bench: "instructions",
        file: "gateway.toml",
        operations: scenes::OPERATIONS,
    })
}
