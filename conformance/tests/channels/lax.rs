//! Clients that leave out one rule of 3.2.5.11: each is told of, by the statement that has the rule.

use std::collections::BTreeSet;

use smbd_conformance::catalogue::{Catalogue, UnderTest};
use smbd_conformance::suite::rig::sim::SimLax;
use smbd_conformance::suite::{Played, cases, play};

use super::options;

const DECRYPTED: &str = "smb2::encrypted_data_are_decrypted";
const REFUSED: &str = "smb2::a_transform_that_does_not_do_is_refused";
const LENGTHS: &str = "smb2::a_transform_of_another_length_is_refused";

/// The statement that a client leaves out, in words, and a case that finds it and nothing else.
const ROWS: [(&str, &str, &str); 18] = [
    ("3.2.5.11-02", "the status is not looked at", "smb2::a_failed_read_under_a_transform_brings_nothing"),
    ("3.2.5.11-05", "the structure is looked for behind the answer's own fields", DECRYPTED),
    ("3.2.5.11-05", "the same with signed data", "smb2::signed_data_are_verified"),
    ("3.2.5.11-07", "TransformCount 0 is taken for 1", REFUSED),
    ("3.2.5.11-08", "encrypted data of an answer that is not encrypted are taken", REFUSED),
    ("3.2.5.11-09", "signed data of an encrypted answer are taken", REFUSED),
    ("3.2.5.11-10", "data of an encrypted answer need not be encrypted", REFUSED),
    ("3.2.5.11-11", "data need not be signed", REFUSED),
    ("3.2.5.11-12", "of two transforms the first is taken", REFUSED),
    ("3.2.5.11-13", "a transform of type 3 is passed over", REFUSED),
    ("3.2.5.11-14", "of a longer signature 16 bytes are taken", LENGTHS),
    ("3.2.5.11-15", "a nonce of CCM is made one of 11 bytes", LENGTHS),
    ("3.2.5.11-16", "a nonce of GCM is made one of 12 bytes", LENGTHS),
    ("3.2.5.11-17", "signatures are not compared", "smb2::signed_data_are_verified"),
    ("3.2.5.11-18", "data are not decrypted", DECRYPTED),
    (
        "3.2.5.11-18",
        "data are not decrypted, whatever they are",
        "smb2::encrypted_data_that_are_others_bring_nothing",
    ),
    ("3.2.5.11-19", "DataRemaining is not compared", "smb2::encrypted_data_are_as_many_as_the_answer_says"),
    (
        "3.2.5.11-06",
        "a transform is taken that was not negotiated",
        "smb2::a_transform_that_nobody_wanted_is_refused",
    ),
];

fn played(without: &'static str, name: &str, variant: usize) -> Played {
    let catalogue = Catalogue::load().unwrap();
    let case = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
    let role = UnderTest::Initiator;
    play(&mut SimLax { without: Some(without) }, variant, case, role, &options(role))
}

#[test]
fn each_rule_that_a_client_leaves_out_is_named_and_no_other_is() {
    let mut differing = Vec::new();
    for (left_out, what, case) in ROWS {
        let played = played(left_out, case, 0);
        let found: BTreeSet<_> =
            played.findings.iter().flat_map(|finding| &finding.statements).map(String::as_str).collect();
        if found != BTreeSet::from([left_out]) {
            let texts: Vec<_> = played.findings.iter().map(|finding| &finding.text).collect();
            differing.push(format!("{left_out}, {what}: {} {found:?} {texts:?}", played.outcome));
        }
        // It is also seen of a client whose program cannot be looked at.
        if played.findings.iter().all(|finding| finding.text.starts_with("a READ ")) {
            differing.push(format!("{left_out}, {what}: nothing is found in what is written"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn what_the_program_is_given_that_a_client_reads_for_is_judged_too() {
    let played = played("3.2.5.11-07", REFUSED, 1);
    let given =
        "a READ with TransformCount 0 should give STATUS_INVALID_NETWORK_RESPONSE, it gives STATUS_SUCCESS";
    let texts: Vec<_> = played.findings.iter().map(|finding| &finding.text[..]).collect();
    assert!(texts.contains(&given), "{texts:?}");
}

/// The statements that are broken here.
pub fn broken() -> impl Iterator<Item = &'static str> {
    ROWS.into_iter().map(|(left_out, ..)| left_out)
}
