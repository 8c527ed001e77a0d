//! Command line and configuration file of `smbd-gateway reverse`, checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use smbd_core::{Config, Keepalive, Params};
use smbd_daemon::admission::Admission;
use smbd_daemon::log::Format;
use smbd_daemon::network::Network;
use smbd_daemon::places::{Place, Rule};
use smbd_daemon::tasks::Basic;
use smbd_smb2::relay::reverse;
use smbd_verbs::footprint;

use super::options::Reverse;
use crate::basics::Basics;
use crate::file::{File, MESSAGE_MAX};

/// Ports of SMB Direct: on iWARP, and elsewhere. Clients of Linux try them in this order.
const PORTS: [u16; 2] = [5445, 445];
/// What it does.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) servers: Vec<SocketAddr>,
    pub(super) listen: Vec<Rule<()>>,
    pub(super) admitted: Vec<Network>,
    pub(super) basics: Basics,
    pub(super) config: Config,
    /// But for what is negotiated with the server.
    pub(super) params: reverse::Params,
}

impl AsRef<Basics> for Settings {
    fn as_ref(&self) -> &Basics {
        &self.basics
    }
}

impl Basic for Settings {
    fn format(&self) -> Format {
        self.basics.format
    }

    fn limit(&self, admission: &Admission) {
        admission.set_limits(self.basics.connections, self.basics.per_client);
    }
}

impl Settings {
    /// Checks everything. An error is a text for whoever wrote it.
    pub(super) fn new(options: Reverse) -> Result<Self, String> {
        let file = options.common.config.as_deref().map_or_else(|| Ok(File::default()), File::read)?;
        Self::of(&options, &file)
    }

    fn of(options: &Reverse, file: &File) -> Result<Self, String> {
        let servers = servers(first(&options.server, &file.reverse.server))?;
        let allow = options.allow.iter().chain(&file.reverse.allow);
        let allow = allow.map(|text| text.parse()).collect::<Result<Vec<Network>, _>>()?;
        let listen = listen(first(&options.listen, &file.reverse.listen), !allow.is_empty())?;
        let own = [Network::of(Ipv4Addr::LOCALHOST.into(), 8), Network::of(Ipv6Addr::LOCALHOST.into(), 128)];
        let (config, params) = parameters(file)?;
        let messages = u64::from(config.max_fragmented_recv_size);
        let buffers = u64::from(params.budget).saturating_mul(2);
        let each = footprint(&config).saturating_add(messages).saturating_add(buffers);
        let basics = Basics::new(&options.common, file, &file.reverse.status_socket, &config, each)?;
        Ok(Self { servers, listen, admitted: own.into_iter().chain(allow).collect(), basics, config, params })
    }
}

/// Options come before the file.
fn first<'a>(options: &'a [String], file: &'a [String]) -> &'a [String] {
    if options.is_empty() { file } else { options }
}

fn listen(texts: &[String], allows_others: bool) -> Result<Vec<Rule<()>>, String> {
    let rule = |address| Rule::new(Place::Tcp(address), None, (), Vec::new());
    if texts.is_empty() {
        return Ok(vec![rule(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 1445))?]);
    }
    let checked = |text: &String| {
        let address: SocketAddr = text.parse().map_err(|_| {
            format!("'{text}' is no address of this host with a port, such as 127.0.0.1:1445")
        })?;
        if !address.ip().to_canonical().is_loopback() && !allows_others {
            return Err(format!(
                "{address} is reached from other hosts, of which no client is admitted; if some are to be: --allow NETWORK"
            ));
        }
        rule(address)
    };
    texts.iter().map(checked).collect()
}

fn servers(texts: &[String]) -> Result<Vec<SocketAddr>, String> {
    if texts.is_empty() {
        return Err("--server is missing: the SMB server, such as 10.9.0.1".into());
    }
    let mut all = Vec::new();
    for text in texts {
        all.extend(resolve(text)?);
    }
    Ok(all)
}

/// `ADDR[:PORT]`; a name may have several addresses.
fn resolve(text: &str) -> Result<Vec<SocketAddr>, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(vec![address]);
    }
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(PORTS.map(|port| SocketAddr::new(ip, port)).to_vec());
    }
    let wrong = |error: std::io::Error| format!("the server '{text}' has no address: {error}");
    if text.contains(':') {
        return Ok(text.to_socket_addrs().map_err(wrong)?.collect());
    }
    let mut all = Vec::new();
    for port in PORTS {
        all.extend((text, port).to_socket_addrs().map_err(wrong)?);
    }
    Ok(all)
}

fn parameters(file: &File) -> Result<(Config, reverse::Params), String> {
    let wanted = &file.reverse;
    let params = reverse::Params {
        budget: wanted.budget,
        buffer_len: wanted.buffer_len,
        threshold: wanted.threshold,
        max_read_write_size: file.smb_direct.max_read_write_size,
        max_fragmented_recv_size: MESSAGE_MAX,
        ..reverse::Params::default()
    };
    let checked = reverse::Config::new(&params).map_err(|error| error.to_string())?;
    // All buffers may be registered at once. The server moves the data, this side none.
    let registrations = checked.buffers().saturating_mul(2);
    let interval = Duration::from_secs(file.smb_direct.keepalive_s);
    let answer_timeout = Duration::from_secs(30);
    let own = Params {
        max_fragmented_recv_size: MESSAGE_MAX,
        max_read_write_size: file.smb_direct.max_read_write_size,
        keepalive: (!interval.is_zero()).then_some(Keepalive { interval, answer_timeout }),
        active_negotiation_timeout: Duration::from_secs(file.timeouts.connect_s.max(1)),
        registrations,
        segments_max: registrations,
        registration_slots: registrations,
        rdma_ops: 0,
        rdma_slots: 0,
        ..Params::linux_client()
    };
    Ok((Config::try_from(own).map_err(|error| error.to_string())?, params))
}

#[cfg(test)]
mod tests {
    use smbd_daemon::places::wanted;

    use super::*;

    fn settings(change: impl FnOnce(&mut Reverse, &mut File)) -> Result<Settings, String> {
        let mut options = Reverse { server: vec!["10.9.0.1".into()], ..Reverse::default() };
        let mut file = File::default();
        change(&mut options, &mut file);
        Settings::of(&options, &file)
    }

    fn texts(addresses: &[SocketAddr]) -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    }

    fn listens(settings: &Settings) -> Vec<String> {
        wanted(&settings.listen, &[]).into_keys().map(|(_, address)| address.to_string()).collect()
    }

    #[test]
    fn a_server_is_all_that_is_needed_and_this_host_alone_is_served() {
        let settings = settings(|_, _| {}).unwrap();
        assert_eq!(texts(&settings.servers), ["10.9.0.1:5445", "10.9.0.1:445"]);
        assert_eq!(listens(&settings), ["127.0.0.1:1445"]);
        let is_admitted = |address: &str| {
            let address: IpAddr = address.parse().unwrap();
            settings.admitted.iter().any(|network| network.contains(address))
        };
        assert!(is_admitted("127.0.0.5") && is_admitted("::1") && !is_admitted("10.9.0.2"));
    }

    #[test]
    fn an_address_that_others_reach_needs_a_word_for_it() {
        let other = |allowed: bool| {
            settings(|options, _| {
                options.listen = vec!["0.0.0.0:445".into()];
                options.allow = allowed.then(|| "192.0.2.0/24".into()).into_iter().collect();
            })
        };
        assert!(other(false).unwrap_err().contains("--allow NETWORK"));
        assert_eq!(other(true).unwrap().admitted.len(), 3);
        let of_file = settings(|_, file| file.reverse.listen = vec!["192.0.2.7:445".into()]);
        assert!(of_file.unwrap_err().contains("--allow"));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_value() {
        let wrong = |change: &dyn Fn(&mut Reverse, &mut File)| settings(change).unwrap_err();
        for (said, wanted) in [
            (wrong(&|options, _| options.server.clear()), "--server is missing"),
            (wrong(&|options, _| options.listen = vec!["1445".into()]), "'1445'"),
            (wrong(&|options, _| options.allow = vec!["10.9/8".into()]), "'10.9/8' is no network"),
            (wrong(&|_, file| file.reverse.budget = 5000), "budget is 5000"),
            (wrong(&|_, file| file.reverse.threshold = 0), "threshold is 0"),
            (wrong(&|_, file| file.limits.memory_mib = 1), "limits.memory_mib is 1, and has to be "),
            (
                wrong(&|_, file| file.limits.connections = 0),
                "limits.connections is 0, and has to be 1 at least",
            ),
            (wrong(&|_, file| file.limits.per_client = 0), "limits.per_client is 0"),
            (wrong(&|_, file| file.timeouts.session_s = 0), "timeouts.session_s is 0"),
            (wrong(&|_, file| file.timeouts.connect_s = 0), "timeouts.connect_s is 0"),
        ] {
            assert!(said.contains(wanted), "{wanted} is missing in {said}");
        }
    }

    #[test]
    fn the_command_line_comes_before_the_file() {
        let both = settings(|options, file| {
            options.listen = vec!["127.0.0.1:2445".into()];
            file.reverse.listen = vec!["127.0.0.1:3445".into()];
            file.reverse.server = vec!["10.9.0.9".into()];
        });
        let both = both.unwrap();
        assert_eq!(listens(&both), ["127.0.0.1:2445"]);
        assert_eq!(both.servers[0].ip().to_string(), "10.9.0.1");
    }
}
