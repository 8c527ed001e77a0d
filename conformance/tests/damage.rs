//! Whatever stands in the messages of a capture: there is a verdict, the same each time.

mod common;

use common::Tape;
use smbd_conformance::monitor::{json, text};
use smbd_sim::Rng;

/// Messages with bytes changed, cut off and added.
fn damaged(seed: u64) -> Tape {
    let mut rng = Rng::new(seed);
    let mut tape = Tape::new();
    let frames = tape.frames();
    for _ in 0..20 {
        let frame = frames[rng.below(frames.len() as u64) as usize];
        tape.edit(frame, |bytes| match rng.below(4) {
            0 => bytes.truncate(rng.below(40) as usize),
            1 => bytes.resize(bytes.len() + rng.below(3000) as usize, 0xa5),
            _ => {
                // In the header, where it matters.
                let at = rng.below(32) as usize;
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = rng.below(256) as u8;
                }
            }
        });
        if rng.chance(1, 4) {
            let token = rng.below(1 << 32) as u32;
            tape.invalidate(frame, token);
        }
    }
    tape
}

#[test]
fn damaged_messages_get_a_verdict_in_both_forms() {
    let mut findings = 0;
    for seed in 0..100 {
        let verdict = damaged(seed).check();
        findings += verdict.findings().count();
        let mut lines = Vec::new();
        json::write(&verdict, &mut lines).unwrap();
        let lines = String::from_utf8(lines).unwrap();
        assert_eq!(lines.lines().count(), verdict.findings().count() + 3, "{seed}");
        let again = damaged(seed).check();
        assert_eq!(text::verdict(&verdict).to_string(), text::verdict(&again).to_string(), "{seed}");
    }
    assert!(findings > 1000, "{findings}");
}
