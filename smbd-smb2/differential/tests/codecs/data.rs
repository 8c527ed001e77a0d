//! Structures that are no element: data of create contexts and headers of encrypted messages, in both directions.

use std::io::Cursor;

use binrw::{BinRead as _, BinWrite as _};
use smb_server::wire::messages as theirs;
use smb2::msg::create_context::{DurableGrant, OnDiskId};
use smb2::msg::transform::TransformHeader;
use smb2::pack::{Pack as _, ReadCursor, Unpack as _, WriteCursor};
use smbd_smb2::wire::*;

use crate::contexts;
use crate::values::{FILE, KEY, PARENT};

/// `smb-msg` reads them in a CREATE only: as messages of `contexts.rs`.
#[test]
fn other_codecs_read_the_data_of_our_create_contexts() {
    let id = QueryOnDiskIdResponse { disk_file_id: 3, volume_id: 2 };
    let read = OnDiskId::from_bytes(&id.to_bytes()).expect("sound");
    assert_eq!((read.disk_file_id, read.volume_id), (3, 2));
    for flags in [DurableHandleFlags::NONE, DurableHandleFlags::PERSISTENT] {
        let granted = DurableHandleResponseV2 { timeout: 60_000, flags };
        let read = DurableGrant::from_bytes(&granted.to_bytes()).expect("sound");
        assert_eq!((read.timeout_ms, read.persistent), (60_000, flags == DurableHandleFlags::PERSISTENT));
    }
    assert!(theirs::DurableRequest::parse(&DurableHandleRequest {}.to_bytes()).is_ok());
    let file = theirs::FileId { persistent: FILE.persistent, volatile: FILE.volatile };
    let read = theirs::DurableReconnect::parse(&DurableHandleReconnect { file_id: FILE }.to_bytes());
    assert_eq!(read.expect("sound").file_id, file);
    let read = theirs::DurableRequestV2::parse(&contexts::durable().to_bytes()).expect("sound");
    assert_eq!((read.timeout_ms, read.flags, read.create_guid), (60_000, 2, KEY.0));
    let read = theirs::DurableReconnectV2::parse(&contexts::reconnect().to_bytes()).expect("sound");
    assert_eq!((read.file_id, read.flags, read.create_guid), (file, 2, KEY.0));
    let read = theirs::LeaseContext::parse(&contexts::lease_v2().to_bytes()).expect("sound");
    let expected = theirs::LeaseContext {
        key: KEY.0,
        state: 3,
        flags: 4,
        parent_key: PARENT.0,
        epoch: 0x1122,
        v2: true,
    };
    assert_eq!(read, expected);
    let read = theirs::LeaseContext::parse(&contexts::lease().to_bytes()).expect("sound");
    assert_eq!((read.key, read.state, read.v2), (KEY.0, 1, false));
}

/// `smb-server` writes and reads the header together with a cipher, and shows neither.
#[test]
fn the_header_of_an_encrypted_message_is_the_same_to_all_codecs_that_have_one() {
    let transform = Transform {
        signature: [0xAA; 16],
        nonce: [0xBB; 16],
        original_message_size: 5,
        flags: TransformFlags::ENCRYPTED,
        session_id: SessionId(0x1122_3344_5566_7788),
        encrypted: b"dark!",
    };
    let mut message = Vec::new();
    transform.write(&mut message).expect("room");

    let mut cursor = ReadCursor::new(&message);
    let read = TransformHeader::unpack(&mut cursor).expect("sound");
    let expected = TransformHeader {
        signature: [0xAA; 16],
        nonce: [0xBB; 16],
        original_message_size: 5,
        flags: 1,
        session_id: smb2::types::SessionId(0x1122_3344_5566_7788),
    };
    assert_eq!(read, expected);
    let mut out = WriteCursor::new();
    expected.pack(&mut out);
    let made = [&out.into_inner()[..], b"dark!"].concat();
    assert_eq!(Transform::parse(&made), Ok(transform));

    let read = smb_msg::EncryptedMessage::read_le(&mut Cursor::new(&message)).expect("sound");
    assert_eq!((read.header.nonce, read.header.session_id), ([0xBB; 16], 0x1122_3344_5566_7788));
    assert_eq!((read.header.signature, &read.encrypted_message[..]), (u128::MAX / 255 * 0xAA, &b"dark!"[..]));
    let header = smb_msg::EncryptedHeader {
        signature: u128::from_le_bytes([0xAA; 16]),
        nonce: [0xBB; 16],
        original_message_size: 5,
        session_id: 0x1122_3344_5566_7788,
    };
    let mut out = Cursor::new(Vec::new());
    let made = smb_msg::EncryptedMessage { header, encrypted_message: b"dark!".to_vec() };
    made.write_le(&mut out).expect("room");
    assert_eq!(Transform::parse(&out.into_inner()), Ok(transform));
}
