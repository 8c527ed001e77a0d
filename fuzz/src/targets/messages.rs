//! Well-formed captures of any messages: checksums would keep a fuzzer of bytes out.

use arbitrary::{Arbitrary, Unstructured};
use smbd_conformance::monitor;
use smbd_core::Token;
use smbd_sim::Side;
use smbd_sim::capture::{Link, Remote, SendOptions, Transport, Writer};
use smbd_sim::decode::{self, Direction, ItemKind};

/// What a host does.
#[derive(Arbitrary, Clone, Debug)]
enum Said {
    Message {
        bytes: Vec<u8>,
        invalidate: Option<u32>,
        solicited: bool,
    },
    /// A data message whose fields are close to what they should be.
    Data {
        fields: [u8; 8],
        len: u8,
        invalidate: bool,
    },
    Greeting {
        request: bool,
        fields: [u8; 20],
    },
    Write {
        token: u32,
        address: u64,
        data: Vec<u8>,
    },
    Read {
        token: u32,
        address: u64,
        data: Vec<u8>,
    },
    Acknowledge,
    Renew,
}

/// One after the other, the time between them in milliseconds.
#[derive(Arbitrary, Clone, Debug)]
struct Turn {
    acceptor: bool,
    time: u16,
    said: Said,
}

/// The decoder finds the messages that were written, in order; the monitor comes to an end.
pub fn messages(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Ok(is_iwarp) = bool::arbitrary(&mut data) else { return };
    let Ok(turns) = Vec::<Turn>::arbitrary_take_rest(data) else { return };
    if is_iwarp {
        check(&turns, Writer::iwarp(Vec::new(), Link::iwarp()).expect("memory takes everything"));
    } else {
        check(&turns, Writer::roce(Vec::new(), Link::roce()).expect("memory takes everything"));
    }
}

fn check<T: Transport>(turns: &[Turn], mut writer: Writer<Vec<u8>, T>) {
    let (mut now, mut sent) = (0, Vec::new());
    writer.connect(now, &[]).expect("memory takes everything");
    writer.accept(now, &[]).expect("memory takes everything");
    for Turn { acceptor, time, said } in turns {
        now += 1 + u64::from(*time) * 1_000_000;
        let from = if *acceptor { Side::Acceptor } else { Side::Initiator };
        let options =
            |invalidate: Option<u32>, solicited| SendOptions { invalidate: invalidate.map(Token), solicited };
        let mut send = |bytes: Vec<u8>, options| {
            writer.send(now, from, &bytes, options).expect("memory takes everything");
            sent.push((from, bytes));
        };
        match said {
            Said::Message { bytes, invalidate, solicited } => {
                send(bytes.clone(), options(*invalidate, *solicited))
            }
            Said::Data { fields, len, invalidate } => {
                send(data(*fields, *len), options(invalidate.then_some(0x0101), false));
            }
            Said::Greeting { request, fields } => send(greeting(*request, fields), options(None, false)),
            Said::Write { token, address, data } => {
                let remote = Remote { token: Token(*token), address: *address };
                writer.write(now, from, remote, data).expect("memory takes everything");
            }
            Said::Read { token, address, data } => {
                let remote = Remote { token: Token(*token), address: *address };
                let length = u32::try_from(data.len()).unwrap_or(0);
                writer.read_request(now, from, remote, length).expect("memory takes everything");
                writer.read_response(now, from.peer(), data).expect("memory takes everything");
            }
            Said::Acknowledge => writer.acknowledge(now, from).expect("memory takes everything"),
            Said::Renew => {
                writer.disconnect(now, from).expect("memory takes everything");
                writer.renew();
                writer.connect(now, &[]).expect("memory takes everything");
                writer.accept(now, &[]).expect("memory takes everything");
            }
        }
    }
    let report = decode::read(writer.finish().expect("memory takes everything").as_slice());
    assert_eq!(report.problem.as_ref().map(ToString::to_string), None);
    let found: Vec<_> = report
        .items
        .iter()
        .filter_map(|item| match &item.kind {
            ItemKind::Message(message) => Some((item.direction, message.bytes.as_slice())),
            _ => None,
        })
        .collect();
    let expected: Vec<_> = sent
        .iter()
        .map(|(from, bytes)| {
            let direction = match from {
                Side::Initiator => Direction::ToAcceptor,
                Side::Acceptor => Direction::ToInitiator,
            };
            (direction, bytes.as_slice())
        })
        .collect();
    assert_eq!(found, expected);
    let verdict = monitor::check(&report);
    let _ = monitor::text::verdict(&verdict).to_string();
}

/// A data message: small numbers in the fields, now and then a large one.
fn data([asked, granted, flags, remaining, high, offset, length, behind]: [u8; 8], len: u8) -> Vec<u8> {
    let length = if length > 250 { u32::from(length) << 24 } else { u32::from(len) };
    let offset = if offset > 16 { 24 } else { u32::from(offset) * 4 };
    let remaining = u32::from(remaining) + if high > 250 { 0xFFFF_0000 } else { 0 };
    let mut bytes = Vec::new();
    for short in [u16::from(asked), u16::from(granted), u16::from(flags % 4), 0] {
        bytes.extend(short.to_le_bytes());
    }
    for long in [remaining, offset, length] {
        bytes.extend(long.to_le_bytes());
    }
    bytes.resize(24 + usize::from(len) + usize::from(behind % 4), 0);
    bytes
}

/// A Negotiate Request or Response with both versions right.
fn greeting(is_request: bool, fields: &[u8; 20]) -> Vec<u8> {
    let mut bytes = vec![0, 1, 0, 1];
    if !is_request {
        bytes.extend([0, 1, 0, 0]);
    }
    bytes.extend(fields);
    if !is_request {
        bytes.extend([0, 0, 2, 0]);
    }
    bytes.truncate(if is_request { 20 } else { 32 });
    bytes
}
