//! Which implementation.

use std::net::{IpAddr, SocketAddr};

use smbd_conformance::catalogue::{Catalogue, UnderTest};
use smbd_conformance::profile::Profile;
use smbd_conformance::smb2::client::User;
use smbd_conformance::socket::Address;
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::rig::sim::{Sim, SimClient, SimServer, SimSmb2};
use smbd_conformance::suite::rig::socket::{Foreign, Remote, Trigger};
use smbd_conformance::suite::{Choice, Upper, Uppers};

/// Which implementation is under test. Without these options: smbd-core in the simulator.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Implementation under test")]
pub struct TargetArgs {
    /// `sim`: smbd-core in the simulator, in virtual time; `verbs`: over an RDMA device, in real time; `socket`: any
    /// implementation that speaks the protocol of docs/socket-target.md over a Unix or TCP socket, in real time, without a device
    #[arg(long, value_name = "TARGET", default_value = "sim")]
    target: TargetName,
    /// verbs: smbd-core at both ends of the device that has this address
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["connect", "listen"])]
    address: Option<IpAddr>,
    /// verbs, socket: any acceptor that listens there; a path is that of a Unix socket
    #[arg(long, value_name = "ADDR:PORT|PATH", conflicts_with = "listen")]
    connect: Option<Address>,
    /// verbs, socket: any initiator, which has to connect to this address of this host, or to this path
    #[arg(long, value_name = "ADDR:PORT|PATH")]
    listen: Option<Address>,
    /// with --connect or --listen: a setting that the implementation was given, in the words of a case, such as
    /// `KeepaliveInterval 5 s`; cases that need it are played then. May be repeated
    #[arg(long, value_name = "SETTING")]
    set: Vec<String>,
    /// What the upper layer of the implementation does with messages: `auto` finds it out
    #[arg(long, value_name = "KIND", default_value = "auto")]
    upper: UpperName,
    /// with an SMB2 server: a share on which a guest may read and write; a file is kept there. With it messages of any
    /// length are answered, without it those that a server answers before there is a session
    #[arg(long, value_name = "NAME", conflicts_with = "listen")]
    share: Option<String>,
    /// with --share: a user of the server who may do the same; with --listen: the user as which a client logs in that is not let in
    /// as a guest. For cases that need signed or encrypted messages. The password is in the environment, as SMBD_PASSWORD
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// with --connect: where the same server is reached over TCP, for cases of sessions that begin there. An address that --connect has,
    /// too, is that of its RDMA adapter, any other is that of another one. May be repeated
    #[arg(long, value_name = "ADDR:PORT", requires = "connect")]
    tcp: Vec<SocketAddr>,
    /// what is known of the product, such as `linux-6.12`
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// with --listen: a command for the shell that makes the initiator connect, run for each connection; killed when that
    /// is done with, together with all it has started
    #[arg(long, value_name = "COMMAND", requires = "listen")]
    trigger: Option<String>,
    /// with --trigger: a command for the shell that undoes what is left then, such as a mount
    #[arg(long, value_name = "COMMAND", requires = "trigger")]
    trigger_end: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum TargetName {
    #[default]
    Sim,
    Verbs,
    Socket,
}

/// What is known of the upper layers before the first case.
#[derive(Clone, Debug)]
pub enum UpperLayers {
    /// What they do.
    Known(Uppers),
    /// Nothing: this is looked for.
    Unknown(Choice),
}

/// What an upper layer does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum UpperName {
    /// Found out: whether it returns messages, or else whether it speaks SMB2
    #[default]
    Auto,
    /// It returns each message
    Echo,
    /// It is an SMB2 server, or an SMB2 client that copies a file
    Smb2,
    /// In the simulator: it is the server of smbd-smb2
    Server,
    /// In the simulator: it is the client of smbd-smb2
    Client,
    /// Nothing: cases that need an answer are not played
    None,
}

impl TargetArgs {
    /// What the upper layers do, or what is to be looked for.
    pub fn upper_layers(&self) -> UpperLayers {
        let is_foreign = self.connect.is_some() || self.listen.is_some();
        let echo = match self.upper {
            UpperName::None => {
                let silent = Upper::Silent("no answer is asked of the upper layer (--upper none)".into());
                return UpperLayers::Known(Uppers { acceptor: silent.clone(), initiator: silent });
            }
            UpperName::Auto if !is_foreign => return UpperLayers::Known(Uppers::default()),
            UpperName::Echo => return UpperLayers::Known(Uppers::default()),
            UpperName::Auto => true,
            UpperName::Smb2 => false,
            UpperName::Server | UpperName::Client => {
                let share = Some(SimServer::SHARE.to_owned());
                let user = Some(SimServer::user());
                return UpperLayers::Unknown(Choice { echo: false, smb2: true, share, user });
            }
        };
        let host = match &self.connect {
            Some(Address::Tcp(to)) => to.ip().to_string(),
            Some(Address::Unix(_)) | None => "subject".to_owned(),
        };
        let share = self.share.as_ref().map(|name| format!(r"\\{host}\{name}"));
        UpperLayers::Unknown(Choice { echo, smb2: true, share, user: self.user() })
    }

    fn user(&self) -> Option<User> {
        let name = self.user.clone()?;
        Some(User { name, password: std::env::var("SMBD_PASSWORD").unwrap_or_default() })
    }

    /// The implementation.
    ///
    /// # Errors
    /// What is missing, as a sentence.
    pub fn target(&self) -> Result<Box<dyn Target>, String> {
        let addresses = self.address.is_some() || self.connect.is_some() || self.listen.is_some();
        match self.target {
            TargetName::Sim if addresses => {
                Err("--address, --connect and --listen are for --target verbs or socket".into())
            }
            TargetName::Sim if self.upper == UpperName::Smb2 => Ok(Box::new(SimSmb2)),
            TargetName::Sim if self.upper == UpperName::Server => Ok(Box::new(SimServer)),
            TargetName::Sim if self.upper == UpperName::Client => Ok(Box::new(SimClient)),
            TargetName::Verbs | TargetName::Socket
                if [UpperName::Server, UpperName::Client].contains(&self.upper) =>
            {
                Err("--upper server and --upper client are for --target sim".into())
            }
            _ if self.user.is_some() && self.share.is_none() && self.listen.is_none() => {
                Err("--user is for --share or --listen".into())
            }
            TargetName::Sim => Ok(Box::new(Sim)),
            TargetName::Verbs => self.verbs(),
            TargetName::Socket => self.socket(),
        }
    }

    /// Whether the implementation may have been started by the line before, and not listen yet.
    pub fn may_be_starting(&self) -> bool {
        self.target == TargetName::Socket
    }

    /// What to check when there was no connection to an acceptor; `None` if what happened says it.
    pub fn advice_on_no_connection(&self) -> Option<&'static str> {
        let is_socket = self.target == TargetName::Socket;
        is_socket.then_some(
            "start the implementation before the suite; docs/socket-target.md says what it has to speak",
        )
    }

    /// What to check when an initiator did not connect.
    pub fn advice_on_no_request(&self) -> String {
        match &self.trigger {
            Some(command) => format!("does `{command}` make it connect when it is run by hand, and to this address?"),
            None => "the initiator has to connect by itself in that time, again and again; or --trigger with a command \
                     that makes it connect"
                .into(),
        }
    }

    /// Whether its time is that of this host.
    pub fn is_real(&self) -> bool {
        self.target != TargetName::Sim
    }

    /// What is known of it.
    ///
    /// # Errors
    /// The profile that was asked for cannot be had, or names what the catalogue does not have.
    pub fn profile(&self, catalogue: &Catalogue) -> Result<Option<Profile>, String> {
        let Some(profile) = self.named_profile()? else { return Ok(None) };
        profile.check(catalogue).map_err(|error| error.to_string())?;
        Ok(Some(profile))
    }

    fn named_profile(&self) -> Result<Option<Profile>, String> {
        let named = |name: &String| Profile::named(name).map_err(|error| error.to_string());
        self.profile.as_ref().map(named).transpose()
    }

    #[cfg(not(feature = "verbs"))]
    #[expect(clippy::unused_self, reason = "its fields are for the other build")]
    fn verbs(&self) -> Result<Box<dyn Target>, String> {
        Err("--target verbs: this program was built without it; build with `--features verbs`".into())
    }

    #[cfg(feature = "verbs")]
    fn verbs(&self) -> Result<Box<dyn Target>, String> {
        use smbd_conformance::suite::rig::verbs::Ours;
        let tcp = |place: &Option<Address>| match place {
            None => Ok(None),
            Some(Address::Tcp(at)) => Ok(Some(*at)),
            Some(path) => Err(format!(
                "{path}: --target verbs takes an address with a port; paths are for --target socket"
            )),
        };
        match (self.address, tcp(&self.connect)?, tcp(&self.listen)?) {
            (Some(address), ..) => Ok(Box::new(Ours::at(address))),
            (_, Some(to), _) => Ok(Box::new(Foreign::acceptor(to, self.remote(UnderTest::Acceptor)?))),
            (.., Some(at)) => {
                Ok(Box::new(Foreign::initiator(at, self.begin(), self.remote(UnderTest::Initiator)?)))
            }
            (None, None, None) => Err("--target verbs needs --address, --connect or --listen".into()),
        }
    }

    fn socket(&self) -> Result<Box<dyn Target>, String> {
        match (&self.connect, &self.listen) {
            _ if self.address.is_some() => Err("--address is for --target verbs".into()),
            (Some(to), _) => Ok(Box::new(Foreign::acceptor(to.clone(), self.remote(UnderTest::Acceptor)?))),
            (_, Some(at)) => {
                Ok(Box::new(Foreign::initiator(at.clone(), self.begin(), self.remote(UnderTest::Initiator)?)))
            }
            (None, None) => Err("--target socket needs --connect or --listen".into()),
        }
    }

    fn begin(&self) -> Trigger {
        Trigger { begin: self.trigger.clone(), end: self.trigger_end.clone() }
    }

    fn remote(&self, role: UnderTest) -> Result<Remote, String> {
        let profile = self.named_profile()?;
        Ok(Remote {
            usual: profile.as_ref().map(|profile| profile.side(role).script),
            settings: self.set.clone(),
            tcp: self.tcp.clone(),
        })
    }
}
