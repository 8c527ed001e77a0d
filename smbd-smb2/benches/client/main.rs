//! Instructions of the client: see [`smbd_repository::instructions`].

mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-smb2",
        options: "--features client",
        bench: "client",
        file: "client.toml",
        operations: scenes::OPERATIONS,
    })
}
