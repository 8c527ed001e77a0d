//! Many clients of one server, down to the device: see [`smbd_repository::instructions`].

mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-serve",
        options: "",
        bench: "crowd",
        file: "serve-crowd.toml",
        operations: scenes::OPERATIONS,
    })
}
