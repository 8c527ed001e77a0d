use proptest::prelude::*;

use super::*;

const GUID: Guid =
    Guid([0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff]);

fn request() -> NegotiateRequest {
    NegotiateRequest::new(GUID)
}

fn response() -> NegotiateResponse {
    NegotiateResponse::to(&request(), GUID, 8 << 20, 133_000_000_000_000_000).expect("3.1.1 is offered")
}

#[test]
fn a_guid_is_written_as_others_write_it() {
    assert_eq!(GUID.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
}

#[test]
fn request_and_response_are_read_as_they_were_written() {
    assert_eq!(NegotiateRequest::parse(&request().encode(&[7; 32])), Ok(request()));
    let read = Response::parse(&response().encode(&[7; 32]), &request());
    assert_eq!(read, Ok(Response::Agreed(response())));
    assert_eq!(response().cipher, Some(Cipher::AES_128_GCM));
}

#[test]
fn a_refusal_is_told_from_nonsense() {
    let mut refusal = response().encode(&[7; 32]).to_vec();
    refusal[8..12].copy_from_slice(&0xC000_00BB_u32.to_le_bytes());
    assert_eq!(
        Response::parse(&refusal, &request()).unwrap_err().to_string(),
        "ERROR Response: StructureSize is 65, expected 9 (2.2.2)"
    );
    refusal[64..66].copy_from_slice(&9_u16.to_le_bytes());
    // No contexts, and no data.
    refusal[66..72].fill(0);
    assert_eq!(
        Response::parse(&refusal, &request()),
        Ok(Response::Error(ErrorResponse { status: 0xC000_00BB }))
    );
}

#[test]
fn nonsense_is_named_with_its_value() {
    let good = response().encode(&[7; 32]);
    let with = |at: usize, value: u16| {
        let mut bytes = good.to_vec();
        bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        Response::parse(&bytes, &request()).unwrap_err().to_string()
    };
    assert_eq!(with(68, 0x02ff), "DialectRevision is 0x2ff, expected a dialect that was offered");
    assert_eq!(with(68, 0x0312), "DialectRevision is 0x312, expected a dialect that was offered");
    assert_eq!(with(98, 0), "MaxReadSize is 0x0, expected at least 4096");
    assert_eq!(
        with(120, 9999),
        "NEGOTIATE Response: SecurityBufferLength says 74 bytes at 9999, and there are 268 bytes (2.2.4)"
    );
    assert_eq!(
        with(124, 9998),
        "NEGOTIATE Response: NegotiateContextOffset is 9998, which is not a multiple of 8 (2.2.4)"
    );
    assert_eq!(with(24, 1), "MessageId is 0x1, expected that of the request");
    assert_eq!(with(12, 1), "Command is 0x1, expected NEGOTIATE (0)");
    assert_eq!(Response::parse(&request().encode(&[0; 32]), &request()), Err(Nonsense::Echo));
    assert_eq!(
        Response::parse(b"HTTP/1.1 400", &request()).unwrap_err().to_string(),
        "SMB2 header: Command ends at 14, and there are 12 bytes (2.2.1)"
    );
}

#[test]
fn the_offer_to_log_on_is_what_servers_send() {
    // The 74 bytes a Linux server sends as its whole offer.
    let offer = ntlmssp_offer();
    assert_eq!(offer.len(), 74);
    assert_eq!(offer[..4], [0x60, 0x48, 0x06, 0x06]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        _ = Response::parse(&bytes, &request());
        _ = NegotiateRequest::parse(&bytes);
    }

    #[test]
    fn damage_is_read_without_harm(at in 0..268_usize, byte: u8, cut in 0..268_usize) {
        let mut damaged = response().encode(&[7; 32]).to_vec();
        damaged[at] = byte;
        _ = Response::parse(&damaged[..cut], &request());
        _ = Response::parse(&damaged, &request());
        let mut damaged = request().encode(&[7; 32]).to_vec();
        let at = at % damaged.len();
        damaged[at] = byte;
        _ = NegotiateRequest::parse(&damaged);
    }
}
