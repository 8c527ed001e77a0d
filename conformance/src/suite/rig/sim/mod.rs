//! `smbd-core` in the simulator: an endpoint over a simulated device, in virtual time.

mod clock;
mod rig;

use smbd_sim::nic::Personality;

use super::profile::Profile;
use super::{Rig, Settings, Target, Unable};
use crate::catalogue::{Need, UnderTest};
use rig::SimRig;

/// Two sets of parameters on two kinds of network.
const VARIANTS: [(&str, Profile, Personality); 4] = [
    ("windows-roce", Profile::Windows, Personality::Roce),
    ("linux-iwarp", Profile::Linux, Personality::Iwarp),
    ("windows-iwarp", Profile::Windows, Personality::Iwarp),
    ("linux-roce", Profile::Linux, Personality::Roce),
];

/// The target.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sim;

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
            Need::Iwarp | Need::Echo | Need::Timers | Need::Rdma | Need::Upper => None,
        }
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        let Some((_, profile, personality)) = VARIANTS.get(variant) else {
            return Err(Unable::Broken(format!("there is no variant {variant}")));
        };
        let mut params = profile.params(role);
        if let Some(settings) = settings {
            settings(&mut params);
        }
        let rig = SimRig::new(params, role, *personality);
        Ok(Box::new(rig.map_err(|error| Unable::Broken(error.to_string()))?))
    }
}
