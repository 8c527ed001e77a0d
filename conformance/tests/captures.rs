//! Whole captures: of Linux, of the simulator, and of parts.

mod common;

use std::fs::File;
use std::time::Duration;

use common::{IWARP, ROCE, SECOND, Tape, path, read};
use smbd_conformance::monitor::rules::behaviour::{KEEPALIVE_LATE, KEEPALIVE_UNANSWERED};
use smbd_conformance::monitor::rules::negotiation::{NEGOTIATION_LATE, RESPONSE_MAX_READ_WRITE};
use smbd_conformance::monitor::{self, Ledger, text};
use smbd_core::wire::Flags;
use smbd_sim::capture::{IwarpWriter, Link, RoceWriter, SendOptions, Side, Transport, Writer};
use smbd_sim::decode::file::FrameReader;
use smbd_sim::decode::{Body, Decoder, Direction, ItemKind, Options, Report};
use smbd_sim::nic::Personality;
use smbd_sim::swarm::{self, FaultLevel, Plan, Profile};
use smbd_sim::trace::Pcap;

/// Grants and data messages of a direction, counted one by one.
fn counted(report: &Report, direction: Direction) -> (u64, u64, u64) {
    let (mut negotiating, mut later, mut spent) = (0, 0, 0);
    for item in report.items.iter().filter(|item| item.direction == direction) {
        let ItemKind::Message(message) = &item.kind else { continue };
        match message.body {
            Body::NegotiateResponse(response) => negotiating += u64::from(response.credits_granted),
            Body::DataTransfer(header) => {
                later += u64::from(header.credits_granted);
                spent += 1;
            }
            Body::NegotiateRequest(_) | Body::Malformed(_) => {}
        }
    }
    (negotiating, later, spent)
}

#[test]
fn the_ledger_of_linux_is_what_its_messages_say() {
    let report = read(ROCE);
    let verdict = monitor::check(&report);
    let [connection] = verdict.connections.as_slice() else { panic!("{verdict:?}") };
    assert_eq!(connection.connection.initiator.address.to_string(), "10.9.0.2");
    assert_eq!(connection.connection.acceptor.address.to_string(), "10.9.0.1");
    let [client, server] = connection.ledgers;
    assert_eq!((server.granted(), server.granted_negotiating), (254, 254));
    assert_eq!((client.granted(), client.granted_negotiating), (344, 0));
    for (ledger, direction) in [(client, Direction::ToAcceptor), (server, Direction::ToInitiator)] {
        let Ledger { granted_negotiating, granted_later, spent, .. } = ledger;
        assert_eq!((granted_negotiating, granted_later, spent), counted(&report, direction));
    }
    // Nothing is granted to the client after the response.
    assert_eq!(client.lowest, Some(254 - 78));
    assert!(server.lowest.is_some_and(|lowest| lowest > 1), "{server:?}");
}

#[test]
fn what_is_said_about_linux() {
    for (name, file) in [("roce", ROCE), ("iwarp", IWARP)] {
        insta::assert_snapshot!(format!("linux_6_12_{name}"), text::verdict(&monitor::check(&read(file))));
    }
}

fn capture(plan: &Plan) -> (swarm::Report, Vec<u8>) {
    match plan.personality {
        Personality::Roce => {
            let pcap = Pcap::new(RoceWriter::roce(Vec::new(), Link::roce()).unwrap());
            let (report, pcap) = swarm::run_showing(plan, None, pcap);
            (report, pcap.finish().unwrap())
        }
        Personality::Iwarp => {
            let pcap = Pcap::new(IwarpWriter::iwarp(Vec::new(), Link::iwarp()).unwrap());
            let (report, pcap) = swarm::run_showing(plan, None, pcap);
            (report, pcap.finish().unwrap())
        }
    }
}

/// Runs of smbd with itself; nothing but what they were configured to offer may be found.
fn smbd_breaks_nothing(faults: FaultLevel, seeds: std::ops::Range<u64>) {
    let mut messages = 0;
    for seed in seeds {
        let options = swarm::Options { profile: Profile::Random, personality: None, faults };
        let plan = Plan::of(seed, &options);
        if plan.hostile.is_some() {
            continue;
        }
        let (report, file) = capture(&plan);
        assert_eq!(report.failure, None, "{seed}");
        let verdict = monitor::check(&smbd_sim::decode::read(file.as_slice()));
        messages += verdict.connections.iter().map(|connection| connection.messages).sum::<u64>();
        // Some are configured to do what the Microsoft suite does not like.
        let acceptor = &plan.configs[1];
        let little = acceptor.max_read_write_size < 1 << 20;
        let patient = acceptor.passive_negotiation_timeout > Duration::from_secs(5);
        // Faults make hosts hang and networks fall silent, and then what comes late, or not at all, is no decision.
        let faulty = faults != FaultLevel::None;
        let late = [&NEGOTIATION_LATE, &KEEPALIVE_LATE, &KEEPALIVE_UNANSWERED];
        let found = verdict.findings().filter(|finding| {
            let excused = (little && finding.rule == &RESPONSE_MAX_READ_WRITE)
                || (patient && finding.rule == &NEGOTIATION_LATE)
                || (faulty && late.contains(&finding.rule));
            !excused
        });
        assert_eq!(found.count(), 0, "seed {seed}, {faults:?}\n{}", text::verdict(&verdict));
    }
    assert!(messages > 10_000, "{messages}");
}

#[test]
fn smbd_breaks_nothing_without_faults() {
    smbd_breaks_nothing(FaultLevel::None, 0..60);
}

#[test]
fn smbd_breaks_nothing_under_faults() {
    smbd_breaks_nothing(FaultLevel::Heavy, 0..60);
}

/// A client asks for a response and gets none; 60 seconds later the capture still goes on, with another connection.
fn unanswered<T: Transport>(mut writer: Writer<Vec<u8>, T>, disconnects: bool) -> Report {
    let mut tape = Tape::new();
    let (request, response) = (tape.bytes(common::REQUEST), tape.bytes(common::RESPONSE));
    let probe = common::empty(8, Flags::RESPONSE_REQUESTED);
    writer.connect(0, &[]).unwrap();
    writer.accept(1_000, &[]).unwrap();
    writer.send(2_000, Side::Initiator, &request, SendOptions::default()).unwrap();
    writer.send(3_000, Side::Acceptor, &response, SendOptions::default()).unwrap();
    writer.send(4_000, Side::Initiator, &probe, SendOptions::default()).unwrap();
    if disconnects {
        writer.disconnect(SECOND, Side::Initiator).unwrap();
    }
    writer.renew();
    writer.connect(60 * SECOND, &[]).unwrap();
    writer.accept(60 * SECOND + 1_000, &[]).unwrap();
    writer.send(60 * SECOND + 2_000, Side::Initiator, &request, SendOptions::default()).unwrap();
    smbd_sim::decode::read(writer.finish().unwrap().as_slice())
}

#[test]
fn silence_behind_the_end_is_no_missing_answer() {
    let roce = |ends| unanswered(RoceWriter::roce(Vec::new(), Link::roce()).unwrap(), ends);
    let iwarp = |ends| unanswered(IwarpWriter::iwarp(Vec::new(), Link::iwarp()).unwrap(), ends);
    for (ended, open) in [(roce(true), roce(false)), (iwarp(true), iwarp(false))] {
        let verdict = monitor::check(&ended);
        assert_eq!(verdict.findings().count(), 0, "{}", text::verdict(&verdict));
        let found: Vec<_> = monitor::check(&open).findings().map(|finding| finding.rule.name).collect();
        assert_eq!(found, [KEEPALIVE_UNANSWERED.name]);
    }
}

/// The RoCE capture without some of its frames.
fn without(skipped: impl Fn(u64) -> bool) -> Report {
    let mut reader = FrameReader::new(File::open(path(ROCE)).unwrap()).unwrap();
    let mut decoder = Decoder::new(Options::default());
    while let Some(frame) = reader.next_frame().unwrap() {
        if !skipped(frame.number) {
            decoder.frame(&frame);
        }
    }
    decoder.finish(None)
}

#[test]
fn a_capture_that_begins_in_the_middle_is_judged_as_far_as_it_can_be() {
    let verdict = monitor::check(&without(|frame| frame < 100));
    assert_eq!(verdict.findings().count(), 0, "{}", text::verdict(&verdict));
    let [connection] = verdict.connections.as_slice() else { panic!("{verdict:?}") };
    assert!(connection.messages > 100);
    assert_eq!(connection.ledgers.map(|ledger| ledger.lowest), [None, None]);
    for rule in ["send-without-credit", "data-over-max-receive-size", "rdma-over-max-read-write-size"] {
        assert!(connection.not_judged.contains_key(rule), "{rule}: {:?}", connection.not_judged);
    }
    assert!(!connection.not_judged.contains_key("data-reserved"));
}

#[test]
fn a_message_that_is_missing_makes_credits_unknown_and_nothing_a_finding() {
    // A data message of the client.
    let verdict = monitor::check(&without(|frame| frame == 24));
    assert_eq!(verdict.findings().count(), 0, "{}", text::verdict(&verdict));
    let connection = &verdict.connections[0];
    assert_eq!(connection.ledgers.map(|ledger| ledger.lowest), [None, None]);
    assert!(connection.not_judged.contains_key("last-credit-without-grant"));
    assert!(!connection.not_judged.contains_key("data-over-max-receive-size"), "the negotiation is known");
}

#[test]
fn messages_of_a_side_are_read_in_the_order_they_were_sent() {
    // The first fragment comes last, as if its packet had been sent again.
    let mut report = read(ROCE);
    let at = |report: &Report, frame| report.items.iter().position(|i| i.frames.first == frame).unwrap();
    let first = report.items.remove(at(&report, common::FRAGMENTS[0]));
    let last = at(&report, common::FRAGMENTS[2]);
    report.items.insert(last + 1, first);
    assert_eq!(monitor::check(&report).findings().count(), 0);
    // Without the order of the messages it would be a finding.
    let mut tape = Tape::new();
    tape.move_behind(common::FRAGMENTS[0], common::FRAGMENTS[2]);
    assert!(tape.check().findings().count() > 0);
}
