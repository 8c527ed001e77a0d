//! The backend test kit of the core, on the simulated device in its personalities.

mod end;
mod net;

use std::time::Duration;

use smbd_core::backend::kit::{self, Capabilities, End, Fixture, Lab, Report, Situation};
use smbd_core::{Config, Role};
use smbd_sim::nic::{NicConfig, Personality};

use end::{SimBuffer, SimEnd};
use net::Net;

/// Devices of one personality.
struct SimLab {
    personality: Personality,
    /// Memory windows, which a peer can invalidate.
    windows: bool,
}

struct SimFixture(Net);

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
            patience: Duration::from_millis(200),
        }
    }

    fn fixture(&mut self, situation: Situation, config: &Config) -> Result<SimFixture, String> {
        let nic = NicConfig {
            windows: self.windows,
            send_with_invalidate: self.windows,
            read_depth: config.read_depth,
            // Registrations of more come in several segments.
            segment_len_max: 48,
            ..NicConfig::of(self.personality, &config.budget())
        };
        Ok(SimFixture(Net::new(situation, &nic)))
    }
}

impl Fixture for SimFixture {
    type Buffer = SimBuffer;
    type Backend<'a> = SimEnd<'a>;

    fn end(&mut self, end: End) -> SimEnd<'_> {
        SimEnd { net: &mut self.0, index: index(end) }
    }

    fn pass(&mut self, time: Duration) {
        self.0.pass(time);
    }

    fn refuse_after(&mut self, end: End, accepted: usize) {
        self.0.ends[index(end)].refuse_after = Some(accepted);
    }
}

/// Connections are neighbours, the acceptor is odd.
fn index(end: End) -> usize {
    2 * end.connection + usize::from(end.role == Role::Acceptor)
}

fn run(personality: Personality, windows: bool) -> Report {
    kit::run(&mut SimLab { personality, windows })
}

#[test]
fn the_simulated_roce_device_passes_every_line() {
    let report = run(Personality::Roce, true);
    assert!(report.passed() && report.not_applicable().next().is_none(), "{report}");
}

#[test]
fn the_simulated_iwarp_device_with_windows_passes_every_line() {
    let report = run(Personality::Iwarp, true);
    assert!(report.passed() && report.not_applicable().next().is_none(), "{report}");
}

#[test]
fn the_simulated_iwarp_device_without_windows_passes_and_cannot_invalidate() {
    let report = run(Personality::Iwarp, false);
    assert!(report.passed(), "{report}");
    let skipped: Vec<_> = report.not_applicable().map(|outcome| outcome.id).collect();
    assert_eq!(skipped, ["invalidation.reported", "invalidation.deregistered"]);
}
