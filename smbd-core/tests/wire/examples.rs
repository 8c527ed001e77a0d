//! The messages of section 4, byte by byte. Where its text gives a rounded or wrong number, the exact one
//! is used: 65536 bytes in fragments of 1000 leave 64536, 63536, ..., 536 and 0 bytes, and 1000 is 0x3E8.

use std::fmt::Write as _;

use insta::assert_snapshot;
use smbd_core::wire::{
    BufferDescriptorV1, DataTransfer, Layout, NegotiateRequest, NegotiateResponse, Token, WireError,
    data_transfer, descriptor, negotiate_request, negotiate_response, status,
};

/// Offset, bytes, name and value of each field; then the padding, if any.
fn dump(layout: &'static Layout, encode: impl Fn(&mut [u8]) -> Result<usize, WireError>) -> String {
    let mut buffer = [0xEE; 64];
    let len = encode(&mut buffer).unwrap();
    let mut text = String::new();
    for field in layout.fields() {
        line(&mut text, field.range.start, &buffer[field.range.clone()], field.name);
    }
    let end = layout.fields().last().unwrap().range.end;
    if end < len {
        line(&mut text, end, &buffer[end..len], "Padding");
    }
    text
}

fn line(text: &mut String, offset: usize, bytes: &[u8], name: &str) {
    let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    writeln!(text, "{offset:>3}  {:<23}  {name} = {value:#x} ({value})", hex.join(" ")).unwrap();
}

fn data(credits_granted: u16, remaining_data_length: u32, data_length: u32) -> String {
    let header = DataTransfer {
        credits_requested: 10,
        credits_granted,
        remaining_data_length,
        data_offset: 24,
        data_length,
        ..DataTransfer::default()
    };
    dump(&data_transfer::LAYOUT, |out| header.encode(out))
}

fn one_mebibyte(offset: u64, token: u32) -> String {
    let descriptor = BufferDescriptorV1 { offset, token: Token(token), length: 0x0010_0000 };
    dump(&descriptor::LAYOUT, |out| descriptor.encode(out))
}

#[test]
fn negotiate_request_of_4_1() {
    let request = NegotiateRequest {
        min_version: 0x0100,
        max_version: 0x0100,
        credits_requested: 10,
        preferred_send_size: 0x400,
        max_receive_size: 0x400,
        max_fragmented_size: 0x2_0000,
    };
    assert_snapshot!(dump(&negotiate_request::LAYOUT, |out| request.encode(out)), @"
     0  00 01                    MinVersion = 0x100 (256)
     2  00 01                    MaxVersion = 0x100 (256)
     4  00 00                    Reserved = 0x0 (0)
     6  0a 00                    CreditsRequested = 0xa (10)
     8  00 04 00 00              PreferredSendSize = 0x400 (1024)
    12  00 04 00 00              MaxReceiveSize = 0x400 (1024)
    16  00 00 02 00              MaxFragmentedSize = 0x20000 (131072)
    ");
}

#[test]
fn negotiate_response_of_4_1() {
    let response = NegotiateResponse {
        min_version: 0x0100,
        max_version: 0x0100,
        negotiated_version: 0x0100,
        credits_requested: 10,
        credits_granted: 10,
        status: status::SUCCESS,
        max_read_write_size: 0x10_0000,
        preferred_send_size: 0x400,
        max_receive_size: 0x400,
        max_fragmented_size: 0x2_0000,
    };
    assert_snapshot!(dump(&negotiate_response::LAYOUT, |out| response.encode(out)), @"
     0  00 01                    MinVersion = 0x100 (256)
     2  00 01                    MaxVersion = 0x100 (256)
     4  00 01                    NegotiatedVersion = 0x100 (256)
     6  00 00                    Reserved = 0x0 (0)
     8  0a 00                    CreditsRequested = 0xa (10)
    10  0a 00                    CreditsGranted = 0xa (10)
    12  00 00 00 00              Status = 0x0 (0)
    16  00 00 10 00              MaxReadWriteSize = 0x100000 (1048576)
    20  00 04 00 00              PreferredSendSize = 0x400 (1024)
    24  00 04 00 00              MaxReceiveSize = 0x400 (1024)
    28  00 00 02 00              MaxFragmentedSize = 0x20000 (131072)
    ");
}

#[test]
fn a_refused_negotiation_is_all_zero_but_versions_and_status() {
    let response = NegotiateResponse::failure(status::NOT_SUPPORTED);
    assert_snapshot!(dump(&negotiate_response::LAYOUT, |out| response.encode(out)), @"
     0  00 01                    MinVersion = 0x100 (256)
     2  00 01                    MaxVersion = 0x100 (256)
     4  00 00                    NegotiatedVersion = 0x0 (0)
     6  00 00                    Reserved = 0x0 (0)
     8  00 00                    CreditsRequested = 0x0 (0)
    10  00 00                    CreditsGranted = 0x0 (0)
    12  bb 00 00 c0              Status = 0xc00000bb (3221225659)
    16  00 00 00 00              MaxReadWriteSize = 0x0 (0)
    20  00 00 00 00              PreferredSendSize = 0x0 (0)
    24  00 00 00 00              MaxReceiveSize = 0x0 (0)
    28  00 00 00 00              MaxFragmentedSize = 0x0 (0)
    ");
}

#[test]
fn first_data_message_of_4_1() {
    // The example leaves the length open: 256 here.
    assert_snapshot!(data(10, 0, 256), @"
     0  0a 00                    CreditsRequested = 0xa (10)
     2  0a 00                    CreditsGranted = 0xa (10)
     4  00 00                    Flags = 0x0 (0)
     6  00 00                    Reserved = 0x0 (0)
     8  00 00 00 00              RemainingDataLength = 0x0 (0)
    12  18 00 00 00              DataOffset = 0x18 (24)
    16  00 01 00 00              DataLength = 0x100 (256)
    20  00 00 00 00              Padding = 0x0 (0)
    ");
}

#[test]
fn five_hundred_bytes_of_4_2() {
    assert_snapshot!(data(1, 0, 500), @"
     0  0a 00                    CreditsRequested = 0xa (10)
     2  01 00                    CreditsGranted = 0x1 (1)
     4  00 00                    Flags = 0x0 (0)
     6  00 00                    Reserved = 0x0 (0)
     8  00 00 00 00              RemainingDataLength = 0x0 (0)
    12  18 00 00 00              DataOffset = 0x18 (24)
    16  f4 01 00 00              DataLength = 0x1f4 (500)
    20  00 00 00 00              Padding = 0x0 (0)
    ");
}

#[test]
fn first_fragment_of_4_3() {
    assert_snapshot!(data(1, 64536, 1000), @"
     0  0a 00                    CreditsRequested = 0xa (10)
     2  01 00                    CreditsGranted = 0x1 (1)
     4  00 00                    Flags = 0x0 (0)
     6  00 00                    Reserved = 0x0 (0)
     8  18 fc 00 00              RemainingDataLength = 0xfc18 (64536)
    12  18 00 00 00              DataOffset = 0x18 (24)
    16  e8 03 00 00              DataLength = 0x3e8 (1000)
    20  00 00 00 00              Padding = 0x0 (0)
    ");
}

#[test]
fn second_fragment_of_4_3() {
    assert_snapshot!(data(1, 63536, 1000), @"
     0  0a 00                    CreditsRequested = 0xa (10)
     2  01 00                    CreditsGranted = 0x1 (1)
     4  00 00                    Flags = 0x0 (0)
     6  00 00                    Reserved = 0x0 (0)
     8  30 f8 00 00              RemainingDataLength = 0xf830 (63536)
    12  18 00 00 00              DataOffset = 0x18 (24)
    16  e8 03 00 00              DataLength = 0x3e8 (1000)
    20  00 00 00 00              Padding = 0x0 (0)
    ");
}

#[test]
fn last_fragment_of_4_3() {
    assert_snapshot!(data(1, 0, 536), @"
     0  0a 00                    CreditsRequested = 0xa (10)
     2  01 00                    CreditsGranted = 0x1 (1)
     4  00 00                    Flags = 0x0 (0)
     6  00 00                    Reserved = 0x0 (0)
     8  00 00 00 00              RemainingDataLength = 0x0 (0)
    12  18 00 00 00              DataOffset = 0x18 (24)
    16  18 02 00 00              DataLength = 0x218 (536)
    20  00 00 00 00              Padding = 0x0 (0)
    ");
}

#[test]
fn a_message_without_payload_has_no_padding() {
    let header = DataTransfer { credits_requested: 10, credits_granted: 1, ..DataTransfer::default() };
    assert_snapshot!(dump(&data_transfer::LAYOUT, |out| header.encode(out)), @"
     0  0a 00                    CreditsRequested = 0xa (10)
     2  01 00                    CreditsGranted = 0x1 (1)
     4  00 00                    Flags = 0x0 (0)
     6  00 00                    Reserved = 0x0 (0)
     8  00 00 00 00              RemainingDataLength = 0x0 (0)
    12  00 00 00 00              DataOffset = 0x0 (0)
    16  00 00 00 00              DataLength = 0x0 (0)
    ");
}

#[test]
fn write_descriptor_of_4_4() {
    assert_snapshot!(one_mebibyte(0xABCD_E012, 0x1A00_BC56), @"
     0  12 e0 cd ab 00 00 00 00  Offset = 0xabcde012 (2882396178)
     8  56 bc 00 1a              Token = 0x1a00bc56 (436255830)
    12  00 00 10 00              Length = 0x100000 (1048576)
    ");
}

#[test]
fn read_descriptor_of_4_5() {
    assert_snapshot!(one_mebibyte(0x0DCB_A024, 0x1A00_BC57), @"
     0  24 a0 cb 0d 00 00 00 00  Offset = 0xdcba024 (231448612)
     8  57 bc 00 1a              Token = 0x1a00bc57 (436255831)
    12  00 00 10 00              Length = 0x100000 (1048576)
    ");
}
