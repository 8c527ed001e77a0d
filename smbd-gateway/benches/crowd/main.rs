//! Many connections of one gateway: see [`smbd_repository::instructions`].

mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-gateway",
        options: "",
        bench: "crowd",
        file: "gateway-crowd.toml",
        operations: scenes::OPERATIONS,
    })
}
