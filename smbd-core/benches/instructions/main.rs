//! Instructions of the operations of the core: see [`smbd_repository::instructions`].

#[path = "../scenes/mod.rs"]
mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-core",
        options: "",
        bench: "instructions",
        file: "instructions.toml",
        operations: scenes::OPERATIONS,
    })
}
