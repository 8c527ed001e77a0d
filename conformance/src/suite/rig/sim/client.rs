//! Clients of SMB2 over `smbd-core` in the simulator that only connect: that of `smbd-smb2`, and one that may be wrong.

use super::rig::UpperLayer;
use super::{Need, Rig, Settings, Sim, SimSmb2, Target, Unable, UnderTest, rig};

/// The target with the client of `smbd-smb2` as its upper layer, for a program that copies a file. It logs in as
/// [`SimServer::user`](super::SimServer::user), and has all transforms of RDMA. It only connects.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimClient;

impl Target for SimClient {
    fn name(&self) -> String {
        "sim, the client of smbd-smb2".into()
    }

    fn variants(&self) -> Vec<String> {
        Sim.variants()
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        of_a_client(role, need)
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        Ok(Box::new(rig(variant, role, settings)?.over(UpperLayer::Client)))
    }
}

/// The target with another client, which does with answers to READs by RDMA what 3.2.5.11 says, but for one rule: for tests of whether
/// that is seen. It logs in as [`SimServer::user`](super::SimServer::user), and only connects.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimLax {
    /// The statement that it leaves out.
    pub without: Option<&'static str>,
}

impl Target for SimLax {
    fn name(&self) -> String {
        "sim, a client by the text".into()
    }

    fn variants(&self) -> Vec<String> {
        Sim.variants()
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        of_a_client(role, need)
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        Ok(Box::new(rig(variant, role, settings)?.over(UpperLayer::Lax(self.without))))
    }
}

fn of_a_client(role: UnderTest, need: Option<Need>) -> Option<String> {
    match role {
        UnderTest::Acceptor => Some("the peer is a client, which does not accept".into()),
        UnderTest::Initiator | UnderTest::Both => SimSmb2.lacks(role, need),
    }
}
