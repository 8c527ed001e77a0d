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

/// Where shares are mounted unless it is said.
const FOLDER: &str = "/run/smbd-live-mount";
/// Who mounts them.
const USER: &str = "username=tester,password=test123";

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

/// A mount that is under way. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Mount {
    child: Child,
    folder: PathBuf,
}

impl Mount {
    /// Begins to mount a share of a server. The client looks for it at port 5445 and then at 445.
    pub(crate) fn begin(server: IpAddr) -> Result<Self, Failure> {
        Self::begin_with(server, "vers=3.1.1")
    }

    /// The same with these options besides.
    pub(super) fn begin_with(server: IpAddr, options: &str) -> Result<Self, Failure> {
        Self::begin_at(&format!("//{server}/share"), Path::new(FOLDER), &format!("rdma,{options}"))
    }

    /// Begins to mount this share in this folder, with these options and those of the user.
    pub(crate) fn begin_at(share: &str, folder: &Path, options: &str) -> Result<Self, Failure> {
        fs::create_dir_all(folder)?;
        let child = Command::new("mount")
            .args(["-t", "cifs", share])
            .arg(folder)
            .args(["-o", &format!("{USER},{options}")])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("mount: {error}"))?;
        Ok(Self { child, folder: folder.to_owned() })
    }

    /// What it said when it failed, which it has to within `limit`.
    pub(crate) fn failure(mut self, limit: Duration) -> Result<String, Failure> {
        let (succeeded, said) = self.outcome(limit)?;
        if succeeded { Err("the mount succeeded".into()) } else { Ok(said) }
    }

    /// Waits until it has succeeded, which it has to within `limit`.
    pub(crate) fn mounted(mut self, limit: Duration) -> Result<Mounted, Failure> {
        let (succeeded, said) = self.outcome(limit)?;
        if succeeded { Ok(Mounted { folder: self.folder.clone() }) } else { Err(said.into()) }
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
pub(crate) struct Mounted {
    folder: PathBuf,
}

impl Mounted {
    /// A file of the share, by its name.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What a shell command prints on its standard output, run in the folder of the share.
    pub(crate) fn shell(&self, command: &str) -> Result<String, Failure> {
        let output = Command::new("sh").args(["-c", command]).current_dir(&self.folder).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(format!("{command}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
            .into())
    }

    /// Unmounts it.
    pub(crate) fn unmount(self) -> Result<(), Failure> {
        let output = Command::new("umount").arg(&self.folder).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("umount: {}", String::from_utf8_lossy(&output.stderr).trim()).into())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Most often it has been unmounted.
        let _ = Command::new("umount").args(["-f", "-l"]).arg(&self.folder).stderr(Stdio::null()).status();
    }
}
