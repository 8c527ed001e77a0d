//! The expected transcripts are worked out by hand from the rules at the end of spec-issues' credit section: what is
//! posted and not announced rides on the next message, a sender with one credit left posts one receive more and grants
//! it, and a message that only grants leaves when more is unannounced than the peer still holds.

use smbd_core::Token;

use super::record::{Message, Recorder, What};
use super::*;
use crate::Side;
use crate::nic::Personality;

/// One line for each message and each wait: who, `+` credits granted, `r` bytes remaining, `d` bytes of data.
fn transcript(options: &Options) -> String {
    let (report, recorder) = run(options, Recorder::default()).expect("valid options");
    assert_eq!((report.passed, report.failed), (5, 0), "{}", report.text);
    let mut text = String::new();
    for seen in &recorder.seen {
        let who = if seen.side == Side::Initiator { 'I' } else { 'A' };
        let line = match &seen.what {
            What::Message { message: Message::Request(m), .. } => {
                format!("{who} request {} {}", m.credits_requested, m.max_receive_size)
            }
            What::Message { message: Message::Response(m), .. } => {
                format!(
                    "{who} response {} +{} {}",
                    m.credits_requested, m.credits_granted, m.max_receive_size
                )
            }
            What::Message { message: Message::Data(m), .. } => {
                let h = &m.header;
                format!("{who} +{} r{} d{}", h.credits_granted, h.remaining_data_length, h.data_length)
            }
            What::Message { message: Message::Unreadable, .. } => format!("{who} unreadable"),
            What::ReadRequest(d) => format!("{who} read 0x{:X} {} 0x{:08X}", d.offset, d.length, d.token.0),
            What::ReadData { len } => format!("{who} data {len}"),
            What::Write { remote: d } => {
                format!("{who} write 0x{:X} {} 0x{:08X}", d.offset, d.length, d.token.0)
            }
            What::Waits(_) => format!("{who} waits"),
            What::Note(_) => continue,
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn lines(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .fold(String::new(), |all, line| all + line + "\n")
}

#[test]
fn four_credits_and_messages_of_128_bytes_cut_everything_into_pieces() {
    let options = Options { credits: 4, send_size: 128, bytes: 1000, ..Options::default() };
    // 104 bytes fit into a message; window 4. In brackets: what the sender has left, and what it has not announced.
    let expected = "
        I request 4 128
        A response 4 +4 128
        I +4 r0 d100

        A +1 r396 d104
        A +0 r292 d104
        A +0 r188 d104
        A +1 r84 d104
        A waits
        I +4 r0 d0
        A +0 r0 d84

        I +1 r896 d104
        I +0 r792 d104
        I +0 r688 d104
        I +1 r584 d104
        I waits
        A +4 r0 d0
        I +0 r480 d104
        I +0 r376 d104
        I +0 r272 d104
        I +1 r168 d104
        I waits
        A +4 r0 d0
        I +0 r64 d104
        I +0 r0 d64

        I +0 r396 d104
        I +1 r292 d104
        I waits
        A +4 r0 d0
        I +0 r188 d104
        I +0 r84 d104
        I +0 r0 d84
        A +3 r0 d0
        A read 0xABCDE012 1048576 0x1A00BC56
        I data 1048576
        A +0 r0 d80

        I +2 r396 d104
        I +0 r292 d104
        I +0 r188 d104
        I +1 r84 d104
        I waits
        A +4 r0 d0
        I +0 r0 d84
        A write 0xDCBA024 1048576 0x1A00BC57
        A +1 r0 d80
    ";
    assert_eq!(transcript(&options), lines(expected));
}

#[test]
fn with_255_credits_nobody_waits_and_grants_ride_on_answers() {
    let options = Options {
        credits: 255,
        send_size: 8136,
        bytes: 131_072,
        offset: 0x7FFF_FFFF_0000_0008,
        read_offset: 0x10,
        token: Token(1),
        ..Options::default()
    };
    // 8112 bytes fit into a message. The 17 fragments leave the acceptor with 238 of 255 announced: no reason to speak.
    let expected = "
        I request 255 8136
        A response 255 +255 8136
        I +255 r0 d100

        A +1 r0 d500

        I +1 r122960 d8112
        I +0 r114848 d8112
        I +0 r106736 d8112
        I +0 r98624 d8112
        I +0 r90512 d8112
        I +0 r82400 d8112
        I +0 r74288 d8112
        I +0 r66176 d8112
        I +0 r58064 d8112
        I +0 r49952 d8112
        I +0 r41840 d8112
        I +0 r33728 d8112
        I +0 r25616 d8112
        I +0 r17504 d8112
        I +0 r9392 d8112
        I +0 r1280 d8112
        I +0 r0 d1280

        I +0 r0 d500
        A read 0x7FFFFFFF00000008 1048576 0x00000001
        I data 1048576
        A +18 r0 d80

        I +1 r0 d500
        A write 0x10 1048576 0x00000002
        A +1 r0 d80
    ";
    assert_eq!(transcript(&options), lines(expected));
}

#[test]
fn on_iwarp_with_five_credits_the_key_of_the_token_wraps_around() {
    let options = Options {
        personality: Personality::Iwarp,
        credits: 5,
        send_size: 600,
        bytes: 3000,
        token: Token(0xFFF),
        ..Options::default()
    };
    // 576 bytes fit into a message; window 5.
    let expected = "
        I request 5 600
        A response 5 +5 600
        I +5 r0 d100

        A +1 r0 d500

        I +1 r2424 d576
        I +0 r1848 d576
        I +0 r1272 d576
        I +0 r696 d576
        I +1 r120 d576
        I waits
        A +5 r0 d0
        I +0 r0 d120

        I +0 r0 d500
        A read 0xABCDE012 1048576 0x00000FFF
        I data 1048576
        A +2 r0 d80

        I +1 r0 d500
        A write 0xDCBA024 1048576 0x00000F00
        A +1 r0 d80
    ";
    assert_eq!(transcript(&options), lines(expected));
}

#[test]
fn the_numbers_of_section_4_come_out_on_both_kinds_of_network() {
    for personality in [Personality::Roce, Personality::Iwarp] {
        let options = Options { personality, ..Options::default() };
        let text = transcript(&options);
        let fragments: Vec<&str> = text.lines().filter(|line| line.ends_with("d1000")).collect();
        assert_eq!(fragments.len(), 65, "and a last one of 536 bytes");
        assert!(fragments[0].ends_with("r64536 d1000") && fragments[1].ends_with("r63536 d1000"));
        assert!(fragments[64].ends_with("r536 d1000"));
        assert_eq!(text.lines().filter(|line| line.ends_with("r0 d536")).count(), 1);
        assert_eq!(text.lines().filter(|line| *line == "I waits").count(), 6);
        assert!(text.contains("A read 0xABCDE012 1048576 0x1A00BC56\n"));
        assert!(text.contains("A write 0xDCBA024 1048576 0x1A00BC57\n"));
    }
}

#[test]
fn a_wrong_value_would_be_reported() {
    let options = Options { credits: 4, ..Options::default() };
    let (_, recorder) = run(&options, Recorder::default()).expect("valid options");
    let mut checks = check::Checks::default();
    checks.negotiation(&recorder.seen, &Options::default());
    assert_eq!(
        checks.wrong,
        [
            "CreditsRequested is 4, should be 10",
            "CreditsRequested is 4, should be 10",
            "CreditsGranted is 4, should be 10"
        ]
    );
}

#[test]
fn options_that_make_no_connection_are_refused() {
    let options = Options { credits: 3, ..Options::default() };
    let refused = run(&options, ()).map(|(report, ())| report);
    assert_eq!(refused.map_err(|error| error.field), Err("receive_credit_max"));
}
