//! A terminal of a test's own, of which it has the other end.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags, open as open_file};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

/// Who sits at a terminal, and the terminal.
pub struct Terminal {
    keys: File,
    tty: OwnedFd,
}

impl Terminal {
    pub fn open() -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let keys = openpt(flags).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap();
        let tty = open_file(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        Self { keys: keys.into(), tty }
    }

    /// A program in a session of its own, whose terminal this is.
    pub fn starts(&self, program: &str, with: impl FnOnce(&mut Command)) -> Child {
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", program]).stdin(self.tty.try_clone().unwrap());
        with(&mut command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    /// What is seen there, until this is.
    pub fn until(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        while !seen.ends_with(text.as_bytes()) {
            let mut byte = [0];
            self.keys.read_exact(&mut byte).unwrap();
            seen.extend(byte);
        }
        String::from_utf8(seen).unwrap()
    }

    /// Whether what is typed is shown, is taken by lines, and makes signals.
    pub fn modes(&self) -> [bool; 3] {
        let modes = tcgetattr(&self.tty).unwrap().local_modes;
        [LocalModes::ECHO, LocalModes::ICANON, LocalModes::ISIG].map(|mode| modes.contains(mode))
    }

    /// What is seen behind that, when nobody has the terminal open any more.
    pub fn rest(mut self) -> String {
        drop(self.tty);
        let mut seen = Vec::new();
        // It ends with an error.
        let _ = self.keys.read_to_end(&mut seen);
        String::from_utf8(seen).unwrap()
    }
}
