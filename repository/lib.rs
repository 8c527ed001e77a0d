//! What several packages of the repository need and no published one has. The tests of the repository as a whole are in `tests`.

pub mod instructions;

use std::fs::File;
use std::io::{self, Write as _};

/// Variable with the path of a file to which [`skipped`] adds a line for each test.
const LIST: &str = "SMBD_SKIPPED_TESTS";

/// Says that a test shows nothing here, and why: on standard error, which the harness captures of `println!` and `eprintln!` only, and in the
/// file that SMBD_SKIPPED_TESTS names, which `./test` prints at the end. For what no package can bring, such as a capability; a test that
/// needs a program fails without it.
///
/// # Panics
/// The file cannot be written.
pub fn skipped(test: &str, why: &str) {
    let line = format!("test {test} skipped: {why}\n");
    // Whoever has closed it does not want to know.
    let _ = io::stderr().write_all(line.as_bytes());
    if let Some(list) = std::env::var_os(LIST) {
        let file = File::options().create(true).append(true).open(&list);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of skipped tests");
    }
}
