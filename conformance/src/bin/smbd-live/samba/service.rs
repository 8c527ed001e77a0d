//! A share of Samba behind the gateway.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use smbd_core::Instant;
use smbd_verbs::Clock;

use super::lab;
use crate::case::{Context, Failure, ServedBy};
use crate::cifs::{Mount, Mounted};
use crate::expect::holds;
use crate::patience::PATIENCE;
use crate::process::Process;

/// The folder behind the share, as the lab has it.
const SHARE: &str = "/run/share";
/// The first mount, and others.
const FOLDERS: [&str; 2] = ["/mnt/one", "/mnt/two"];
/// Each read and write is one of the server, and one page shorter than the longest: of a buffer that does not begin with a page,
/// cifs.ko 6.12 tries to register one page more than it has made its regions for, and does so for ever
/// (`smbd_register_mr: num_pages=257 max_frmr_depth=256`).
pub(super) const UNCACHED: &str = "vers=3.1.1,cache=none,rsize=1044480,wsize=1044480";

/// Samba on loopback and the gateway in front of it, both with nothing in them; or `smbd-serve`. Dropped, all end.
#[derive(Debug)]
pub(super) struct Service {
    name: &'static str,
    served_by: ServedBy,
    has_broker: bool,
    address: IpAddr,
    settings: Vec<String>,
    options: Vec<String>,
    gateway: Process,
}

impl Service {
    /// Starts both with what they do unless told otherwise. Their logs go by the name.
    pub(super) fn begin(context: &Context, name: &'static str) -> Result<Self, Failure> {
        Self::begin_with(context, name, &[], &[])
    }

    /// Starts both, Samba with these settings, the gateway with these options.
    pub(super) fn begin_with(
        context: &Context,
        name: &'static str,
        settings: &[&str],
        options: &[&str],
    ) -> Result<Self, Failure> {
        // What a test before this one has left, which may have been ended in the middle. Most often it is nothing.
        for folder in FOLDERS {
            let _ = lab::shell(&format!("umount -f -l {folder}"));
        }
        if context.served_by == ServedBy::Gateway {
            let _ = lab::call("samba_stop", &["KILL"]);
        }
        if Path::new(SHARE).exists() {
            fs::remove_dir_all(SHARE)?;
        }
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (settings, options) = (owned(settings), owned(options));
        let Context { address, served_by, has_broker, .. } = *context;
        let gateway = match served_by {
            ServedBy::Gateway => {
                start_samba(&settings)?;
                start_gateway(name, address, has_broker, &options)?
            }
            ServedBy::Serve => start_serve(name, address, &options)?,
        };
        Ok(Self { name, served_by, has_broker, address, settings, options, gateway })
    }

    /// Whether it is Samba behind the gateway.
    pub(super) fn is_gateway(&self) -> bool {
        self.served_by == ServedBy::Gateway
    }

    /// The gateway, or what is in its place.
    pub(super) const fn gateway(&self) -> &Process {
        &self.gateway
    }

    /// Kills the gateway, and starts another one.
    pub(super) fn replace_gateway(&mut self) -> Result<(), Failure> {
        self.gateway.kill()?;
        self.gateway = start_gateway(self.name, self.address, self.has_broker, &self.options)?;
        Ok(())
    }

    /// Kills all of Samba, and starts it again.
    pub(super) fn replace_samba(&mut self) -> Result<(), Failure> {
        lab::call("samba_stop", &["KILL"])?;
        start_samba(&self.settings)
    }

    /// Mounts the share through the gateway.
    pub(super) fn mount(&self, options: &str) -> Result<Mounted, Failure> {
        self.begin_mount("share", 0, options)?.mounted(PATIENCE)
    }

    /// Mounts another share beside it. With `nosharesock` the mount has a connection of its own.
    pub(super) fn mount_beside(&self, share: &str, options: &str) -> Result<Mounted, Failure> {
        self.begin_mount(share, 1, options)?.mounted(PATIENCE)
    }

    /// Begins to mount a share in one of two places.
    pub(super) fn begin_mount(&self, share: &str, place: usize, options: &str) -> Result<Mount, Failure> {
        let share = format!("//{}/{share}", self.address);
        let folder = FOLDERS.get(place).ok_or("there are two places")?;
        Mount::begin_at(&share, Path::new(folder), &format!("rdma,{options}"))
    }

    /// What the gateway says when a client has ended, after a mark.
    pub(super) fn ended(&self, mark: usize) -> Result<Ended, Failure> {
        Ok(Ended(self.gateway.said(mark, &["client ended "])?))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if !self.is_gateway() {
            return;
        }
        // A test that fails has said why; the next one would say that this could not be done.
        let _ = lab::call("samba_stop", &["KILL"]);
        if let Ok(folder) = std::env::var("OUT") {
            let _ = fs::rename(format!("{folder}/samba.log"), format!("{folder}/samba-{}.log", self.name));
        }
    }
}

fn start_samba(settings: &[String]) -> Result<(), Failure> {
    let settings: Vec<_> = settings.iter().map(String::as_str).collect();
    lab::call("samba_start", &settings).map(drop)
}

/// Where the lab has the broker.
const BROKER: &str = "/run/broker";

/// Starts the gateway and waits until it listens for the device, or is attached to the broker.
fn start_gateway(
    name: &str,
    address: IpAddr,
    has_broker: bool,
    options: &[String],
) -> Result<Process, Failure> {
    let mut arguments = vec!["run"];
    arguments.extend(options.iter().map(String::as_str));
    // Behind others, which are tried before it.
    arguments.extend(["--server", "127.0.0.1:445"]);
    let at = SocketAddr::new(address, 0).to_string();
    let at = at.strip_suffix('0').unwrap_or(&at);
    let mut is_there = format!("listening address={at}");
    if has_broker {
        arguments.extend(["--broker", BROKER]);
        is_there = "attached ".into();
    }
    let gateway = Process::start("smbd-gateway", format!("gateway-{name}"), &arguments)?;
    gateway.said(0, &[&is_there])?;
    Ok(gateway)
}

/// Starts a share of the folder and waits until it listens for the device.
fn start_serve(name: &str, address: IpAddr, options: &[String]) -> Result<Process, Failure> {
    const USERS: &str = "/run/serve-users";
    fs::create_dir_all(SHARE)?;
    fs::write(USERS, "tester:password:test123\n")?;
    fs::set_permissions(USERS, fs::Permissions::from_mode(0o600))?;
    let at = SocketAddr::new(address, 445).to_string();
    let mut arguments = vec![SHARE, "--listen", &at, "--users", USERS];
    arguments.extend(options.iter().map(String::as_str));
    let serve = Process::start("smbd-serve", format!("serve-{name}"), &arguments)?;
    serve.said(0, &["listening ", "over=rdma"])?;
    Ok(serve)
}

/// A file behind the share.
pub(super) fn behind(name: &str) -> PathBuf {
    Path::new(SHARE).join(name)
}

/// Lets the user of the share write a file that was made behind it.
pub(super) fn let_all_write(path: &Path) -> Result<(), Failure> {
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o666))?)
}

/// The line with which the gateway says that a client has ended.
#[derive(Debug)]
pub(super) struct Ended(String);

impl From<String> for Ended {
    fn from(line: String) -> Self {
        Self(line)
    }
}

impl Ended {
    /// A field of it, without quotes.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.0.split_once(&format!(" {name}="))?;
        match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => rest.split(' ').next(),
        }
    }

    /// A number.
    pub(super) fn number(&self, name: &str) -> Result<u64, Failure> {
        let value = self.field(name).ok_or_else(|| format!("no {name} in: {}", self.0))?;
        Ok(value.parse()?)
    }

    /// Demands of it that a field is so.
    pub(super) fn is(&self, name: &str, value: &str) -> Result<(), Failure> {
        holds(self.field(name) == Some(value), || format!("{name} should be {value}: {}", self.0))
    }

    /// All of it.
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// Waits until something is so.
pub(super) fn await_that(
    what: &str,
    mut is_so: impl FnMut() -> Result<bool, Failure>,
) -> Result<Duration, Failure> {
    const POLL_INTERVAL: Duration = Duration::from_millis(50);
    let clock = Clock::start();
    loop {
        let is_so = is_so()?;
        let time = clock.now().saturating_since(Instant::ORIGIN);
        if is_so {
            return Ok(time);
        }
        if time > PATIENCE {
            return Err(format!("not seen within {} s: {what}", PATIENCE.as_secs()).into());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
