//! The kit on its own reference, and on backends that are wrong on purpose.
#![cfg(feature = "kit")]

mod wrong;

use smbd_core::Config;
use smbd_core::backend::kit::reference::{Reference, ReferenceFixture};
use smbd_core::backend::kit::{self, Capabilities, Finding, Lab, Situation};

#[test]
fn the_reference_with_windows_passes_every_line() {
    let report = kit::run(&mut Reference::default());
    assert!(report.passed() && report.not_applicable().next().is_none(), "{report}");
    insta::assert_snapshot!(report);
}

#[test]
fn the_reference_with_plain_registration_passes_every_line() {
    let report = kit::run(&mut Reference { windows: false, ..Reference::default() });
    assert!(report.passed() && report.not_applicable().next().is_none(), "{report}");
}

#[test]
fn a_backend_that_cannot_invalidate_and_says_so_passes() {
    let report = kit::run(&mut Reference { send_with_invalidate: false, ..Reference::default() });
    assert!(report.passed(), "{report}");
    let skipped: Vec<_> = report.not_applicable().map(|outcome| outcome.id).collect();
    assert_eq!(skipped, ["invalidation.reported", "invalidation.deregistered"]);
    assert!(matches!(report.outcomes.last().unwrap().result, Err(Finding::NotApplicable(_))));
}

#[test]
fn a_backend_whose_reads_are_late_passes_if_it_says_so() {
    let report = kit::run(&mut Reference { reads_in_order: false, late_reads: true, ..Reference::default() });
    assert!(report.passed(), "{report}");
    let skipped: Vec<_> = report.not_applicable().map(|outcome| outcome.id).collect();
    assert_eq!(skipped, ["completion.read-in-order"]);
}

/// Can bring about nothing but a connection, with or without RDMA.
struct Plain {
    reference: Reference,
    rdma: bool,
}

impl Lab for Plain {
    type Fixture = ReferenceFixture;

    fn capabilities(&self) -> Capabilities {
        let patience = self.reference.capabilities().patience;
        Capabilities {
            refusal: false,
            two_connections: false,
            late_connected: false,
            refused: false,
            unreachable: false,
            silent: false,
            rdma: self.rdma,
            read_rights: false,
            invalidation_told: false,
            peer_close_told: false,
            patience,
        }
    }

    fn fixture(&mut self, situation: Situation, config: &Config) -> Result<ReferenceFixture, String> {
        match situation {
            Situation::Connects => self.reference.fixture(situation, config),
            other => Err(format!("asked for {other:?}")),
        }
    }
}

#[test]
fn a_fixture_is_asked_only_for_what_it_can_do() {
    for (rdma, counts) in
        [(false, "21 passed, 0 failed, 23 not applicable"), (true, "33 passed, 0 failed, 11 not applicable")]
    {
        let report = kit::run(&mut Plain { reference: Reference::default(), rdma });
        assert!(report.passed(), "{report}");
        assert_eq!(report.to_string().lines().last().unwrap(), format!("kit: {counts}"));
    }
}

/// Cannot even make a fixture.
struct Broken;

impl Lab for Broken {
    type Fixture = ReferenceFixture;

    fn capabilities(&self) -> Capabilities {
        Reference::default().capabilities()
    }

    fn fixture(&mut self, _: Situation, _: &Config) -> Result<ReferenceFixture, String> {
        Err("no device".into())
    }
}

#[test]
fn a_lab_without_fixtures_fails_every_line_and_says_why() {
    let report = kit::run(&mut Broken);
    assert_eq!(report.broken().count(), report.outcomes.len());
    assert!(report.to_string().contains("no fixture for Refused: no device"), "{report}");
}

#[test]
fn the_kits_configuration_is_small_enough_to_reach_its_limits() {
    let config = kit::config().unwrap();
    assert!(config.send_slots <= 8 && config.rdma_ops <= 4 && config.rdma_slots <= 4);
    assert!(config.registrations <= 4 && config.segments_max <= 4 && config.registration_slots <= 4);
    assert!(config.receive_credit_max <= 20 && config.read_depth <= 2);
}
