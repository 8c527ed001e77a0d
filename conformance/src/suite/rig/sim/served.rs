//! Servers of SMB2 over `smbd-core` in the simulator that only accept: that of `smbd-smb2`, and one that is late with its answers.

use super::rig::UpperLayer;
use super::{Need, Rig, Settings, Sim, SimSmb2, Target, Unable, UnderTest, rig};
use crate::smb2::client::User;
use crate::suite::rig::subject::{PASSWORD, Shared, USER};

/// The target with the server of `smbd-smb2` as its upper layer. It serves a file system in memory, to guests and a user, and only accepts.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimServer;

impl SimServer {
    /// The share on which guests may read and write.
    pub const SHARE: &'static str = r"\\subject\share";

    /// A user who may do that as well.
    #[must_use]
    pub fn user() -> User {
        User { name: USER.into(), password: PASSWORD.into() }
    }
}

impl Target for SimServer {
    fn name(&self) -> String {
        "sim, the server of smbd-smb2".into()
    }

    fn variants(&self) -> Vec<String> {
        Sim.variants()
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        of_a_server(role, need)
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        let share = Shared::new().map_err(Unable::Broken)?;
        Ok(Box::new(rig(variant, role, settings)?.over(UpperLayer::Server(share))))
    }
}

/// The target with an SMB2 server as its upper layer that says of each request that it is under way, before it answers. It only accepts.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimLate;

impl Target for SimLate {
    fn name(&self) -> String {
        "sim, SMB2 with interim answers".into()
    }

    fn variants(&self) -> Vec<String> {
        Sim.variants()
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        of_a_server(role, need)
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        Ok(Box::new(rig(variant, role, settings)?.over(UpperLayer::Late)))
    }
}

fn of_a_server(role: UnderTest, need: Option<Need>) -> Option<String> {
    match role {
        UnderTest::Initiator => Some("the peer is a server, which does not connect".into()),
        UnderTest::Acceptor | UnderTest::Both => SimSmb2.lacks(role, need),
    }
}
