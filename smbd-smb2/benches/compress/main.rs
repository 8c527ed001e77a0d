//! Instructions of compression and decompression: see [`smbd_repository::instructions`].

mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-smb2",
        options: "--features compression",
        bench: "compress",
        file: "compress.toml",
        operations: scenes::OPERATIONS,
    })
}
