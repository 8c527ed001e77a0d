//! The examples of section 4: every message, its bytes and what they mean.

use smbd_conformance::catalogue::{Catalogue, UnderTest};
use smbd_conformance::suite::rig::sim::Sim;
use smbd_conformance::suite::{Options, Outcome, Played, SIDES, cases, play};

fn played(name: &str, role: UnderTest) -> Played {
    let catalogue = Catalogue::load().unwrap();
    let (case, entry) = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
    let played = play(&mut Sim, 0, (case, entry), role, &Options::default());
    assert_eq!(played.outcome, Outcome::Passed, "{name}");
    played
}

/// The recordings of an example with each side under test, `events` of each at most.
fn recordings(name: &str, events: usize) -> String {
    let catalogue = Catalogue::load().unwrap();
    let under_test = catalogue.case(name).unwrap().role;
    let mut text = String::new();
    for role in SIDES.into_iter().filter(|side| under_test.includes(*side)) {
        text.push_str(&format!("{role} under test\n"));
        for event in played(name, role).trace.events().take(events) {
            text.push_str(&format!("{event:#}\n"));
        }
    }
    text
}

#[test]
fn the_examples_of_section_4_are_the_same_byte_for_byte() {
    insta::assert_snapshot!("4.1", recordings("examples::establishing_a_connection", usize::MAX));
    insta::assert_snapshot!("4.2", recordings("examples::peer_transmits_500_bytes", usize::MAX));
    insta::assert_snapshot!("4.3", recordings("examples::peer_transmits_64_kib", usize::MAX));
    insta::assert_snapshot!("4.4", recordings("examples::peer_writes_1_mib", usize::MAX));
    // One hundred times the same, but for the pattern.
    insta::assert_snapshot!("4.5", recordings("examples::peer_reads_1_mib", 12));
}

#[test]
fn a_play_is_the_same_each_time() {
    for name in ["examples::peer_transmits_64_kib", "SmbdDataTransfer_IdleConnection_Server_Timeout"] {
        let twice = [(); 2].map(|()| format!("{:#}", played(name, UnderTest::Acceptor).trace));
        assert_eq!(twice[0], twice[1]);
    }
}
