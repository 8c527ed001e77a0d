//! Instructions of operations of a client, as its server sees them, down to the device: see [`smbd_repository::instructions`].

mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-serve",
        options: "",
        bench: "operations",
        file: "serve-operations.toml",
        operations: scenes::OPERATIONS,
    })
}
