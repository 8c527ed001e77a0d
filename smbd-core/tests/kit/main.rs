//! The kit on its own reference, and on backends that are wrong on purpose.
#![cfg(feature = "kit")]

mod wrong;

use smbd_core::backend::kit::reference::Reference;
use smbd_core::backend::kit::{self, Finding};

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
