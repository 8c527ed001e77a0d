//! What a case is not about is not held against a subject there: another case finds it.

use std::time::Duration;

use smbd_conformance::catalogue::Catalogue;
use smbd_conformance::suite::{Options, Outcome, SIDES, cases, play};

use super::tampered::{Later, Tamper, Tampered, Wrong, put, word};

/// It cuts each message that one fragment has room for in two, as the Linux client does behind the header of SMB2.
struct CutsInTwo {
    continues: bool,
}

/// Bytes before the payload.
const HEAD: usize = 24;

impl Tamper for CutsInTwo {
    fn came(&mut self, index: u64, mut bytes: Vec<u8>) -> Vec<Later> {
        let (remaining, length) = (word(&bytes, 8, 4), word(&bytes, 16, 4));
        let continues = std::mem::replace(&mut self.continues, remaining > 0);
        if index == 0 || continues || remaining > 0 || length < 2 || bytes.len() != HEAD + length as usize {
            return vec![(Duration::ZERO, bytes)];
        }
        let behind = bytes.split_off(HEAD + 1);
        let mut second = bytes[..HEAD].to_vec();
        second.extend(behind);
        put(&mut bytes, 8, (length - 1).to_le_bytes());
        put(&mut bytes, 16, 1_u32.to_le_bytes());
        put(&mut second, 2, [0, 0]);
        put(&mut second, 16, (length - 1).to_le_bytes());
        [bytes, second].map(|bytes| (Duration::ZERO, bytes)).into()
    }
}

fn outcomes(case: &str) -> Vec<(Outcome, Vec<String>)> {
    let catalogue = Catalogue::load().unwrap();
    let case = (catalogue.case(case).unwrap(), cases::find(case).unwrap());
    let wrong: Wrong = || Box::new(CutsInTwo { continues: false });
    let played = SIDES.map(|role| play(&mut Tampered(wrong), 0, case, role, &Options::default()));
    let about = |played: &smbd_conformance::suite::Played| {
        let all = played.findings.iter();
        all.map(|finding| format!("{} ({})", finding.text, finding.statements.join(" "))).collect()
    };
    played.iter().map(|played| (played.outcome.clone(), about(played))).collect()
}

#[test]
fn an_answer_in_two_fragments_is_one_message() {
    let nothing = (Outcome::Passed, Vec::new());
    let case = "fragments::an_empty_message_is_nothing_to_the_upper_layer";
    assert_eq!(outcomes(case), [nothing.clone(), nothing]);
}

#[test]
fn who_cuts_in_two_what_one_fragment_has_room_for_is_found_where_it_is_looked_for() {
    for (outcome, found) in outcomes("fragments::a_message_is_cut_exactly") {
        assert_eq!(outcome, Outcome::Failed);
        assert!(found[0].contains("(3.1.5.4-15)"), "{found:?}");
    }
}
