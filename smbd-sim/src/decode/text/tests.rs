use super::*;
use crate::capture::{IwarpWriter, Link, Remote, RoceWriter, SendOptions, Side, Transport, Writer};
use crate::decode;
use smbd_core::wire::Token;

/// One of each, with the fields of a real negotiation.
fn example<T: Transport>(mut writer: Writer<Vec<u8>, T>) -> String {
    let request = NegotiateRequest {
        min_version: 0x0100,
        max_version: 0x0100,
        credits_requested: 255,
        preferred_send_size: 1364,
        max_receive_size: 1364,
        max_fragmented_size: 131_072,
    };
    let mut bytes = [0; 64];
    let len = request.encode(&mut bytes).unwrap();
    writer.connect(0, &[0, 0, 0, 8]).unwrap();
    writer.accept(1_000_000, &[]).unwrap();
    writer.send(2_000_000, Side::Initiator, &bytes[..len], SendOptions::default()).unwrap();
    let failure = NegotiateResponse::failure(smbd_core::wire::status::NOT_SUPPORTED);
    let len = failure.encode(&mut bytes).unwrap();
    writer.send(3_000_000, Side::Acceptor, &bytes[..len], SendOptions::default()).unwrap();
    let header = DataTransfer {
        credits_requested: 10,
        credits_granted: 2,
        flags: Flags::RESPONSE_REQUESTED,
        remaining_data_length: 100,
        data_offset: 24,
        data_length: 64,
    };
    let mut message = vec![0; 24 + 64];
    header.encode(&mut message).unwrap();
    message[24..28].copy_from_slice(b"\xfeSMB");
    let options = SendOptions { invalidate: Some(Token(0x77)), solicited: true };
    writer.send(4_000_000, Side::Initiator, &message, options).unwrap();
    let remote = Remote { token: Token(0xbeef), address: 0x7f00_0000_1000 };
    writer.write(5_000_000, Side::Acceptor, remote, &[1; 9000]).unwrap();
    writer.read_request(6_000_000, Side::Acceptor, remote, 5000).unwrap();
    writer.read_response(7_000_000, Side::Initiator, &[2; 5000]).unwrap();
    writer.disconnect(8_000_000, Side::Initiator).unwrap();
    report(&decode::read(writer.finish().unwrap().as_slice())).to_string()
}

#[test]
fn a_roce_connection_as_text() {
    insta::assert_snapshot!(example(RoceWriter::roce(Vec::new(), Link::roce()).unwrap()));
}

#[test]
fn an_iwarp_connection_as_text() {
    insta::assert_snapshot!(example(IwarpWriter::iwarp(Vec::new(), Link::iwarp()).unwrap()));
}
