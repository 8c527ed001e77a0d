//! What the field tables and the errors drawn from them say.

use insta::assert_snapshot;
use smbd_core::wire::{
    BufferDescriptorV1, BufferDescriptors, DataTransfer, Layout, NegotiateRequest, NegotiateResponse,
    NtStatus, Token, WireError, data_transfer, descriptor, encode_all, ird_ord, negotiate_request,
    negotiate_response, status,
};

type Parse = fn(&[u8]) -> Option<WireError>;

/// Each message with its length and the error of its parser, if any.
fn messages() -> [(&'static Layout, usize, Parse); 5] {
    [
        (&negotiate_request::LAYOUT, 20, |bytes| NegotiateRequest::parse(bytes).err()),
        (&negotiate_response::LAYOUT, 32, |bytes| NegotiateResponse::parse(bytes).err()),
        (&data_transfer::LAYOUT, 20, |bytes| DataTransfer::parse(bytes).err()),
        (&descriptor::LAYOUT, 16, |bytes| BufferDescriptorV1::parse(bytes).err()),
        (&ird_ord::LAYOUT, 8, |bytes| ird_ord::IrdOrd::parse(bytes).err()),
    ]
}

#[test]
fn fields_follow_each_other_without_gaps_and_fill_the_message() {
    for (layout, len, _) in messages() {
        let end = layout.fields().fold(0, |end, field| {
            assert_eq!(field.range.start, end, "{}: {}", field.message, field.name);
            field.range.end
        });
        assert_eq!(end, len, "{}", layout.fields().next().unwrap().message);
    }
}

#[test]
fn every_length_that_is_too_short_names_the_first_field_that_is_not_there() {
    for (layout, len, parse) in messages() {
        for got in 0..len {
            let bytes = vec![0x11; got];
            let Some(WireError::Truncated { field, offset, needed, got: told }) = parse(&bytes) else {
                panic!("{got} bytes were taken for a message of {len}");
            };
            assert_eq!((offset, told), (field.range.start, got));
            assert!(offset + needed > got, "{} is there", field.name);
            for earlier in layout.fields().take_while(|earlier| *earlier != field) {
                assert!(earlier.range.end <= got, "{} is missing as well", earlier.name);
            }
        }
        assert_eq!(parse(&vec![0x11; len]), None);
    }
}

#[test]
fn the_tables_say_what_the_specification_says() {
    let mut text = String::new();
    for (layout, _, _) in messages() {
        let first = layout.fields().next().unwrap();
        text += &format!("{} ({})\n", first.message, first.section);
        for field in layout.fields() {
            text += &format!("  {:>2}..{:<2}  {}\n", field.range.start, field.range.end, field.name);
        }
    }
    assert_snapshot!(text, @"
    Negotiate Request (2.2.1)
       0..2   MinVersion
       2..4   MaxVersion
       4..6   Reserved
       6..8   CreditsRequested
       8..12  PreferredSendSize
      12..16  MaxReceiveSize
      16..20  MaxFragmentedSize
    Negotiate Response (2.2.2)
       0..2   MinVersion
       2..4   MaxVersion
       4..6   NegotiatedVersion
       6..8   Reserved
       8..10  CreditsRequested
      10..12  CreditsGranted
      12..16  Status
      16..20  MaxReadWriteSize
      20..24  PreferredSendSize
      24..28  MaxReceiveSize
      28..32  MaxFragmentedSize
    Data Transfer (2.2.3)
       0..2   CreditsRequested
       2..4   CreditsGranted
       4..6   Flags
       6..8   Reserved
       8..12  RemainingDataLength
      12..16  DataOffset
      16..20  DataLength
    Buffer Descriptor V1 (2.2.3.1)
       0..8   Offset
       8..12  Token
      12..16  Length
    IRD/ORD Negotiate Header (6.1)
       0..4   IRD
       4..8   ORD
    ");
}

#[test]
fn a_truncated_message_is_described_in_one_sentence() {
    let texts: Vec<_> = [0, 1, 2, 7, 13, 19]
        .map(|got| NegotiateRequest::parse(&[0; 20][..got]).unwrap_err().to_string())
        .into();
    assert_snapshot!(texts.join("\n"), @"
    Negotiate Request: MinVersion at offset 0 needs 2 bytes, message has 0 (2.2.1)
    Negotiate Request: MinVersion at offset 0 needs 2 bytes, message has 1 (2.2.1)
    Negotiate Request: MaxVersion at offset 2 needs 2 bytes, message has 2 (2.2.1)
    Negotiate Request: CreditsRequested at offset 6 needs 2 bytes, message has 7 (2.2.1)
    Negotiate Request: MaxReceiveSize at offset 12 needs 4 bytes, message has 13 (2.2.1)
    Negotiate Request: MaxFragmentedSize at offset 16 needs 4 bytes, message has 19 (2.2.1)
    ");
}

#[test]
fn an_incomplete_last_descriptor_is_placed_within_the_array() {
    let texts: Vec<_> = [1, 17, 24, 31, 44]
        .map(|got| BufferDescriptors::new(&[0; 64][..got]).unwrap_err().to_string())
        .into();
    assert_snapshot!(texts.join("\n"), @"
    Buffer Descriptor V1: Offset at offset 0 needs 8 bytes, message has 1 (2.2.3.1)
    Buffer Descriptor V1: Offset at offset 16 needs 8 bytes, message has 17 (2.2.3.1)
    Buffer Descriptor V1: Token at offset 24 needs 4 bytes, message has 24 (2.2.3.1)
    Buffer Descriptor V1: Length at offset 28 needs 4 bytes, message has 31 (2.2.3.1)
    Buffer Descriptor V1: Length at offset 44 needs 4 bytes, message has 44 (2.2.3.1)
    ");
}

#[test]
fn an_output_buffer_too_small_is_described_and_left_alone() {
    let data = DataTransfer { data_offset: 24, ..DataTransfer::default() };
    let one = BufferDescriptorV1 { offset: 1, token: Token(2), length: 3 };
    let mut out = [0xEE; 31];
    let errors = [
        DataTransfer::default().encode(&mut out[..19]),
        data.encode(&mut out[..23]),
        NegotiateResponse::failure(status::NOT_SUPPORTED).encode(&mut out),
        one.encode(&mut out[..15]),
        encode_all(&[one, one], &mut out),
    ];
    let texts: Vec<_> = errors.map(|error| error.unwrap_err().to_string()).into();
    assert_eq!(out, [0xEE; 31]);
    assert_snapshot!(texts.join("\n"), @"
    Data Transfer: encoding needs 20 bytes, buffer has 19 (2.2.3)
    Data Transfer: encoding needs 24 bytes, buffer has 23 (2.2.3)
    Negotiate Response: encoding needs 32 bytes, buffer has 31 (2.2.2)
    Buffer Descriptor V1: encoding needs 16 bytes, buffer has 15 (2.2.3.1)
    Buffer Descriptor V1: encoding needs 32 bytes, buffer has 31 (2.2.3.1)
    ");
}

#[test]
fn a_status_shows_its_name_and_number() {
    let all = [status::SUCCESS, status::NOT_SUPPORTED, status::INSUFFICIENT_RESOURCES, NtStatus(0x4000_0001)];
    let texts: Vec<_> = all.map(|status| format!("{status}: success {}", status.is_success())).into();
    assert_snapshot!(texts.join("\n"), @"
    STATUS_SUCCESS (0x00000000): success true
    STATUS_NOT_SUPPORTED (0xC00000BB): success false
    STATUS_INSUFFICIENT_RESOURCES (0xC000009A): success false
    NTSTATUS (0x40000001): success false
    ");
}

#[test]
fn a_token_shows_as_a_number_in_hex() {
    assert_snapshot!(format!("{0} {0:?}", Token(0x001A_00BC)), @"0x001a00bc Token(0x001a00bc)");
}
