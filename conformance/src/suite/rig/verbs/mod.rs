//! Real time, real devices: the script over `smbd-verbs`, the subject at the other end of a network or of the same device.

mod driven;
mod faults;
mod own;
mod remote;
mod requests;
mod rig;
mod streams;
mod subject;
mod tcp;

use std::net::{IpAddr, SocketAddr};

use super::profile::Profile;
use super::{Rig, Settings, Target, Unable};
use crate::catalogue::{Need, UnderTest};
use crate::suite::script::Usual;
use own::Own;
pub use remote::Trigger;
use remote::{Acceptor, Initiator};
use rig::{Subject, VerbsRig};

/// `smbd-core` over `smbd-verbs`, in this program, on the device at an address of this host.
#[derive(Clone, Copy, Debug)]
pub struct Ours {
    address: IpAddr,
    /// A device may still know the connections of an earlier play: each has a port of its own.
    next_port: u16,
}

/// First port used.
const FIRST_PORT: u16 = 22_000;
const PROFILES: [(&str, Profile); 2] = [("windows", Profile::Windows), ("linux", Profile::Linux)];

impl Ours {
    /// On the device that has this address.
    #[must_use]
    pub const fn at(address: IpAddr) -> Self {
        Self { address, next_port: FIRST_PORT }
    }
}

impl Target for Ours {
    fn name(&self) -> String {
        format!("smbd-core over verbs at {}", self.address)
    }

    fn variants(&self) -> Vec<String> {
        PROFILES.iter().map(|(name, _)| (*name).into()).collect()
    }

    fn lacks(&self, _: UnderTest, need: Option<Need>) -> Option<String> {
        match need? {
            Need::Iwarp => Some("private data is smbd-verbs' own matter".into()),
            Need::Answers | Need::Timers | Need::Rdma | Need::Upper => None,
            Need::Smb2 => Some("the peer's upper layer is not SMB2".into()),
        }
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        let Some((_, profile)) = PROFILES.get(variant) else {
            return Err(Unable::Broken(format!("there is no variant {variant}")));
        };
        let params = profile.params(role, settings);
        let at = SocketAddr::new(self.address, self.next_port);
        self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_PORT);
        let subject: Box<dyn Subject> = match role {
            UnderTest::Initiator => Box::new(Own::connecting(params)?),
            UnderTest::Acceptor | UnderTest::Both => Box::new(Own::listening(at, params)?),
        };
        VerbsRig::new(subject, role, at).map(|rig| Box::new(rig) as Box<dyn Rig>)
    }
}

/// What is known of a peer that is not part of this program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// What the script does otherwise for it than usual.
    pub usual: Option<Usual>,
    /// Settings it was given, in the words of `cases.toml`: `KeepaliveInterval 5 s`.
    pub settings: Vec<String>,
    /// Where it is reached over direct TCP, which makes several connections of a session possible.
    pub tcp: Vec<SocketAddr>,
}

/// What MS-SMBD says of every peer that was given nothing else: 3.1.2.1, 3.1.2.2, 3.1.7.2.
const SETTINGS_OF_THE_TEXT: [&str; 5] = [
    "KeepaliveInterval 120 s",
    "answer timeout 5 s",
    "negotiation timer 5 s",
    "no limit on the wait for a send credit",
    "no send credit timer",
];

impl Remote {
    /// Whether it has all of these.
    fn has(&self, settings: &[String]) -> bool {
        let given = |name: &str| self.settings.iter().any(|setting| setting == name);
        let replaced = |name: &str| {
            let field = name.split_once(' ').map_or(name, |(field, _)| field);
            self.settings.iter().any(|setting| setting.starts_with(field))
        };
        let mut all = settings.iter().flat_map(|line| line.split(", "));
        all.all(|name| given(name) || (SETTINGS_OF_THE_TEXT.contains(&name) && !replaced(name)))
    }

    /// A rig around it, unless the case has settings for it.
    fn rig(
        &self,
        subject: Box<dyn Subject>,
        role: UnderTest,
        at: SocketAddr,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        if settings.is_some() {
            return Err(Unable::NotApplicable("the peer's settings are its own".into()));
        }
        Ok(Box::new(VerbsRig::new(subject, role, at)?.needing(self.usual).reaching(&self.tcp)))
    }
}

/// Any acceptor: the script connects to it. Nothing is known of its upper layer.
#[derive(Clone, Debug)]
pub struct Connect {
    to: SocketAddr,
    known: Remote,
}

impl Connect {
    /// The one at this address and port.
    #[must_use]
    pub const fn to(to: SocketAddr, known: Remote) -> Self {
        Self { to, known }
    }
}

impl Target for Connect {
    fn name(&self) -> String {
        format!("the acceptor at {}", self.to)
    }

    fn variants(&self) -> Vec<String> {
        vec!["as it is".into()]
    }

    fn persists(&self) -> bool {
        true
    }

    fn has(&self, settings: &[String]) -> bool {
        self.known.has(settings)
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        if role == UnderTest::Initiator {
            return Some("the peer is connected to, it does not connect".into());
        }
        unknown_upper_layer(need?)
    }

    fn rig(&mut self, _: usize, role: UnderTest, settings: Option<Settings>) -> Result<Box<dyn Rig>, Unable> {
        self.known.rig(Box::new(Acceptor::at(self.to)), role, self.to, settings)
    }
}

/// Any initiator: it connects to the script. Nothing is known of its upper layer.
#[derive(Clone, Debug)]
pub struct Listen {
    at: SocketAddr,
    trigger: Trigger,
    known: Remote,
}

impl Listen {
    /// One that connects to this address and port when it is triggered.
    #[must_use]
    pub const fn at(at: SocketAddr, trigger: Trigger, known: Remote) -> Self {
        Self { at, trigger, known }
    }
}

impl Target for Listen {
    fn name(&self) -> String {
        format!("the initiator that connects to {}", self.at)
    }

    fn variants(&self) -> Vec<String> {
        vec!["as it is".into()]
    }

    fn persists(&self) -> bool {
        true
    }

    fn has(&self, settings: &[String]) -> bool {
        self.known.has(settings)
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        if role == UnderTest::Acceptor {
            return Some("the peer connects, it is not connected to".into());
        }
        unknown_upper_layer(need?)
    }

    fn rig(&mut self, _: usize, role: UnderTest, settings: Option<Settings>) -> Result<Box<dyn Rig>, Unable> {
        self.known.rig(Box::new(Initiator::to(self.at, self.trigger.clone())), role, self.at, settings)
    }
}

/// What a peer lacks of which only its address is known.
fn unknown_upper_layer(need: Need) -> Option<String> {
    match need {
        Need::Rdma => Some("the peer's upper layer uses no buffers when asked to".into()),
        Need::Upper => Some("the peer's upper layer cannot be looked at".into()),
        Need::Iwarp => Some("private data is smbd-verbs' own matter".into()),
        Need::Answers | Need::Timers | Need::Smb2 => None,
    }
}
