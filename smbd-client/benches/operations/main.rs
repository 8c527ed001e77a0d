//! Instructions of operations of the client, down to its device: see [`smbd_repository::instructions`].

mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-client",
        options: "",
        bench: "operations",
        file: "client-operations.toml",
        operations: scenes::OPERATIONS,
    })
}
