//! Real time, real devices: the script over `smbd-verbs`, the subject at the other end of a network or of the same device.

mod driven;
mod faults;
mod net;
mod own;

use std::net::{IpAddr, SocketAddr};

use super::profile::Profile;
pub use super::real::{Foreign, Remote, Trigger};
use super::real::{Place as _, RealRig, Subject};
use super::{Rig, Settings, Target, Unable};
use crate::catalogue::{Need, UnderTest};
pub use net::VerbsNet;
use own::Own;

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
        let net = at.net();
        let subject: Box<dyn Subject> = match role {
            UnderTest::Initiator => Box::new(Own::connecting(net, params)?),
            UnderTest::Acceptor | UnderTest::Both => Box::new(Own::listening(net, params)?),
        };
        RealRig::new(subject, role, net).map(|rig| Box::new(rig) as Box<dyn Rig>)
    }
}
