//! Command line and configuration file, checked.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::admission::Admission;
use smbd_daemon::file::seconds;
use smbd_daemon::log::Format;
use smbd_daemon::network::Network;
use smbd_daemon::outcome::Failure;
use smbd_daemon::places::{Place, Rule, networks};
use smbd_daemon::socket_path::SocketMode;
use smbd_daemon::tasks::Basic;
use smbd_daemon::trouble::Trouble;

use crate::file::{self, File, Listener, Security, Share, Ways};
use crate::limits::{Places, share};
use crate::options::Run;
use crate::users::{self, Users};

/// The port of SMB over TCP, and of SMB Direct but on iWARP.
const PORT: u16 = 445;

/// What the server does.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// One at least.
    pub(crate) shares: Vec<Share>,
    users_file: Option<PathBuf>,
    pub(crate) users: Arc<Users>,
    pub(crate) listeners: Vec<Rule<()>>,
    pub(crate) allow: Vec<Network>,
    pub(crate) broker: Option<Broker>,
    pub(crate) security: Security,
    pub(crate) places: Places,
    /// As many as there were at the start.
    pub(crate) places_max: u16,
    /// Connections of a process that serves clients, and its memory in MiB.
    pub(crate) connections: u16,
    pub(crate) memory_mib: u32,
    pub(crate) channels: u8,
    pub(crate) pending: u32,
    pub(crate) login: Duration,
    pub(crate) drain: Duration,
    pub(crate) addresses: Duration,
    pub(crate) format: Format,
    pub(crate) metrics: Option<SocketAddr>,
    /// `None`: it tells nobody.
    pub(crate) status: Option<PathBuf>,
    pub(crate) status_mode: SocketMode,
}

/// Who gives clients over SMB Direct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broker {
    /// Its socket.
    pub(crate) path: PathBuf,
    /// Where it listens, as far as clients are told.
    pub(crate) addresses: Vec<IpAddr>,
    /// Whether each client has a process of its own.
    pub(crate) fork: bool,
}

impl Basic for Settings {
    fn format(&self) -> Format {
        self.format
    }

    fn limit(&self, admission: &Admission) {
        self.places.limit(admission);
    }
}

impl Settings {
    /// Checks everything but what is served, and reads the users.
    pub(crate) fn new(run: &Run) -> Result<Self, Failure> {
        let file = run.common.config.as_deref().map_or_else(|| Ok(File::default()), File::read);
        let mut settings = Self::of(run, &file.map_err(Failure::Usage)?).map_err(Failure::Usage)?;
        if let Some(path) = &settings.users_file {
            settings.users = Arc::new(users::read(path).map_err(|error| Trouble::other(&error))?);
        }
        Ok(settings)
    }

    /// The same of a file that was read, without users. An error is a text for whoever wrote it.
    pub(crate) fn of(run: &Run, file: &File) -> Result<Self, String> {
        let shares = shares(run, file)?;
        let security = Security {
            sign: run.sign || file.security.sign,
            encrypt: run.encrypt || file.security.encrypt,
            rdma_transforms: !run.no_rdma_transforms && file.security.rdma_transforms,
        };
        let users_file = run.users.clone().or_else(|| file.users.clone());
        let has_guests = shares.iter().any(|share| share.guest);
        if users_file.is_none() && !has_guests {
            return Err(
                "there are no users: name their file with --users <FILE> or `users`, or let in guests".into(),
            );
        }
        if has_guests && (security.sign || security.encrypt) {
            return Err("guests can neither sign nor encrypt: no share can be for them".into());
        }
        let broker = broker(run, &file.broker)?;
        let listeners = rules(run, file)?;
        if listeners.is_empty() && broker.is_none() {
            return Err("nothing is listened at: --listen <ADDR:PORT>, [[listener]] or --broker".into());
        }
        let fork = broker.as_ref().is_some_and(|broker| broker.fork);
        if fork && !listeners.is_empty() {
            return Err("fork cannot be used with a listener: children serve clients of the broker".into());
        }
        let numbers = Numbers::new(run, file, fork)?;
        let processes = if fork { numbers.children } else { 1 };
        let (connections, memory_mib) = share(numbers.connections, numbers.memory, processes)?;
        let places = if fork { numbers.children } else { numbers.connections };
        let within = |number: u16| Duration::from_secs(number.into());
        Ok(Self {
            shares,
            users_file,
            users: Arc::default(),
            listeners,
            allow: networks(if run.allow.is_empty() { &file.allow } else { &run.allow })?,
            broker,
            security,
            places_max: places,
            places: Places::new(places, numbers.per_client, numbers.logging_in, fork),
            connections,
            memory_mib,
            channels: numbers.channels,
            pending: file.limits.pending,
            login: within(numbers.login),
            drain: within(numbers.drain),
            addresses: seconds("timeouts.addresses_s", file.timeouts.addresses_s)?,
            format: run.common.format(&file.log),
            metrics: run.common.metrics(&file.metrics)?,
            status: run.common.status(&file.status.socket),
            status_mode: file.status.mode,
        })
    }

    /// Whether clients have processes of their own.
    pub(crate) fn forks(&self) -> bool {
        self.broker.as_ref().is_some_and(|broker| broker.fork)
    }
}

/// The directory of the command line, or else the shares of the file.
fn shares(run: &Run, file: &File) -> Result<Vec<Share>, String> {
    let Some(path) = run.directory.clone() else {
        if file.share.is_empty() {
            return Err("there is nothing to serve: name a directory, or a [[share]] in the file".into());
        }
        if run.case_sensitive {
            return Err("--case-sensitive takes a DIR: write it to the [[share]]".into());
        }
        let mut shares = file.share.clone();
        for share in &mut shares {
            share.read_only |= run.read_only;
            share.guest |= run.guest;
            if share.guest && share.encrypt {
                return Err(format!("guests cannot encrypt: the share {} cannot be for them", share.name));
            }
        }
        return Ok(shares);
    };
    Ok(vec![Share {
        name: run.share.clone().unwrap_or_else(|| "share".into()),
        path,
        read_only: run.read_only,
        guest: run.guest,
        case_sensitive: run.case_sensitive,
        encrypt: false,
        users: Vec::new(),
    }])
}

fn broker(run: &Run, file: &file::Broker) -> Result<Option<Broker>, String> {
    let fork = run.fork || file.fork;
    let Some(path) = run.broker.clone().or_else(|| file.socket.clone()) else {
        let wrong = |what| Err(format!("{what} takes --broker <PATH> or broker.socket"));
        return match () {
            () if fork => wrong("fork"),
            () if !run.broker_address.is_empty() => wrong("--broker-address"),
            () => Ok(None),
        };
    };
    let addresses = if run.broker_address.is_empty() { &file.addresses } else { &run.broker_address };
    if run.children.is_some() && !fork {
        return Err("--children takes --fork".into());
    }
    Ok(Some(Broker { path, addresses: addresses.clone(), fork }))
}

/// The listeners of the command line, or else those of the file.
fn rules(run: &Run, file: &File) -> Result<Vec<Rule<()>>, String> {
    let rules: Vec<_> = if run.listen.is_empty() {
        file.listener.iter().map(rule).collect::<Result<_, _>>()?
    } else {
        let rule = |place: &Place| Rule::new(place.clone(), None, (), Vec::new());
        run.listen.iter().map(rule).collect::<Result<_, _>>()?
    };
    #[cfg(not(feature = "verbs"))]
    if let Some(rule) =
        rules.iter().find(|rule| rule.needs_devices() || matches!(rule.place, Place::Socket(_)))
    {
        let why = "this smbd-serve was built without RDMA (feature verbs)";
        return Err(match &rule.place {
            Place::Socket(address) => format!("--listen rdma:{address}: {why}"),
            _ => format!("a listener of RDMA devices: {why}"),
        });
    }
    Ok(rules)
}

fn rule(Listener { address, device, port, over, allow }: &Listener) -> Result<Rule<()>, String> {
    let allow = networks(allow)?;
    let of_tcp = match (over, address) {
        (Some(Ways::Both | Ways::Tcp), None) => {
            return Err("a listener over TCP takes an address: without one it is that of RDMA devices".into());
        }
        (Some(Ways::Rdma), _) | (_, None) => {
            return Rule::new(Place::new(address.as_deref(), device.as_deref())?, *port, (), allow);
        }
        (None | Some(Ways::Both), Some(_)) => Place::Both,
        (Some(Ways::Tcp), Some(_)) => Place::Tcp,
    };
    if let (Some(address), Some(device)) = (address, device) {
        return Err(format!(
            "a listener names the address {address} and the device {device}: write one of them"
        ));
    }
    let text = address.as_deref().unwrap_or_default();
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Rule::new(of_tcp(address), *port, (), allow);
    }
    let address = text.trim_matches(['[', ']']).parse::<IpAddr>();
    let address = address
        .map_err(|_| format!("'{text}' is no address of this host, such as 10.9.0.1 or [fd09::1]:445"))?;
    Rule::new(of_tcp(SocketAddr::new(address, port.unwrap_or(PORT))), None, (), allow)
}

/// Those of the command line, or else of the file. Those of the command line were looked at.
struct Numbers {
    connections: u16,
    per_client: Option<u16>,
    logging_in: Option<u16>,
    children: u16,
    channels: u8,
    memory: u32,
    login: u16,
    drain: u16,
}

impl Numbers {
    fn new(run: &Run, file: &File, fork: bool) -> Result<Self, String> {
        let (limits, timeouts) = (&file.limits, &file.timeouts);
        let numbers = Self {
            connections: run.connections.unwrap_or(limits.connections),
            per_client: run.per_client.or(limits.per_client),
            logging_in: run.logging_in.or(limits.logging_in),
            children: run.children.unwrap_or(file.broker.children),
            channels: run.channels.unwrap_or(limits.channels),
            memory: run.memory.unwrap_or(limits.memory_mib),
            login: run.login.unwrap_or(timeouts.login_s),
            drain: run.drain.unwrap_or(timeouts.drain_s),
        };
        let ranges: [(&str, u32, RangeInclusive<u32>); 9] = [
            ("limits.connections", numbers.connections.into(), 1..=4096),
            ("limits.per_client", numbers.per_client.unwrap_or(1).into(), 1..=4096),
            ("limits.logging_in", numbers.logging_in.unwrap_or(1).into(), 1..=4096),
            ("limits.pending", limits.pending, 1..=65_535),
            ("limits.channels", numbers.channels.into(), 1..=32),
            ("limits.memory_mib", numbers.memory, 24..=1 << 20),
            ("broker.children", numbers.children.into(), 1..=1024),
            ("timeouts.login_s", numbers.login.into(), 1..=600),
            ("timeouts.drain_s", numbers.drain.into(), 0..=600),
        ];
        for (name, value, range) in ranges {
            if !range.contains(&value) {
                return Err(format!("{name} is {value}, and can be {} to {}", range.start(), range.end()));
            }
        }
        if run.children.is_some() && !fork {
            return Err("--children takes --fork".into());
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests;
