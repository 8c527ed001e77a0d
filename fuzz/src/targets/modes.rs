//! Strict and tolerant mode, told the same.

use arbitrary::{Arbitrary, Unstructured};
use smbd_core::{PhaseName, Tolerances};

use crate::rig::{Rig, Setup, Step};

/// Until something is tolerated both do the same, word for word; then strict mode ends the connection.
pub fn modes(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Ok(setup) = Setup::arbitrary(&mut data) else { return };
    let [mut tolerant, mut strict] = [false, true].map(|strict| Rig::begun(&setup, Some(strict)));
    let rigs = [&mut tolerant, &mut strict];
    for rig in rigs {
        rig.record();
    }
    loop {
        if forgave(&tolerant) {
            let phase = strict.connection().phase();
            let ends = matches!(phase, PhaseName::Rejecting | PhaseName::Closing | PhaseName::Drained);
            assert!(
                ends,
                "tolerated, and strict mode is {phase:?}: {:?}",
                tolerant.connection().stats().tolerances
            );
            break;
        }
        assert_eq!(tolerant.recorded(), strict.recorded());
        assert_eq!(tolerant.connection().phase(), strict.connection().phase());
        if data.is_empty() {
            break;
        }
        let Ok(step) = Step::arbitrary(&mut data) else { break };
        for rig in [&mut tolerant, &mut strict] {
            rig.step(&setup, &step);
        }
    }
    tolerant.end();
    strict.end();
}

/// Whether tolerant mode let something pass that strict mode does not.
fn forgave(rig: &Rig) -> bool {
    let mut tolerances = rig.connection().stats().tolerances;
    tolerances.unknown_flags = 0;
    tolerances != Tolerances::default()
}
