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

/// Where shares are mounted.
const FOLDER: &str = "/run/smbd-live-mount";

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
        Self::begin_with(server, "vers=3.1.1")
    }

    /// The same with these options besides.
    pub(super) fn begin_with(server: IpAddr, options: &str) -> Result<Self, Failure> {
        fs::create_dir_all(FOLDER)?;
        let child = Command::new("mount")
            .args(["-t", "cifs", &format!("//{server}/share"), FOLDER])
            .args(["-o", &format!("username=tester,password=test123,rdma,{options}")])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("mount: {error}"))?;
        Ok(Self { child })
    }

    /// What it said when it failed, which it has to within `limit`.
    pub(crate) fn failure(mut self, limit: Duration) -> Result<String, Failure> {
        let (succeeded, said) = self.outcome(limit)?;
        if succeeded { Err("the mount succeeded".into()) } else { Ok(said) }
    }

    /// Waits until it has succeeded, which it has to within `limit`.
    pub(super) fn mounted(mut self, limit: Duration) -> Result<Mounted, Failure> {
        let (succeeded, said) = self.outcome(limit)?;
        if succeeded { Ok(Mounted { _private: () }) } else { Err(said.into()) }
    }

    /// Whether it succeeded, and what it said.
    fn outcome(&mut self, limit: Duration) -> Result<(bool, String), Failure> {
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
        Ok((status.success(), said.trim().to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A share that is mounted. Dropped, it is taken away by force.
#[derive(Debug)]
pub(super) struct Mounted {
    _private: (),
}

impl Mounted {
    /// What a shell command prints on its standard output, run in the folder of the share.
    pub(super) fn shell(&self, command: &str) -> Result<String, Failure> {
        let output = Command::new("sh").args(["-c", command]).current_dir(FOLDER).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(format!("{command}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
            .into())
    }

    /// Unmounts it.
    pub(super) fn unmount(self) -> Result<(), Failure> {
        let output = Command::new("umount").arg(FOLDER).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("umount: {}", String::from_utf8_lossy(&output.stderr).trim()).into())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Most often it has been unmounted.
        let _ = Command::new("umount").args(["-f", "-l", FOLDER]).stderr(Stdio::null()).status();
    }
}
