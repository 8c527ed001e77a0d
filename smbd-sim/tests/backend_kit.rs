//! The simulated device against the contract of backends, line by line.

use std::time::Duration;

use smbd_core::backend::kit::{Capabilities, Fixture, Lab, Peer, Report, Situation, run};
use smbd_core::error::ConnectReason;
use smbd_core::{Config, Role};
use smbd_sim::Side;
use smbd_sim::backend::{Fate, SimBackend, SimBuffer, SimNet};
use smbd_sim::nic::{NicConfig, Personality};
use smbd_sim::world::WorldConfig;

#[derive(Clone, Copy, Debug)]
struct SimLab {
    personality: Personality,
    windows: bool,
    send_with_invalidate: bool,
}

struct SimFixture(SimNet);

impl Lab for SimLab {
    type Fixture = SimFixture;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            refusal: true,
            two_connections: true,
            late_connected: true,
            refused: true,
            unreachable: true,
            silent: true,
            rdma: true,
            read_rights: true,
            invalidation_told: true,
            peer_close_told: true,
            patience: Duration::from_secs(10),
        }
    }

    fn fixture(&mut self, situation: Situation, config: &Config) -> Result<SimFixture, String> {
        let fate = match situation {
            Situation::Connects | Situation::TwoConnections => Fate::Connects,
            Situation::LateConnected => Fate::HeardLate(Duration::from_millis(500)),
            Situation::Refused => Fate::Fails(ConnectReason::Refused, Duration::from_millis(1)),
            Situation::Unreachable => Fate::Fails(ConnectReason::Unreachable, Duration::from_millis(1)),
            Situation::Silent => Fate::Fails(ConnectReason::TimedOut, Duration::from_secs(3)),
        };
        let nic = NicConfig {
            windows: self.windows,
            send_with_invalidate: self.send_with_invalidate,
            read_depth: config.read_depth,
            // Registrations of more come in several segments.
            segment_len_max: 48,
            ..NicConfig::of(self.personality, &config.budget())
        };
        Ok(SimFixture(SimNet::new(&WorldConfig::new(0, self.personality), config, &nic, fate, 2)))
    }
}

const fn side(end: Peer) -> Side {
    match end.role {
        Role::Initiator => Side::Initiator,
        Role::Acceptor => Side::Acceptor,
    }
}

impl Fixture for SimFixture {
    type Buffer = SimBuffer;
    type Backend<'a> = SimBackend<'a>;

    fn backend(&mut self, end: Peer) -> SimBackend<'_> {
        self.0.end(end.connection, side(end)).expect("the kit uses two connections")
    }

    fn pass(&mut self, time: Duration) {
        self.0.pass(time);
    }

    fn refuse_after(&mut self, end: Peer, accepted: usize) {
        self.0.refuse_after(end.connection, side(end), accepted);
    }
}

fn report(personality: Personality, windows: bool, send_with_invalidate: bool) -> Report {
    run(&mut SimLab { personality, windows, send_with_invalidate })
}

/// What only a device says of itself whose requests complete in order.
const READ_IN_ORDER: &str = "completion.read-in-order";

#[test]
fn the_roce_like_device_passes_every_line() {
    let report = report(Personality::Roce, true, true);
    assert!(report.passed() && report.not_applicable().next().is_none(), "{report}");
}

#[test]
fn the_iwarp_like_device_passes_every_line() {
    let report = report(Personality::Iwarp, true, true);
    let skipped: Vec<_> = report.not_applicable().map(|outcome| outcome.id).collect();
    assert!(report.passed() && skipped == [READ_IN_ORDER], "{report}");
}

#[test]
fn devices_without_windows_or_without_invalidation_pass_and_cannot_invalidate() {
    for personality in [Personality::Roce, Personality::Iwarp] {
        for windows in [false, true] {
            let report = report(personality, windows, false);
            assert!(report.passed(), "{report}");
            let skipped: Vec<_> = report.not_applicable().map(|outcome| outcome.id).collect();
            let skipped = skipped.strip_prefix(match personality {
                Personality::Roce => &[][..],
                Personality::Iwarp => &[READ_IN_ORDER],
            });
            assert_eq!(skipped, Some(&["invalidation.reported", "invalidation.deregistered"][..]));
        }
    }
}
