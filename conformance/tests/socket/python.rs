//! The example in Python as an implementation.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::thread;

use smbd_conformance::socket::Address;

use super::field::Implementation;

/// The folder of the examples.
pub const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");

/// A program in Python, which runs until this is dropped.
pub struct Python {
    file: PathBuf,
    running: Mutex<Vec<Child>>,
}

impl Python {
    /// The example.
    pub fn example() -> Self {
        Self::of(PathBuf::from(EXAMPLES).join("socket_echo.py"))
    }

    /// A program that takes the same options.
    pub fn of(file: PathBuf) -> Self {
        Self { file, running: Mutex::default() }
    }

    fn begin(&self, option: &str, at: &Address) {
        let mut command = Command::new("python3");
        // Without files of its own in the sources.
        command.arg("-B").arg(&self.file).args([option, &at.to_string()]);
        self.running.lock().unwrap().push(command.spawn().unwrap());
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        for running in self.running.get_mut().unwrap() {
            running.kill().unwrap();
            running.wait().unwrap();
        }
    }
}

impl Implementation for Python {
    fn accept(&self, at: &Address) {
        self.begin("--listen", at);
        while at.connect().is_err() {
            thread::yield_now();
        }
    }

    fn connect(&self, to: &Address) {
        self.begin("--connect", to);
    }
}
