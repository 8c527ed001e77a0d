//! What the kernel of this host logs.

use std::fs;
use std::process::Command;

use crate::case::Failure;

/// What the kernel logs from here on.
#[derive(Debug)]
pub(crate) struct Log {
    mark: String,
}

impl Log {
    /// Begins here.
    pub(crate) fn from_here() -> Result<Self, Failure> {
        let mark = format!("smbd-live {} begins", std::process::id());
        fs::write("/dev/kmsg", format!("{mark}\n"))?;
        Ok(Self { mark })
    }

    /// Writes a line of its own to it.
    pub(crate) fn note(text: &str) -> Result<(), Failure> {
        Ok(fs::write("/dev/kmsg", format!("smbd-live {}: {text}\n", std::process::id()))?)
    }

    /// Lines that contain `part`, without their times.
    pub(crate) fn lines(&self, part: &str) -> Result<Vec<String>, Failure> {
        let output = Command::new("dmesg").arg("--notime").output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, since) = text.rsplit_once(&self.mark).ok_or("the kernel's log has lost its beginning")?;
        Ok(since.lines().filter(|line| line.contains(part)).map(str::to_owned).collect())
    }
}
