//! Fields that a message must not have: the error says which.

use super::samples::packets;
use crate::wire::{Answer, Command, Event, Message, Messages, Notice, Request, WireError};

/// The error of a message, whichever side reads it.
fn refused(message: &Message<'_>) -> Option<WireError> {
    match message.kind.0 >> 8 {
        0 => Request::parse(message).err(),
        1 => Answer::parse(message).err(),
        2 => Notice::parse(message).err(),
        3 => Command::parse(message).err(),
        _ => Event::parse(message).err(),
    }
}

/// The packet whose name begins so, with other bytes at a place of its body.
fn changed(name: &str, at: usize, bytes: &[u8]) -> String {
    let found = packets().into_iter().find(|(is, _)| is.contains(name));
    let (_, packet) = found.unwrap_or_else(|| panic!("there is no {name}"));
    let message = Messages::of(packet.bytes()).next().expect("one").expect("a message");
    assert_eq!(refused(&message), None, "{name}");
    let mut body = message.body.to_vec();
    body[at..at + bytes.len()].copy_from_slice(bytes);
    let error = refused(&Message { body: &body, ..message });
    error.map_or_else(|| "valid".to_owned(), |error| error.to_string())
}

#[test]
fn a_field_that_is_not_valid_is_named_with_its_value() {
    let set_parameters = "blob: [103";
    for (name, at, bytes, expected) in [
        ("Hello", 4, &[1, 2][..], "Name of HELLO is 513: its length is at most 512 bytes"),
        ("Hello", 8, b"\xFF", "Name of HELLO is 2: it is UTF-8 up to this byte only"),
        ("negotiation: None", 20, &[0; 4], "KeepaliveInterval of SET_PARAMETERS is 0: it is 1 to 86400000"),
        (
            "negotiation: None",
            20,
            &86_400_001_u32.to_le_bytes(),
            "KeepaliveInterval of SET_PARAMETERS is 86400001: it is 1 to 86400000",
        ),
        ("negotiation: None", 20, &86_400_000_u32.to_le_bytes(), "valid"),
        ("negotiation: None", 24, &[2, 0], "AnswersNegotiate of SET_PARAMETERS is 2: it is 0 or 1"),
        ("negotiation: None", 26, &[2, 0], "Reserved of SET_PARAMETERS is 2: it is 0"),
        (set_parameters, 46, &[1, 3], "DialectMax of SET_PARAMETERS is 769: it is 0x0300, 0x0302 or 0x0311"),
        (set_parameters, 64, &[9, 0], "Ciphers of SET_PARAMETERS is 9: there are at most 8"),
        (set_parameters, 70, &[9, 0], "SigningAlgorithms of SET_PARAMETERS is 9: there are at most 8"),
        (set_parameters, 74, &[9, 0], "RDMATransforms of SET_PARAMETERS is 9: there are at most 8"),
        (set_parameters, 76, &[1, 16], "SecurityBuffer of SET_PARAMETERS is 4097: at most 4096 bytes"),
        ("SetSessionId", 0, &[0; 8], "SessionId of SET_SESSION_ID is 0: it is not 0"),
        ("SetSessionId", 8, &[2, 0], "IsHeld of SET_SESSION_ID is 2: it is 0 or 1"),
        ("SetClientGuid", 0, &[0; 16], "ClientGuid of SET_CLIENT_GUID is 0: it is not 0"),
        ("SetClientGuid", 16, &[0, 1], "IsHeld of SET_CLIENT_GUID is 256: it is 0 or 1"),
        ("Listen", 0, &[2, 0], "IsOn of LISTEN is 2: it is 0 or 1"),
        ("Welcome", 30, &[1, 0], "Reserved of WELCOME is 1: it is 0"),
        ("Held)", 0, &[0, 0], "Reason of REFUSED is 0: it is 1 to 11"),
        ("Held)", 0, &[12, 0], "Reason of REFUSED is 12: it is 1 to 11"),
        ("New(", 8, &[4, 0], "Rule of NEW is 4: it is 1, 2 or 3"),
        ("New(", 8, &[0, 0], "Rule of NEW is 0: it is 1, 2 or 3"),
        ("New(", 10, &[2, 0], "IsNegotiated of NEW is 2: it is 0 or 1"),
        ("New(", 20, &[1, 2], "Peer of NEW is 513: its length is at most 512 bytes"),
        ("Fault", 0, &[1, 2], "Why of FAULT is 513: its length is at most 512 bytes"),
        ("Send {", 4, &[2, 0], "Invalidates of SEND is 2: it is 0 or 1"),
        ("Send {", 6, &[1, 0], "Reserved of SEND is 1: it is 0"),
        ("Send {", 8, &[1, 0], "Token of SEND is 1: 0 if it is not used"),
        ("Read", 8, &[0, 0], "DescriptorCount of RDMA_READ is 0: it is 1 to 4095"),
        ("Read", 8, &[0, 16], "DescriptorCount of RDMA_READ is 4096: it is 1 to 4095"),
        ("Write", 10, &[0, 0], "AreaCount of RDMA_WRITE is 0: it is 1 to 64"),
        ("Write", 10, &[65, 0], "AreaCount of RDMA_WRITE is 65: it is 1 to 64"),
        ("Write", 12, &[1, 0], "Reserved of RDMA_WRITE is 1: it is 0"),
        ("Write", 14, &[1, 0], "Reserved of RDMA_WRITE is 1: it is 0"),
        ("Write", 18, &[1, 0], "Reserved of RDMA_WRITE is 1: it is 0"),
        ("Write", 28, &[0, 0], "AreaLength of RDMA_WRITE is 0: it is at least 1"),
        ("Received", 4, &[3, 0], "Age of RECEIVED is 3: it is 0, 1 or 2"),
        ("Received", 6, &[1, 0], "Reserved of RECEIVED is 1: it is 0"),
        ("RdmaDone", 0, &[2, 0], "IsSuccess of RDMA_DONE is 2: it is 0 or 1"),
        ("Lost", 0, &[1, 2], "Why of LOST is 513: its length is at most 512 bytes"),
    ] {
        assert_eq!(changed(name, at, bytes), expected, "{name} at {at}");
    }
}

#[test]
fn a_message_that_goes_on_behind_its_last_field_is_refused() {
    for (name, packet) in packets() {
        let message = Messages::of(packet.bytes()).next().expect("one").expect("a message");
        // What ends with bytes of any number has no last field.
        if matches!(message.kind.0, 0x0300 | 0x0400) {
            continue;
        }
        let body = [message.body, &[0]].concat();
        let error = refused(&Message { body: &body, ..message });
        assert!(matches!(error, Some(WireError::Behind { len: 1, .. })), "{name}: {error:?}");
    }
}

#[test]
fn a_message_that_is_cut_names_the_field_that_is_missing() {
    for (name, packet) in packets() {
        let message = Messages::of(packet.bytes()).next().expect("one").expect("a message");
        for len in 0..message.body.len() {
            let error = refused(&Message { body: &message.body[..len], ..message });
            match message.kind.0 {
                // A shorter piece is one, unless it is empty.
                0x0300 if len > 12 => assert_eq!(error, None),
                0x0400 if len > 8 => assert_eq!(error, None),
                0x0300 if len == 12 => {
                    assert!(matches!(error, Some(WireError::Value { field: "Bytes", .. })))
                }
                0x0400 if len == 8 => assert!(matches!(error, Some(WireError::Value { field: "Bytes", .. }))),
                _ => assert!(matches!(error, Some(WireError::Cut { .. })), "{name} of {len}: {error:?}"),
            }
        }
    }
}

#[test]
fn a_piece_has_65536_bytes_at_most() {
    for (kind, head) in [(0x0300, 12), (0x0400, 8)] {
        for (len, is_valid) in [(65_536, true), (65_537, false)] {
            let body = vec![0; head + len];
            let message = Message { kind: crate::wire::Kind(kind), tag: 0, body: &body };
            assert_eq!(refused(&message).is_none(), is_valid, "{kind:#x} with {len}");
        }
    }
}
