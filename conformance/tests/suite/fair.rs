//! What a case is not about is not held against a subject there: another case finds it.

use std::collections::VecDeque;
use std::time::Duration;

use smbd_conformance::catalogue::Catalogue;
use smbd_conformance::suite::{Options, Outcome, SIDES, cases, play};

use super::tampered::{Credits, Later, Tamper, Tampered, Wrong, put, word};

/// It cuts each message that one fragment has room for in two, as the Linux client does behind the header of SMB2, and keeps to its
/// credits.
#[derive(Default)]
struct CutsInTwo {
    continues: bool,
    credits: Credits,
    waiting: VecDeque<Vec<u8>>,
}

/// Bytes before the payload.
const HEAD: usize = 24;

impl CutsInTwo {
    /// The message as it is sent.
    fn cut(&mut self, mut bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let (remaining, length) = (word(&bytes, 8, 4), word(&bytes, 16, 4));
        let continues = std::mem::replace(&mut self.continues, remaining > 0);
        if continues || remaining > 0 || length < 2 || bytes.len() != HEAD + length as usize {
            return vec![bytes];
        }
        let behind = bytes.split_off(HEAD + 1);
        let mut second = bytes[..HEAD].to_vec();
        second.extend(behind);
        put(&mut bytes, 8, (length - 1).to_le_bytes());
        put(&mut bytes, 16, 1_u32.to_le_bytes());
        put(&mut second, 2, [0, 0]);
        put(&mut second, 16, (length - 1).to_le_bytes());
        vec![bytes, second]
    }

    /// What there are credits for.
    fn released(&mut self) -> Vec<Vec<u8>> {
        let count = usize::try_from(self.credits.0).unwrap_or_default().min(self.waiting.len());
        self.waiting.drain(..count).inspect(|_| self.credits.came(1)).collect()
    }
}

impl Tamper for CutsInTwo {
    fn said(&mut self, index: u64, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
        self.credits.said(index, bytes);
        self.released()
    }

    fn came(&mut self, index: u64, bytes: Vec<u8>) -> Vec<Later> {
        if index == 0 {
            return vec![(Duration::ZERO, bytes)];
        }
        let pieces = self.cut(bytes);
        self.waiting.extend(pieces);
        self.released().into_iter().map(|bytes| (Duration::ZERO, bytes)).collect()
    }
}

fn outcomes(case: &str) -> Vec<(Outcome, Vec<String>)> {
    let catalogue = Catalogue::load().unwrap();
    let case = (catalogue.case(case).unwrap(), cases::find(case).unwrap());
    let wrong: Wrong = || Box::<CutsInTwo>::default();
    let roles = SIDES.into_iter().filter(|role| case.0.role.includes(*role));
    let played = roles.map(|role| play(&mut Tampered(wrong), 0, case, role, &Options::default()));
    played
        .map(|played| {
            let all = played.findings.iter();
            let found = all.map(|finding| format!("{} ({})", finding.text, finding.statements.join(" ")));
            (played.outcome.clone(), found.collect())
        })
        .collect()
}

#[test]
fn an_answer_in_two_fragments_is_one_answer() {
    let nothing = (Outcome::Passed, Vec::new());
    let case = "fragments::an_empty_message_is_nothing_to_the_upper_layer";
    assert_eq!(outcomes(case), [nothing.clone(), nothing.clone()]);
    let case = "negotiate::credits_of_the_response_at_their_boundaries";
    assert_eq!(outcomes(case), [nothing]);
}

#[test]
fn who_cuts_in_two_what_one_fragment_has_room_for_is_found_where_it_is_looked_for() {
    for (outcome, found) in outcomes("fragments::a_message_is_cut_exactly") {
        assert_eq!(outcome, Outcome::Failed);
        assert!(found[0].contains("(3.1.5.4-15)"), "{found:?}");
    }
}
