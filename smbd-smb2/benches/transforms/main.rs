//! Instructions of signing and encrypting data that go by RDMA, as a client does it, beside those of whole crates for the same:
//! see [`smbd_repository::instructions`].

mod scenes;

use std::process::ExitCode;

use smbd_repository::instructions::{Suite, main as run};

fn main() -> ExitCode {
    run(&Suite {
        package: "smbd-smb2",
        options: "--features security",
        bench: "transforms",
        file: "transforms.toml",
        operations: scenes::OPERATIONS,
    })
}
