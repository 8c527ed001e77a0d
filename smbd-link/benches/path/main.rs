//! Instructions of the whole path of one side, without a device: see [`smbd_repository::instructions`].

mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-link",
        options: "",
        bench: "path",
        file: "path.toml",
        operations: scenes::OPERATIONS,
    })
}
