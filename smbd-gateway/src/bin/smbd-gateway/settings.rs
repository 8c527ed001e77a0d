//! Command line and configuration file, checked.

use std::sync::Arc;
use std::time::Duration;

use smbd_core::{Config, Keepalive, Params};
use smbd_daemon::admission::Admission;
use smbd_daemon::file::{at_least, seconds};
use smbd_daemon::log::Format;
use smbd_daemon::network::Network;
use smbd_daemon::places::networks;
use smbd_daemon::tasks::Basic;
use smbd_gateway::waiting_max;
use smbd_smb2::relay;
use smbd_verbs::footprint;

use crate::backends::{Backend, Broker, Rule};
use crate::basics::Basics;
use crate::file::{File, MESSAGE_MAX, Profile, SmbDirect};
use crate::options::Run;
use crate::servers::check_transparent;
use crate::wishes;

/// The shortest limit of a message without RDMA (MS-SMBD 3.1.5.2, 3.1.5.3).
const MESSAGE_LEAST: u32 = 131_072;
/// Bytes of a client's messages that wait for the relay, when neither side has a credit left ([`smbd_link::handles`]).
const PIECES: u64 = 1 << 20;

/// What the gateway does.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Who gives clients, if they are not listened for.
    pub(crate) broker: Option<Broker>,
    /// One at least, unless there is a broker.
    pub(crate) listeners: Vec<Rule>,
    pub(crate) allow: Vec<Network>,
    pub(crate) basics: Basics,
    pub(crate) pending: u32,
    /// Bytes of a connection that devices know at most: of its own and buffers for RDMA.
    pub(crate) locked: u64,
    /// The longest message that a client is sent.
    pub(crate) answer_max: u32,
    pub(crate) config: Config,
    pub(crate) relay: relay::Params,
    pub(crate) addresses: Duration,
}

/// What all connections share.
pub(crate) type Shared = crate::shared::Shared<Settings>;

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
    pub(crate) fn new(run: &Run) -> Result<Self, String> {
        let file = run.common.config.as_deref().map_or_else(|| Ok(File::default()), File::read)?;
        let settings = Self::of(run, &file)?;
        if settings.backends().any(|backend| backend.transparent) {
            check_transparent()?;
        }
        Ok(settings)
    }

    /// Where clients go.
    pub(crate) fn backends(&self) -> impl Iterator<Item = &Arc<Backend>> {
        let of_rules = self.listeners.iter().map(|rule| &rule.target);
        self.broker.iter().map(|broker| &broker.backend).chain(of_rules)
    }

    /// The same of a file that was read.
    pub(crate) fn of(run: &Run, file: &File) -> Result<Self, String> {
        let (broker, listeners) = wishes::places(run, file)?;
        let allow = networks(run.allow.iter().chain(&file.allow))?;
        let (config, checked) = parameters(file)?;
        let relay = *checked.params();
        let answer_max = file.smb_direct.max_fragmented_send_size;
        if !(MESSAGE_LEAST..=MESSAGE_MAX).contains(&answer_max) {
            return Err(format!(
                "smb_direct.max_fragmented_send_size is {answer_max}, and can be {MESSAGE_LEAST} to {MESSAGE_MAX}"
            ));
        }
        let each = each(&config, &checked, answer_max);
        let basics = Basics::new(&run.common, file, &file.status.socket, &config, each)?;
        let pending = file.limits.pending;
        at_least("limits.pending", pending.into(), 1)?;
        Ok(Self {
            broker,
            listeners,
            allow,
            locked: basics.device.saturating_add(buffers(&checked)),
            basics,
            pending,
            answer_max,
            config,
            relay,
            addresses: seconds("timeouts.addresses_s", file.timeouts.addresses_s)?,
        })
    }
}

/// Bytes that a connection takes at most. That much is set aside for each that is let in, rather than counted when it is taken: a
/// connection keeps its buffers until its end, so those that wait for memory could wait for each other for ever.
///
/// The length of a client's messages does not count: they pass in pieces.
fn each(config: &Config, relay: &relay::Config, answer_max: u32) -> u64 {
    let budget = config.budget();
    // What is in receive buffers when a connection ends is kept for the relay.
    let received = u64::from(budget.recv_slots).saturating_mul(budget.recv_buffer_len.into());
    [received, PIECES, waiting_max(answer_max), buffers(relay), relay.heap_max()]
        .into_iter()
        .fold(footprint(config), u64::saturating_add)
}

/// Bytes of all buffers for RDMA.
fn buffers(relay: &relay::Config) -> u64 {
    u64::from(relay.buffers()).saturating_mul(relay.params().buffer_len.into()).saturating_mul(2)
}

fn parameters(file: &File) -> Result<(Config, relay::Config), String> {
    let relay = relay::Params {
        budget: file.relay.budget,
        buffer_len: file.relay.buffer_len,
        held_max: file.relay.held_max,
        max_read_write_size: file.smb_direct.max_read_write_size,
        ..relay::Params::default()
    };
    let checked = relay::Config::new(&relay).map_err(|error| error.to_string())?;
    let mut params = profile(&file.smb_direct);
    // The relay commands RDMA on all of its buffers, and holds nothing up.
    params.rdma_ops = params.rdma_ops.max(checked.buffers().saturating_mul(2));
    let longest = file.smb_direct.max_fragmented_recv_size;
    if longest > MESSAGE_MAX {
        return Err(format!(
            "smb_direct.max_fragmented_recv_size is {longest}, and can be {MESSAGE_MAX} at most"
        ));
    }
    if let Some(negotiation) = file.timeouts.negotiation_s {
        params.passive_negotiation_timeout = seconds("timeouts.negotiation_s", negotiation)?;
    }
    // Who has no session has no more time than that before the session either.
    let session = seconds("timeouts.session_s", file.timeouts.session_s)?;
    params.passive_negotiation_timeout = params.passive_negotiation_timeout.min(session);
    let config = Config::try_from(params).map_err(|error| error.to_string())?;
    Ok((config, checked))
}

fn profile(wanted: &SmbDirect) -> Params {
    let mut params = match wanted.profile {
        // Clients of Linux and Windows send messages of this length. cifs may be slow to grant credits. It negotiates at once.
        Profile::Gateway => Params {
            send_credit_timeout: Some(Duration::from_secs(125)),
            passive_negotiation_timeout: Params::windows().passive_negotiation_timeout, // 3.1.7.2
            ..Params::linux_server()
        },
        Profile::LinuxServer => Params::linux_server(),
        Profile::Windows => Params::windows(),
    };
    params.max_fragmented_recv_size = wanted.max_fragmented_recv_size;
    params.max_read_write_size = wanted.max_read_write_size;
    let interval = Duration::from_secs(wanted.keepalive_s);
    let answer_timeout = Duration::from_secs(30);
    params.keepalive = (!interval.is_zero()).then_some(Keepalive { interval, answer_timeout });
    params.max_send_size = wanted.max_send_size.unwrap_or(params.max_send_size);
    params.max_receive_size = wanted.max_receive_size.unwrap_or(params.max_receive_size);
    if let Some(credits) = wanted.receive_credit_max {
        params.receive_credit_max = credits;
        params.send_credit_target = credits.min(255);
    }
    // Gateways register no memory for their clients.
    (params.registrations, params.segments_max, params.registration_slots) = (0, 0, 0);
    params
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;
    use smbd_daemon::places::Place;

    fn settings(change: impl FnOnce(&mut Run, &mut File)) -> Result<Settings, String> {
        let mut run = Run { server: vec!["127.0.0.1:445".into()], ..Run::default() };
        let mut file = File::default();
        change(&mut run, &mut file);
        Settings::of(&run, &file)
    }

    /// The servers of the first listener.
    fn servers(settings: &Settings) -> Vec<String> {
        settings.listeners[0].target.servers.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_server_is_all_that_is_needed() {
        let settings = settings(|_, _| {}).unwrap();
        assert_eq!(servers(&settings), ["127.0.0.1:445"]);
        assert_eq!(settings.listeners[0].place, Place::Any);
        assert_eq!((settings.basics.connections, settings.basics.session.as_secs()), (256, 30));
        assert_eq!(settings.relay.max_read_write_size, settings.config.max_read_write_size);
    }

    #[test]
    fn a_server_elsewhere_needs_a_word_for_it() {
        let remote = |allowed: bool| {
            settings(|run, _| {
                run.server = vec!["192.0.2.1".into()];
                run.allow_plaintext_backend = allowed;
            })
        };
        assert!(remote(false).unwrap_err().contains("--allow-plaintext-backend"));
        assert_eq!(servers(&remote(true).unwrap()), ["192.0.2.1:445"]);
        let local =
            settings(|run, _| run.server = vec!["::1".into(), "[::1]:4445".into(), "localhost".into()]);
        assert_eq!(servers(&local.unwrap())[..2], ["[::1]:445", "[::1]:4445"]);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_value() {
        let wrong = |change: &dyn Fn(&mut Run, &mut File)| settings(change).unwrap_err();
        for (said, wanted) in [
            (wrong(&|run, _| run.server.clear()), "--server is missing"),
            (wrong(&|run, _| run.listen = vec!["0.0.0.0:445".into()]), "cannot listen at 0.0.0.0:445"),
            (wrong(&|run, _| run.listen = vec!["10.9.0".into()]), "'10.9.0'"),
            (wrong(&|run, _| run.allow = vec!["10.9.0.0/99".into()]), "prefix of 99 bits"),
            (wrong(&|run, _| run.common.metrics = Some("9445".into())), "'9445'"),
            (wrong(&|_, file| file.limits.memory_mib = 1), "limits.memory_mib is 1, and has to be "),
            (
                wrong(&|_, file| file.limits.connections = 0),
                "limits.connections is 0, and has to be 1 at least",
            ),
            (wrong(&|_, file| file.limits.per_client = 0), "limits.per_client is 0"),
            (wrong(&|_, file| file.limits.pending = 0), "limits.pending is 0"),
            (wrong(&|_, file| file.timeouts.connect_s = 0), "timeouts.connect_s is 0"),
            (wrong(&|_, file| file.timeouts.addresses_s = 0), "timeouts.addresses_s is 0"),
            (wrong(&|_, file| file.relay.budget = 5), "budget is 5"),
            (wrong(&|_, file| file.timeouts.session_s = 0), "timeouts.session_s is 0"),
            (wrong(&|_, file| file.timeouts.negotiation_s = Some(0)), "timeouts.negotiation_s is 0"),
            (wrong(&|_, file| file.smb_direct.max_fragmented_recv_size = 1), "max_fragmented_recv_size is 1"),
            (
                wrong(&|_, file| file.smb_direct.max_fragmented_recv_size = 1 << 24),
                "smb_direct.max_fragmented_recv_size is 16777216, and can be 16777215 at most",
            ),
            (
                wrong(&|_, file| file.smb_direct.max_fragmented_send_size = 1 << 24),
                "smb_direct.max_fragmented_send_size is 16777216, and can be 131072 to 16777215",
            ),
            (wrong(&|_, file| file.smb_direct.max_send_size = Some(9000)), "max_send_size is 9000"),
        ] {
            assert!(said.contains(wanted), "{wanted} is missing in: {said}");
        }
    }

    #[test]
    fn there_are_as_many_connections_as_memory_lets_be() {
        let few = settings(|_, file| file.limits.memory_mib = 64).unwrap();
        assert!(few.basics.connections > 0 && few.basics.connections < 256);
        assert!(few.basics.each * u64::from(few.basics.connections) <= 64 << 20);
        assert!(few.basics.each * u64::from(few.basics.connections + 1) > 64 << 20);
    }

    #[test]
    fn a_connection_takes_more_with_longer_answers_and_larger_buffers_and_not_with_longer_requests() {
        let each = |change: &dyn Fn(&mut File)| settings(|_, file| change(file)).unwrap().basics.each;
        let usual = each(&|_| {});
        assert_eq!(each(&|file| file.smb_direct.max_fragmented_recv_size = MESSAGE_LEAST), usual);
        // One that waits for its turn, and one that is being sent.
        let longer = |file: &mut File| file.smb_direct.max_fragmented_send_size += 1000;
        assert_eq!(each(&longer), usual + 1000);
        // A buffer for each way, and its place in a table.
        let one_more = |file: &mut File| file.relay.budget += file.relay.buffer_len;
        let buffers = 2 * u64::from(File::default().relay.buffer_len);
        assert!((buffers..buffers + 4096).contains(&(each(&one_more) - usual)));
    }

    #[test]
    fn a_client_may_send_whatever_a_server_takes_over_tcp() {
        assert_eq!(settings(|_, _| {}).unwrap().config.max_fragmented_recv_size, MESSAGE_MAX);
    }

    #[test]
    fn a_client_has_5_s_to_negotiate_unless_a_setting_or_a_profile_says_otherwise() {
        let time = |change: &dyn Fn(&mut File)| {
            settings(|_, file| change(file)).unwrap().config.passive_negotiation_timeout.as_secs()
        };
        // MS-SMBD 3.1.7.2.
        assert_eq!(time(&|_| {}), 5);
        assert_eq!(time(&|file| file.timeouts.negotiation_s = Some(12)), 12);
        // ksmbd has 120 s; without a session a client has no more than `session_s`.
        assert_eq!(time(&|file| file.smb_direct.profile = Profile::LinuxServer), 30);
    }

    #[test]
    fn the_command_line_comes_before_the_file() {
        let both = settings(|run, file| {
            run.listen = vec!["10.9.0.3:5445".into()];
            file.server = vec!["127.0.0.9".into()];
            let of_file =
                |address: &str| file::Listener { address: Some(address.into()), ..file::Listener::default() };
            file.listener = vec![of_file("10.9.0.1:5445"), of_file("10.9.0.2:5445")];
            file.allow = vec!["10.8.0.0/16".into()];
            run.allow = vec!["fd09::/64".into()];
        });
        let both = both.unwrap();
        assert_eq!(servers(&both), ["127.0.0.1:445"]);
        assert_eq!(both.listeners.len(), 1);
        assert_eq!(both.listeners[0].place, Place::Socket("10.9.0.3:5445".parse().unwrap()));
        assert_eq!(both.allow, ["fd09::/64".parse().unwrap(), "10.8.0.0/16".parse().unwrap()]);
    }
}
