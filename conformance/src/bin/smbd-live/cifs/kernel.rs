//! The kernel's client: its parameters, and mounts.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use smbd_core::Instant;
use smbd_verbs::Clock;

use crate::case::Failure;

/// How often a mount is asked whether it is over: a child of this process has no descriptor to wait for.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A parameter that has another value for as long as this lives.
#[derive(Debug)]
pub(super) struct Parameter {
    path: PathBuf,
    before: String,
}

impl Parameter {
    /// One of the client's SMB Direct, such as `smbd_keep_alive_interval` (seconds). Read when a connection begins.
    pub(super) fn set(name: &str, value: u32) -> Result<Self, Failure> {
        Self::at(Path::new("/proc/fs/cifs").join(name), value)
    }

    /// Classes of what SMB Direct logs besides errors.
    pub(super) fn logging(classes: u32) -> Result<Self, Failure> {
        Self::at("/sys/module/cifs/parameters/smbd_logging_class".into(), classes)
    }

    fn at(path: PathBuf, value: u32) -> Result<Self, Failure> {
        let explain = |error: std::io::Error| format!("{}: {error}", path.display());
        let before = fs::read_to_string(&path).map_err(explain)?.trim().to_owned();
        fs::write(&path, value.to_string()).map_err(explain)?;
        Ok(Self { path, before })
    }
}

impl Drop for Parameter {
    fn drop(&mut self) {
        // A later test would say so.
        let _ = fs::write(&self.path, &self.before);
    }
}

/// A mount over SMB Direct that is under way. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Mount {
    child: Child,
}

impl Mount {
    /// Begins to mount a share of a server. The client looks for it at port 5445 and then at 445.
    pub(crate) fn begin(server: IpAddr) -> Result<Self, Failure> {
        let folder = "/run/smbd-live-mount";
        fs::create_dir_all(folder)?;
        let child = Command::new("mount")
            .args(["-t", "cifs", &format!("//{server}/share"), folder])
            .args(["-o", "username=tester,password=test123,vers=3.1.1,rdma"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("mount: {error}"))?;
        Ok(Self { child })
    }

    /// What it said when it failed, which it has to within `limit`.
    pub(crate) fn failure(mut self, limit: Duration) -> Result<String, Failure> {
        let clock = Clock::start();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if clock.now().saturating_since(Instant::ORIGIN) > limit {
                return Err(format!("mount did not end within {} s", limit.as_secs()).into());
            }
            thread::sleep(POLL_INTERVAL);
        };
        let mut said = String::new();
        for stream in [
            self.child.stdout.take().map(std::io::read_to_string),
            self.child.stderr.take().map(std::io::read_to_string),
        ] {
            said.push_str(&stream.transpose()?.unwrap_or_default());
        }
        if status.success() { Err("the mount succeeded".into()) } else { Ok(said.trim().to_owned()) }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
