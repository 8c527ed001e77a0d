//! What is noted of the gateway.

use smbd_core::Instant;
use smbd_gateway::Ending;
use smbd_smb2::relay::Statistics;
use smbd_testkit::swarm::notes::{self, OfPair};

/// What came of the gateway so far.
#[derive(Debug, Default)]
pub struct OfGateway {
    /// The gateway's connection over its device is over, for this reason.
    pub driver_ended: Option<(Instant, String)>,
    pub pump_ended: Option<(Instant, Ending)>,
    /// What has passed through the pump.
    pub statistics: Option<Statistics>,
    /// The pump has let go of its stream.
    pub stream_gone: Option<Instant>,
    /// Whoever has the other device closed before everything was done.
    pub has_left: bool,
    /// The end of the client's connection has cut off something that it sent.
    pub is_cut: bool,
    /// Whether the broker that has the device was killed, if there is one.
    pub is_broker_killed: Option<bool>,
}

pub type Seen = notes::Seen<OfPair<OfGateway>>;

pub type Notes = notes::Notes<OfPair<OfGateway>>;
