//! Command line and configuration file, checked.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::geteuid;
use smbd_broker::broker::{self, Quotas};
use smbd_broker::socket::Credentials;
use smbd_broker::wire::Limits;
use smbd_core::{Config, Keepalive, Params};
use smbd_daemon::admission::Admission;
use smbd_daemon::file::seconds;
use smbd_daemon::limits::Needs;
use smbd_daemon::log::Format;
use smbd_daemon::network::Network;
use smbd_daemon::places::{Place, Rule, networks};
use smbd_daemon::socket_path::SocketMode;
use smbd_daemon::tasks::Basic;
use smbd_verbs::footprint;

use crate::file::{File, Listener, SmbDirect};
use crate::options::Run;

/// The shortest limit of a message without RDMA (MS-SMBD 3.1.5.2, 3.1.5.3), and the longest of direct TCP (MS-SMB2 2.1).
const MESSAGE: std::ops::RangeInclusive<u32> = 131_072..=0x00FF_FFFF;
/// File descriptors of a connection: five of the device, two of its socket.
const DESCRIPTORS: u64 = 7;

/// What the broker does.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// One at least.
    pub(crate) listeners: Vec<Rule<()>>,
    pub(crate) allow: Vec<Network>,
    pub(crate) per_client: u32,
    pub(crate) pending: u32,
    pub(crate) broker: broker::Settings,
    /// Bytes of a connection that devices know.
    pub(crate) locked: u64,
    pub(crate) socket: PathBuf,
    pub(crate) socket_mode: SocketMode,
    pub(crate) uids: Vec<u32>,
    pub(crate) gids: Vec<u32>,
    pub(crate) addresses: Duration,
    pub(crate) format: Format,
    pub(crate) metrics: Option<SocketAddr>,
    /// `None`: it tells nobody.
    pub(crate) status: Option<PathBuf>,
    pub(crate) status_mode: SocketMode,
}

impl Basic for Settings {
    fn format(&self) -> Format {
        self.format
    }

    fn limit(&self, admission: &Admission) {
        admission.set_limits(self.connections(), self.per_client);
    }
}

impl Settings {
    /// Checks everything. An error is a text for whoever wrote it.
    pub(crate) fn new(run: &Run) -> Result<Self, String> {
        let file = run.common.config.as_deref().map_or_else(|| Ok(File::default()), File::read)?;
        Self::of(run, &file)
    }

    /// The same of a file that was read.
    pub(crate) fn of(run: &Run, file: &File) -> Result<Self, String> {
        let broker = broker_of(file)?;
        let config = Config::try_from(broker.params.clone()).map_err(|error| error.to_string())?;
        let owners = &file.owners;
        let socket = run.socket.as_ref().unwrap_or(&owners.socket);
        if socket.is_empty() {
            return Err("owners.socket is empty: servers attach to it".into());
        }
        Ok(Self {
            listeners: rules(run, file)?,
            allow: networks(run.allow.iter().chain(&file.allow))?,
            per_client: file.limits.per_client,
            pending: file.limits.pending,
            locked: footprint(&config),
            broker,
            socket: PathBuf::from(socket),
            socket_mode: owners.mode,
            uids: if run.allow_uid.is_empty() { owners.uids.clone() } else { run.allow_uid.clone() },
            gids: owners.gids.clone(),
            addresses: seconds("timeouts.addresses_s", file.timeouts.addresses_s)?,
            format: run.common.format(&file.log),
            metrics: run.common.metrics(&file.metrics)?,
            status: run.common.status(&file.status.socket),
            status_mode: file.status.mode,
        })
    }

    /// Connections at the same time.
    pub(crate) fn connections(&self) -> u32 {
        u32::try_from(self.broker.quotas.connections_max).unwrap_or(u32::MAX)
    }

    /// What the system has to allow.
    pub(crate) fn needs(&self) -> Needs {
        Needs {
            connections: self.connections(),
            descriptors: DESCRIPTORS,
            locked: self.locked,
            locked_beside: self.broker.quotas.memory_max,
        }
    }

    /// Whether a process may attach.
    pub(crate) fn may_attach(&self, who: Credentials) -> bool {
        if self.uids.is_empty() && self.gids.is_empty() {
            return who.uid == 0 || who.uid == geteuid().as_raw();
        }
        self.uids.contains(&who.uid) || self.gids.contains(&who.gid)
    }
}

/// The listeners, one at least: those of the command line, or else those of the file, or else one for all devices.
fn rules(run: &Run, file: &File) -> Result<Vec<Rule<()>>, String> {
    if !run.listen.is_empty() {
        let rule = |text: &String| Rule::new(Place::new(Some(text), None)?, None, (), Vec::new());
        return run.listen.iter().map(rule).collect();
    }
    if file.listener.is_empty() {
        return Ok(vec![Rule::new(Place::Any, None, (), Vec::new())?]);
    }
    let rule = |Listener { address, device, port, allow }: &Listener| {
        Rule::new(Place::new(address.as_deref(), device.as_deref())?, *port, (), networks(allow)?)
    };
    file.listener.iter().map(rule).collect()
}

fn broker_of(file: &File) -> Result<broker::Settings, String> {
    let File { owners, limits, slots, .. } = file;
    if slots.length_kib == 0 || !slots.length_kib.is_multiple_of(4) || slots.length_kib > 65_536 {
        return Err(format!(
            "slots.length_kib is {}, and can be a multiple of 4 up to 65536",
            slots.length_kib
        ));
    }
    for (name, value, max) in [
        ("owners.max", u64::from(owners.max), 65_535),
        ("limits.connections", limits.connections.into(), 65_535),
        ("limits.per_client", limits.per_client.into(), 65_535),
        ("limits.per_owner", limits.per_owner.into(), 65_535),
        ("limits.rules_per_owner", limits.rules_per_owner.into(), 1 << 20),
        ("limits.pending", limits.pending.into(), 65_535),
        ("slots.per_owner", slots.per_owner.into(), 1024),
        ("slots.memory_mib", slots.memory_mib, 1 << 30),
    ] {
        if value == 0 || value > max {
            return Err(format!("{name} is {value}, and can be 1 to {max}"));
        }
    }
    let default = broker::Settings::default();
    let slot_len = slots.length_kib << 10;
    let size = |size: u32| usize::try_from(size).unwrap_or(usize::MAX);
    let quotas = Quotas {
        memory_max: slots.memory_mib << 20,
        owners_max: owners.max.into(),
        connections_max: size(limits.connections),
        connections_of_owner_max: size(limits.per_owner),
        rules_of_owner_max: size(limits.rules_per_owner),
        setup_within: seconds("timeouts.setup_s", file.timeouts.setup_s)?,
    };
    let params = params(&file.smb_direct, default.params)?;
    let limits = Limits { slot_len, slots_max: slots.per_owner, ..default.limits };
    Ok(broker::Settings { limits, quotas, params })
}

fn params(wanted: &SmbDirect, default: Params) -> Result<Params, String> {
    let longest = wanted.max_fragmented_recv_size;
    if !MESSAGE.contains(&longest) {
        return Err(format!(
            "smb_direct.max_fragmented_recv_size is {longest}, and can be {} to {}",
            MESSAGE.start(),
            MESSAGE.end()
        ));
    }
    let interval = Duration::from_secs(wanted.keepalive_s);
    let answer_timeout = default.keepalive.map_or(interval, |keepalive| keepalive.answer_timeout);
    Ok(Params {
        max_fragmented_recv_size: longest,
        max_read_write_size: wanted.max_read_write_size,
        keepalive: (!interval.is_zero()).then_some(Keepalive { interval, answer_timeout }),
        max_send_size: wanted.max_send_size,
        max_receive_size: wanted.max_receive_size,
        receive_credit_max: wanted.receive_credit_max,
        send_credit_target: default.send_credit_target.min(wanted.receive_credit_max),
        ..default
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(change: impl FnOnce(&mut Run, &mut File)) -> Result<Settings, String> {
        let (mut run, mut file) = (Run::default(), File::default());
        change(&mut run, &mut file);
        Settings::of(&run, &file)
    }

    #[test]
    fn without_a_word_it_is_the_broker_of_the_library_at_all_devices() {
        let settings = settings(|_, _| {}).unwrap();
        assert_eq!(settings.listeners[0].place, Place::Any);
        let default = broker::Settings::default();
        let connections_of_owner_max = settings.broker.quotas.connections_of_owner_max;
        let quotas = Quotas { connections_of_owner_max, ..default.quotas };
        assert_eq!(settings.broker, broker::Settings { quotas, ..default });
        // MS-SMBD 3.1.7.2.
        assert_eq!(settings.broker.params.passive_negotiation_timeout, Duration::from_secs(5));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_key_and_its_value() {
        let wrong = |change: &dyn Fn(&mut Run, &mut File)| settings(change).unwrap_err();
        for (said, wanted) in [
            (wrong(&|run, _| run.listen = vec!["0.0.0.0:445".into()]), "cannot listen at 0.0.0.0:445"),
            (wrong(&|run, _| run.allow = vec!["10.9.0.0/99".into()]), "prefix of 99 bits"),
            (wrong(&|run, _| run.common.metrics = Some("9445".into())), "'9445'"),
            (wrong(&|run, _| run.socket = Some(String::new())), "owners.socket is empty"),
            (wrong(&|_, file| file.slots.length_kib = 6), "slots.length_kib is 6"),
            (wrong(&|_, file| file.slots.per_owner = 1025), "slots.per_owner is 1025, and can be 1 to 1024"),
            (wrong(&|_, file| file.slots.memory_mib = 0), "slots.memory_mib is 0"),
            (wrong(&|_, file| file.limits.connections = 0), "limits.connections is 0"),
            (wrong(&|_, file| file.owners.max = 0), "owners.max is 0"),
            (wrong(&|_, file| file.timeouts.setup_s = 0), "timeouts.setup_s is 0"),
            (wrong(&|_, file| file.smb_direct.max_fragmented_recv_size = 1), "max_fragmented_recv_size is 1"),
            (wrong(&|_, file| file.smb_direct.max_send_size = 9000), "max_send_size is 9000"),
        ] {
            assert!(said.contains(wanted), "{wanted} is missing in: {said}");
        }
    }

    #[test]
    fn root_and_the_own_user_attach_unless_others_were_named() {
        let who = |uid, gid| Credentials { uid, gid, pid: 1 };
        let own = geteuid().as_raw();
        let alone = settings(|_, _| {}).unwrap();
        assert!(alone.may_attach(who(0, 5)) && alone.may_attach(who(own, 5)));
        assert!(!alone.may_attach(who(own.wrapping_add(7), 0)));
        let named = settings(|run, file| {
            run.allow_uid = vec![1000];
            file.owners.gids = vec![44];
            file.owners.uids = vec![1];
        });
        let named = named.unwrap();
        assert!(named.may_attach(who(1000, 5)) && named.may_attach(who(7, 44)));
        assert!(!named.may_attach(who(0, 0)) && !named.may_attach(who(1, 1)));
    }
}
