//! `smbd-core` in the simulator as a server that dies: for tests of what a run does then.

use smbd_sim::nic::Personality;

use super::life::{Life, Poison, Reaction};
use super::rig::{SimRig, UpperLayer};
use super::{Profile, Rig, Settings, Target, Unable};
use crate::catalogue::{Need, UnderTest};

/// One server for all plays. It dies of certain messages: its connections break down, and new ones are refused.
#[derive(Clone, Debug)]
pub struct Mortal {
    life: Life,
    smb2: bool,
}

impl Mortal {
    /// One that dies of these messages. It is there again after it has refused so many connections, or never.
    #[must_use]
    pub fn of(poison: Poison, restarts_after: Option<u32>) -> Self {
        Self::with(
            move |_, message| if poison(message) { Reaction::Dies } else { Reaction::Takes },
            restarts_after,
        )
    }

    /// One that does this about each message, by the number of its connection and its bytes. It is there again as with
    /// [`of`](Self::of).
    #[must_use]
    pub fn with(
        constitution: impl FnMut(usize, &[u8]) -> Reaction + 'static,
        restarts_after: Option<u32>,
    ) -> Self {
        Self { life: Life::of(constitution, restarts_after), smb2: false }
    }

    /// The same with an SMB2 server as its upper layer.
    #[must_use]
    pub fn speaking_smb2(self) -> Self {
        Self { smb2: true, ..self }
    }
}

impl Target for Mortal {
    fn name(&self) -> String {
        "a server that dies".into()
    }

    fn variants(&self) -> Vec<String> {
        vec!["as it is".into()]
    }

    fn persists(&self) -> bool {
        true
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        match (role, need) {
            (UnderTest::Initiator, _) => Some("it does not connect".into()),
            (_, Some(Need::Answers)) => None,
            (_, Some(need)) => Some(format!("{need:?} is not for it")),
            (_, None) => None,
        }
    }

    fn rig(&mut self, _: usize, role: UnderTest, settings: Option<Settings>) -> Result<Box<dyn Rig>, Unable> {
        let rig = SimRig::new(Profile::Windows.params(role, settings), role, Personality::Roce);
        let rig = rig.map_err(|error| Unable::Broken(error.to_string()))?;
        let rig = if self.smb2 { rig.over(UpperLayer::Smb2) } else { rig };
        Ok(Box::new(rig.living(self.life.clone())))
    }
}
