//! Subjects of which only their place is known.

use super::remote::{Acceptor, Initiator};
use super::{Place, RealRig, Subject, Trigger};
use crate::catalogue::{Need, UnderTest};
use crate::suite::rig::{Rig, Settings, Target, Unable};
use crate::suite::script::Usual;
use std::net::SocketAddr;

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
        place: &impl Place,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        if settings.is_some() {
            return Err(Unable::NotApplicable("the peer's settings are its own".into()));
        }
        let rig = RealRig::new(subject, role, place.net())?;
        Ok(Box::new(rig.needing(self.usual).reaching(&self.tcp)))
    }
}

/// Any peer, of which nothing is known but where it is met.
#[derive(Clone, Debug)]
pub struct Foreign<P> {
    place: P,
    meets: Meets,
    known: Remote,
}

/// Who asks for connections.
#[derive(Clone, Debug)]
enum Meets {
    /// The script connects to an acceptor.
    Acceptor,
    /// An initiator connects to the script when it is triggered.
    Initiator(Trigger),
}

impl<P> Foreign<P> {
    /// The acceptor at this place.
    #[must_use]
    pub const fn acceptor(place: P, known: Remote) -> Self {
        Self { place, meets: Meets::Acceptor, known }
    }

    /// The initiator that connects to this place when it is triggered.
    #[must_use]
    pub const fn initiator(place: P, trigger: Trigger, known: Remote) -> Self {
        Self { place, meets: Meets::Initiator(trigger), known }
    }
}

impl<P: Place> Target for Foreign<P> {
    fn name(&self) -> String {
        match self.meets {
            Meets::Acceptor => format!("the acceptor at {}", self.place),
            Meets::Initiator(_) => format!("the initiator that connects to {}", self.place),
        }
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
        match (&self.meets, role) {
            (Meets::Acceptor, UnderTest::Initiator) => {
                Some("the peer is connected to, it does not connect".into())
            }
            (Meets::Initiator(_), UnderTest::Acceptor) => {
                Some("the peer connects, it is not connected to".into())
            }
            _ => unknown_upper_layer(need?),
        }
    }

    fn rig(&mut self, _: usize, role: UnderTest, settings: Option<Settings>) -> Result<Box<dyn Rig>, Unable> {
        let subject: Box<dyn Subject> = match &self.meets {
            Meets::Acceptor => Box::new(Acceptor),
            Meets::Initiator(trigger) => Box::new(Initiator::by(trigger.clone())),
        };
        self.known.rig(subject, role, &self.place, settings)
    }
}

/// What a peer lacks of which only its address is known.
fn unknown_upper_layer(need: Need) -> Option<String> {
    match need {
        Need::Rdma => Some("the peer's upper layer uses no buffers when asked to".into()),
        Need::Upper => Some("the peer's upper layer cannot be looked at".into()),
        Need::Iwarp => Some("private data are not the script's matter here".into()),
        Need::Answers | Need::Timers | Need::Smb2 => None,
    }
}
