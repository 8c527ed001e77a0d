//! Tests of the script: what it does and does not do by itself, over the simulator.

use std::collections::BTreeSet;
use std::time::Duration;

use smbd_core::error::WorkError;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb};

use super::rig::sim::Sim;
use super::rig::{Opening, Target};
use super::{Data, Entry, Options, Outcome, Play, SIDES, Stop, Terms, Unjudged, cases, pattern};
use crate::catalogue::{Catalogue, UnderTest};

fn playing(role: UnderTest) -> Play {
    Play::new(Sim.rig(0, role, None).unwrap(), role, BTreeSet::new(), super::Upper::default())
}

fn on_both_sides(test: impl Fn(&mut Play) -> Result<(), Stop>) {
    for role in SIDES {
        let mut play = playing(role);
        test(&mut play).unwrap_or_else(|stop| panic!("{role}: {stop:?}\n{}", play.record.trace));
        assert!(play.record.findings.is_empty(), "{role}: {:?}", play.record.findings);
        assert!(play.rig.faults().is_empty(), "{:?}", play.rig.faults());
    }
}

#[test]
fn a_connection_that_is_cut_is_down_and_another_can_be_made() {
    on_both_sides(|play| {
        let mut peer = play.established()?;
        peer.cut()?;
        assert!(peer.down_within(peer.last_said(), Duration::from_secs(12)));
        let mut peer = play.established()?;
        peer.send(&Data::of(b"still there"))?;
        peer.echoed("", b"still there").map(|_| ())
    });
}

#[test]
fn memory_is_open_until_it_is_deregistered() {
    on_both_sides(|play| {
        let mut peer = play.established()?;
        let bytes = pattern(1, 1000);
        let registered = peer.register(&bytes, Access::Read)?;
        let remote: [BufferDescriptorV1; 1] = registered.descriptors.clone().try_into().unwrap();
        let upper = peer.upper()?;
        upper.by_hand();
        upper.rdma(RdmaVerb::Read, &[0; 1000], &remote, 0).unwrap();
        peer.play().pass(Duration::from_millis(1));
        assert_eq!(peer.upper()?.rdma_seen().len(), 1);
        assert!(!peer.is_down());
        peer.deregister(&registered)?;
        peer.upper()?.rdma(RdmaVerb::Read, &[0; 1000], &remote, 0).unwrap();
        assert!(peer.ends(""));
        Ok(())
    });
}

#[test]
fn the_script_reaches_what_the_subject_registers() {
    on_both_sides(|play| {
        let mut peer = play.established()?;
        let upper = peer.upper()?;
        upper.by_hand();
        let id = upper.register(&pattern(2, 100), Access::ReadWrite).unwrap();
        peer.play().pass(Duration::from_millis(1));
        let remote: Vec<_> = peer.upper()?.endpoint().connection().live_segments(id).collect();
        let buffer = peer.buffer(&[0; 100])?;
        assert_eq!(peer.rdma(RdmaVerb::Read, buffer, 0, remote[0])?, Ok(()));
        assert_eq!(peer.contents(buffer), pattern(2, 100));
        peer.fill(buffer, &pattern(3, 100));
        assert_eq!(peer.rdma(RdmaVerb::Write, buffer, 0, remote[0])?, Ok(()));
        let memory = peer.upper()?.memory(super::rig::MemoryOf::Registration(id), 100);
        assert_eq!(memory.unwrap(), pattern(3, 100));
        Ok(())
    });
}

#[test]
fn a_message_that_meets_no_receive_is_a_failure_of_the_script() {
    let mut play = playing(UnderTest::Acceptor);
    let mut peer = play.established().unwrap();
    let credits = peer.credits();
    for _ in 0..credits + 300 {
        peer.send_now(&Data::of(b"x")).unwrap();
    }
    peer.play().pass(Duration::from_secs(10));
    assert!(peer.failures().contains(&WorkError::ReceiverNotReady), "{:?}", peer.failures());
}

#[test]
fn a_case_that_takes_too_long_is_ended_and_says_so() {
    const PLAY: fn(&mut Play) -> Result<(), Stop> = |play| {
        let mut peer = play.established()?;
        for _ in 0..3600 {
            peer.play().pass(Duration::from_secs(1));
        }
        // Nothing is found when the time is over.
        peer.send(&Data::of(b"too late"))?;
        peer.ends("1.5-01");
        Ok(())
    };
    let catalogue = Catalogue::load().unwrap();
    let case = catalogue.case("BVT_SmbdNegotiate_Basic").unwrap();
    let entry = Entry { name: "BVT_SmbdNegotiate_Basic", play: PLAY, settings: None };
    let options = Options { limit: Some(Duration::from_secs(5)), ..Options::default() };
    let played = super::play(&mut Sim, 0, (case, &entry), UnderTest::Acceptor, &options);
    let texts: Vec<_> = played.findings.iter().map(|finding| finding.text.as_str()).collect();
    assert_eq!(texts, Vec::<&str>::new());
    let why = "not over after 5 s, its limit; it had waited for time to pass for 1 of 1 s";
    assert_eq!(
        (played.outcome, played.time),
        (Outcome::NotJudged(Unjudged::alone(why.into())), 5_000_000_000)
    );
}

#[test]
fn whoever_sends_without_a_credit_is_found_out() {
    let mut play = playing(UnderTest::Acceptor);
    let opening = Opening::default();
    let mut peer = play.established_as(&Terms::default(), &opening).unwrap();
    // The script forgets that it grants.
    peer.send(&Data::of(b"x").granting(5)).unwrap();
    peer.play().states[0].granted = 0;
    peer.whole_message("").unwrap();
    assert_eq!(play.record.findings.len(), 1);
    assert_eq!(play.record.findings[0].statements, ["3.1.5.1-06"]);
}

/// A play of this case, of which only this is done.
fn played_as(name: &str, role: UnderTest, steps: fn(&mut Play) -> Result<(), Stop>) -> super::Played {
    let catalogue = Catalogue::load().unwrap();
    let case = catalogue.case(name).unwrap();
    let entry = Entry { name: cases::find(name).unwrap().name, play: steps, settings: None };
    super::play(&mut Sim, 0, (case, &entry), role, &Options::default())
}

/// The script breaks off what should go on, so that nothing comes back.
fn nothing_comes_back(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    peer.settle();
    peer.upper()?.by_hand();
    peer.send(&Data::of(b"x"))?;
    peer.echoed("3.1.5.8-25", b"x").map(|_| ())
}

#[test]
fn what_comes_back_on_a_usual_connection_and_not_here_is_a_finding_here() {
    let played = played_as("upper::the_payload_may_be_anything", UnderTest::Initiator, nothing_comes_back);
    assert_eq!(played.findings[0].statements, ["3.1.5.8-25"]);
    let text = &played.findings[0].text;
    assert_eq!(text, "a message should come within 125 s, none came for 125 s");
}

/// What no usual connection has, either.
fn without_sizes(play: &mut Play) -> Result<(), Stop> {
    Err(play.without(super::basis::Basis::Sizes, "no message fits".into()))
}

#[test]
fn what_a_case_takes_for_granted_is_judged_by_the_case_that_is_about_it_alone() {
    let basic = "BVT_SmbdNegotiate_Basic";
    let played = played_as("SmbdNegotiate_Redundancy", UnderTest::Acceptor, without_sizes);
    let why = Unjudged::stated("no message fits".into(), basic);
    assert_eq!((played.outcome, played.findings.len()), (Outcome::NotJudged(why), 0));
    let played = played_as(basic, UnderTest::Acceptor, without_sizes);
    assert_eq!((played.outcome, played.findings.len()), (Outcome::Failed, 1));
}

#[test]
fn what_nobody_has_to_do_is_a_fact_and_no_finding() {
    let played = played_as("upper::the_payload_may_be_anything", UnderTest::Acceptor, |play| {
        play.check("1.7-04", false, || "it depends on SMB2".into());
        play.check("1.7-04 3.1.5.8-24", true, String::new);
        Ok(())
    });
    assert_eq!((played.outcome, played.findings.len()), (Outcome::Passed, 0));
    let facts: Vec<_> =
        played.does_not.iter().map(|fact| (fact.text.as_str(), &fact.statements[..])).collect();
    assert_eq!(facts, [("it depends on SMB2", &["1.7-04".to_owned()][..])]);
    assert_eq!(played.asserted["1.7-04"].failed, 1);
}
