//! `smbd-core` in the simulator: an endpoint over a simulated device, in virtual time.

mod client;
mod clock;
mod life;
mod mortal;
mod rig;
mod seat;
mod served;
mod streams;

use smbd_sim::nic::Personality;

use super::profile::Profile;
use super::{Rig, Settings, Target, Unable};
use crate::catalogue::{Need, UnderTest};
pub use client::{SimClient, SimLax};
pub use life::{Poison, Reaction};
pub use mortal::Mortal;
use rig::{SimRig, UpperLayer};
pub use served::{SimLate, SimServer};

/// Two sets of parameters on two kinds of network.
const VARIANTS: [(&str, Profile, Personality); 4] = [
    ("windows-roce", Profile::Windows, Personality::Roce),
    ("linux-iwarp", Profile::Linux, Personality::Iwarp),
    ("windows-iwarp", Profile::Windows, Personality::Iwarp),
    ("linux-roce", Profile::Linux, Personality::Roce),
];

/// The target, with an upper layer that returns messages and does RDMA when it is asked to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sim;

/// The target with SMB2 as its upper layer: a server of files if it accepts, a client that copies one if it connects.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimSmb2;

impl Target for SimSmb2 {
    fn name(&self) -> String {
        "sim, SMB2".into()
    }

    fn variants(&self) -> Vec<String> {
        Sim.variants()
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        match need {
            Some(Need::Rdma) => Some("the peer's upper layer uses no buffers when asked to".into()),
            Some(Need::Upper) => Some("the peer's upper layer cannot be looked at".into()),
            Some(Need::Smb2) => None,
            _ => Sim.lacks(role, need),
        }
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        Ok(Box::new(rig(variant, role, settings)?.over(UpperLayer::Smb2)))
    }
}

fn rig(variant: usize, role: UnderTest, settings: Option<Settings>) -> Result<SimRig, Unable> {
    let Some((_, profile, personality)) = VARIANTS.get(variant) else {
        return Err(Unable::Broken(format!("there is no variant {variant}")));
    };
    SimRig::new(profile.params(role, settings), role, *personality)
        .map_err(|error| Unable::Broken(error.to_string()))
}

impl Target for Sim {
    fn name(&self) -> String {
        "sim".into()
    }

    fn variants(&self) -> Vec<String> {
        VARIANTS.iter().map(|(name, ..)| (*name).into()).collect()
    }

    fn lacks(&self, _: UnderTest, need: Option<Need>) -> Option<String> {
        match need? {
            // On the variants that are RoCE such a connection cannot be opened.
            Need::Iwarp | Need::Answers | Need::Timers | Need::Rdma | Need::Upper => None,
            Need::Smb2 => Some("the peer's upper layer is not SMB2".into()),
        }
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        Ok(Box::new(rig(variant, role, settings)?))
    }
}
