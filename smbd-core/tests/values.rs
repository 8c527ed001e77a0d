//! The small values that cross the interface: what they say of themselves.

use smbd_core::backend::{BufferSlice, Payload, UnknownBuffer};
use smbd_core::error::{CloseReason, ConnectError, Violation};
use smbd_core::wire::status;
use smbd_core::{Head, Input, Instant, RecvId, WrId};

fn recv(raw: u64) -> RecvId {
    match WrId::from_raw(raw) {
        Some(WrId::Recv(id)) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_head_has_the_first_32_bytes_of_a_message_and_no_more() {
    let message: Vec<u8> = (1..=40).collect();
    for len in [0, 1, 20, 31, 32, 33, 40] {
        let head = Head::of(&message[..len]);
        assert_eq!(head.as_bytes(), &message[..len.min(32)]);
        assert_eq!(head.len() as usize, len.min(32));
        assert_eq!(head.is_empty(), len == 0);
    }
    assert_eq!(format!("{:?}", Head::of(&[0xAB, 0x01])), "ab01");
}

#[test]
fn an_instant_is_printed_as_the_time_since_the_origin() {
    assert_eq!(format!("{:?}", Instant::from_nanos(1_500_000_000)), "1.5s");
    assert_eq!(format!("{:?}", Instant::ORIGIN), "0ns");
}

#[test]
fn a_payload_has_the_length_of_its_bytes_wherever_they_are() {
    let buffer = [0_u8; 64];
    for len in [0, 1, 17] {
        let copied: Payload<'_, [u8; 64]> = Payload::Copy(&buffer[..len]);
        let local = BufferSlice { buffer: &buffer, offset: 5, len: u32::try_from(len).unwrap() };
        for payload in [copied, Payload::InPlace(local)] {
            assert_eq!((payload.len(), payload.is_empty()), (len, len == 0));
        }
    }
}

#[test]
fn memory_that_is_missing_is_named() {
    let missing = UnknownBuffer(recv(1 << 56 | 7 << 16 | 3).into());
    assert_eq!(format!("{missing:?}"), "UnknownBuffer(recv3.7)");
    assert_eq!(missing.to_string(), "no memory is known for recv3.7");
}

#[test]
fn an_input_can_be_printed() {
    let id = recv(1 << 56 | 2);
    let input = Input::Received { id, head: Head::of(&[1, 2]), len: 2, invalidated: None };
    assert_eq!(format!("{input:?}"), "Received { id: recv2.0, head: 0102, len: 2, invalidated: None }");
}

#[test]
fn an_error_about_what_the_peer_sent_names_its_section_once() {
    let section = "3.1.5.6";
    for violation in [
        Violation::Version { min: 0x0200, max: 0x0300 },
        Violation::PreferredSendSize { max: 8136, got: 8137, section },
        Violation::ShortMessage { needed: 20, got: 19, section },
        Violation::CreditsRequestedZero { section },
    ] {
        for text in [
            ConnectError::RejectedPeer { status: status::NOT_SUPPORTED, violation }.to_string(),
            ConnectError::Violation(violation).to_string(),
            CloseReason::Violation(violation).to_string(),
        ] {
            assert_eq!(text.matches("(3.1.5.6)").count(), 1, "{text}");
        }
    }
}
