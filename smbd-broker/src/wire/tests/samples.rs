//! One of each message, as bytes.

use std::fmt::Write as _;

use smbd_core::{BufferDescriptorV1, Token};
use smbd_smb2::wire::Guid;

use crate::wire::{
    Age, Answer, Area, Call, Command, Direction, Event, Limits, Memory, Negotiation, Newcomer, Notice,
    Packet, Parameters, Refusal, Reply, Request, Rule, Transfer, Welcome,
};

pub(super) fn negotiation() -> Negotiation {
    Negotiation {
        server_guid: Guid([0x11; 16]),
        security_mode: 3,
        dialect_max: 0x0311,
        capabilities: 0x7F,
        max_transact_size: 0x10_0000,
        max_read_size: 0x20_0000,
        max_write_size: 0x40_0000,
        ciphers: vec![2, 1],
        signing: vec![1],
        transforms: vec![],
        blob: b"gss".to_vec(),
    }
}

pub(super) fn parameters(negotiation: Option<Negotiation>) -> Parameters {
    Parameters {
        receive_credit_max: 255,
        send_credit_target: 254,
        max_send_size: 1364,
        max_receive_size: 8192,
        max_fragmented_size: 0x10_0000,
        max_read_write_size: 0x80_0000,
        keepalive_interval: 120_000,
        negotiation,
    }
}

pub(super) fn transfer(direction: Direction) -> Transfer {
    Transfer {
        direction,
        offset: 0x0102_0304_0506_0708,
        remote: vec![
            BufferDescriptorV1 { offset: 0x1000, token: Token(0xA1A2_A3A4), length: 0x2000 },
            BufferDescriptorV1 { offset: 0x9000, token: Token(0xB1B2_B3B4), length: 0x3000 },
        ],
        areas: vec![Area { slot: 5, len: 4096 }, Area { slot: 2, len: 17 }],
    }
}

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::Hello { version: 1, name: "smbd-serve".into() },
        Call::SetParameters(Box::new(parameters(None))),
        Call::SetParameters(Box::new(parameters(Some(negotiation())))),
        Call::SetSessionId { session_id: 0x0102_0304_0506_0708, is_held: true },
        Call::SetClientGuid { client_guid: Guid([0x22; 16]), is_held: false },
        Call::GetMemParams { slots: 64 },
        Call::Listen { is_on: true },
        Call::Attach,
    ]
}

pub(super) fn answers() -> Vec<Answer> {
    let limits = Limits {
        slot_len: 1 << 20,
        slots_max: 64,
        sends_max: 65,
        send_bytes_max: 4 << 20,
        receive_bytes_max: 5 << 20,
        transfers_max: 66,
    };
    let welcome = Welcome { version: 1, instance: 0x0102_0304_0506_0708, limits };
    let results = [
        Ok(Reply::Done),
        Ok(Reply::Welcome(welcome)),
        Ok(Reply::Memory(Memory { first: 8, count: 56, total: 64 })),
        Ok(Reply::Attached { connection: 9 }),
        Err(Refusal::Held),
    ];
    (0x70..).zip(results).map(|(tag, result)| Answer { tag, result }).collect()
}

pub(super) fn notices() -> Vec<Notice> {
    let newcomer = Newcomer {
        connection: 9,
        rule: Rule::ClientGuid,
        is_negotiated: true,
        max_send_size: 0x10_0000,
        max_read_write_size: 0x80_0000,
        peer: "192.0.2.7".into(),
    };
    vec![Notice::New(newcomer), Notice::Moved { connection: 9 }, Notice::Fault { why: "noise".into() }]
}

pub(super) fn commands() -> Vec<Command<'static>> {
    vec![
        Command::Send { remaining: 0, invalidate: None, bytes: b"message" },
        Command::Send { remaining: 70_000, invalidate: Some(Token(0xC1C2_C3C4)), bytes: b"piece" },
        Command::Rdma { tag: 0x80, transfer: transfer(Direction::Read) },
        Command::Rdma { tag: 0x81, transfer: transfer(Direction::Write) },
        Command::Disconnect { within: 1000 },
        Command::Taken { count: 3 },
    ]
}

pub(super) fn events() -> Vec<Event<'static>> {
    vec![
        Event::Received { age: Age::PastResponse, remaining: 3, bytes: b"piece" },
        Event::Sent { count: 7 },
        Event::RdmaDone { tag: 0x80, is_success: true },
        Event::Invalidated { token: Token(0xC1C2_C3C4) },
        Event::Lost { why: "flushed".into() },
    ]
}

/// A packet of each, with what it is.
pub(super) fn packets() -> Vec<(String, Packet)> {
    let mut packets = Vec::new();
    let mut add = |name: String, write: &dyn Fn(&mut Packet)| {
        let mut packet = Packet::new();
        write(&mut packet);
        packets.push((name, packet));
    };
    for (tag, call) in (0x60..).zip(calls()) {
        let request = Request { tag, call };
        add(format!("{request:?}"), &|packet| request.write(packet));
    }
    for answer in answers() {
        add(format!("{answer:?}"), &|packet| answer.write(packet));
    }
    for notice in notices() {
        add(format!("{notice:?}"), &|packet| notice.write(packet));
    }
    for command in commands() {
        add(format!("{command:?}"), &|packet| command.write(packet));
    }
    for event in events() {
        add(format!("{event:?}"), &|packet| event.write(packet));
    }
    packets
}

#[test]
fn each_message_has_these_bytes() {
    let mut text = String::new();
    for (name, packet) in packets() {
        let _ = writeln!(text, "{name}");
        for line in packet.bytes().chunks(16) {
            let halves: Vec<_> = line
                .chunks(8)
                .map(|half| half.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "))
                .collect();
            let _ = writeln!(text, "    {}", halves.join("  "));
        }
    }
    insta::assert_snapshot!(text);
}
