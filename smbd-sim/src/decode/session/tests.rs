use super::*;

const REQUEST: [u8; 20] = [0, 1, 0, 1, 0, 0, 255, 0, 0x54, 5, 0, 0, 0x54, 5, 0, 0, 0, 0, 2, 0];

fn response() -> Vec<u8> {
    let mut bytes = vec![0; NegotiateResponse::LEN];
    bytes[..6].copy_from_slice(&[0, 1, 0, 1, 0, 1]);
    bytes
}

fn data(remaining: u32, payload: &[u8]) -> Vec<u8> {
    let header = DataTransfer {
        credits_requested: 1,
        credits_granted: 0,
        flags: smbd_core::wire::Flags::NONE,
        remaining_data_length: remaining,
        data_offset: if payload.is_empty() { 0 } else { 24 },
        data_length: payload.len() as u32,
    };
    let mut bytes = vec![0; header.encoded_len()];
    header.encode(&mut bytes).unwrap();
    bytes.extend_from_slice(payload);
    bytes
}

fn take(session: &mut Session, side: Side, bytes: &[u8]) -> Option<Classified> {
    session.message(side, bytes, bytes.len() as u64)
}

fn name(found: Option<Classified>) -> &'static str {
    found.map_or("foreign", |found| found.body.name())
}

#[test]
fn the_place_decides_from_the_start_whatever_the_bytes_look_like() {
    let mut session = Session::from_start(Side::B, Some(445));
    assert_eq!(name(take(&mut session, Side::B, &data(0, b""))), "negotiate_request");
    assert_eq!(name(take(&mut session, Side::A, &response())), "negotiate_response");
    assert_eq!(name(take(&mut session, Side::A, &response())), "data_transfer");
    assert_eq!(name(take(&mut session, Side::B, &REQUEST)), "data_transfer");
}

#[test]
fn another_port_is_smb_direct_only_if_the_first_message_is_a_negotiate_request() {
    let mut session = Session::from_start(Side::A, Some(4420));
    assert_eq!(name(take(&mut session, Side::A, &REQUEST)), "negotiate_request");
    let mut session = Session::from_start(Side::A, Some(4420));
    assert_eq!(name(take(&mut session, Side::A, &[0x40; 64])), "foreign");
    assert_eq!(name(take(&mut session, Side::A, &REQUEST)), "foreign", "decided once");
}

#[test]
fn in_the_middle_the_shape_decides() {
    for (bytes, expected) in [
        (REQUEST.to_vec(), "negotiate_request"),
        (response(), "negotiate_response"),
        (data(0, b"payload"), "data_transfer"),
        (data(0, b""), "data_transfer"),
        (vec![0xff; 64], "foreign"),
        (vec![0; 3], "foreign"),
    ] {
        let found = take(&mut Session::from_middle(), Side::A, &bytes);
        assert!(found.as_ref().is_none_or(|found| found.identified == Identified::ByShape));
        assert_eq!(name(found), expected, "{bytes:?}");
    }
}

#[test]
fn roles_follow_from_who_negotiates_answers_or_issues_rdma() {
    let mut smb2_response = vec![0; 64];
    smb2_response[..4].copy_from_slice(b"\xfeSMB");
    smb2_response[16] = 1;
    for (bytes, initiator) in
        [(REQUEST.to_vec(), Side::B), (response(), Side::A), (data(0, &smb2_response), Side::A)]
    {
        let mut session = Session::from_middle();
        take(&mut session, Side::B, &bytes).unwrap();
        assert_eq!(session.hint(), Some(initiator));
    }
    let mut session = Session::from_middle();
    session.rdma_request(Side::A);
    assert_eq!(session.hint(), Some(Side::B));
}

#[test]
fn a_fragment_knows_its_place_and_an_empty_message_in_between_has_none() {
    let mut session = Session::from_start(Side::A, Some(445));
    take(&mut session, Side::A, &REQUEST);
    let mut place = |bytes: &[u8]| take(&mut session, Side::A, bytes).unwrap().fragment;
    assert_eq!(place(&data(7, b"abc")), Some(Fragment { index: 1, offset: 0, total: 10, last: false }));
    assert_eq!(place(&data(0, b"")), None);
    assert_eq!(place(&data(5, b"de")), Some(Fragment { index: 2, offset: 3, total: 10, last: false }));
    assert_eq!(place(&data(0, b"fghij")), Some(Fragment { index: 3, offset: 5, total: 10, last: true }));
    assert_eq!(place(&data(0, b"whole")), None);
}

#[test]
fn what_contradicts_the_headers_is_remarked() {
    let mut session = Session::from_start(Side::A, Some(445));
    take(&mut session, Side::A, &REQUEST);
    let mut remarks = |bytes: &[u8]| take(&mut session, Side::A, bytes).unwrap().remarks.join("; ");
    assert_eq!(remarks(&data(7, b"abc")), "");
    assert_eq!(remarks(&data(5, b"d")), "DataLength + RemainingDataLength is 6, the sequence has 7 left");
    assert_eq!(remarks(&data(0, b"efghi")), "");
    assert_eq!(remarks(&data(3, b"")), "RemainingDataLength without data");
    let mut outside = data(0, b"abc");
    outside[16] = 200;
    assert_eq!(remarks(&outside), "DataOffset + DataLength is 224, the message has 27");
    let mut inside = data(0, b"abc");
    inside[12] = 19;
    assert_eq!(remarks(&inside), "DataOffset lies inside the header");
    let mut flags = data(0, b"abc");
    flags[4] = 0x12;
    assert_eq!(remarks(&flags), "Flags has unknown bits 0x0012");
}

#[test]
fn lengths_at_the_limit_of_32_bits_are_added_in_64() {
    let mut session = Session::from_start(Side::A, Some(445));
    take(&mut session, Side::A, &REQUEST);
    let mut bytes = data(0, b"abc");
    bytes[8..20].fill(0xff);
    let found = take(&mut session, Side::A, &bytes).unwrap();
    assert_eq!(found.fragment.unwrap().total, 2 * u64::from(u32::MAX));
    assert_eq!(found.remarks, ["DataOffset + DataLength is 8589934590, the message has 27"]);
}

#[test]
fn after_a_loss_the_next_fragment_does_not_pretend_to_be_the_first() {
    let mut session = Session::from_start(Side::A, Some(445));
    take(&mut session, Side::A, &REQUEST);
    take(&mut session, Side::A, &data(7, b"abc"));
    session.lost(Side::A);
    let found = take(&mut session, Side::A, &data(5, b"de")).unwrap();
    assert_eq!(found.fragment, Some(Fragment { index: 0, offset: 0, total: 7, last: false }));
    assert_eq!((found.upper, found.remarks), (None, Vec::new()));
    // An SMB header begins a message in any case.
    session.lost(Side::A);
    let found = take(&mut session, Side::A, &data(5, b"\xfeSMB")).unwrap();
    assert_eq!(found.fragment.map(|fragment| fragment.index), Some(1));
}

#[test]
fn a_negotiation_that_is_cut_is_malformed_and_says_why() {
    let mut session = Session::from_start(Side::A, Some(445));
    let found = take(&mut session, Side::A, &REQUEST[..13]).unwrap();
    let Body::Malformed(error) = found.body else { panic!("{:?}", found.body) };
    assert!(error.to_string().contains("Negotiate Request"), "{error}");
    let cut = session.message(Side::B, &response(), 40).unwrap();
    assert_eq!(cut.remarks, ["8 of 40 bytes are not in the capture"]);
}
