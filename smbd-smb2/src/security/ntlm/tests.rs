//! The values of MS-NLMP 4.2.4, and an authentication that Windows published.

use alloc::string::ToString;

use super::super::hex::hex;
use super::super::negotiate_flags::NegotiateFlags;
use super::super::secret::Key;
use super::authenticate::AuthenticateMessage;
use super::av::AvPairs;
use super::challenge::ChallengeMessage;
use super::key::{NtHash, rc4};
use super::response::{Response, base_key, lm_response, nt_response, proof};
use super::session::Session;
use crate::side::Side;

const SERVER_CHALLENGE: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
const CLIENT_CHALLENGE: [u8; 8] = [0xaa; 8];

/// 4.2.4.3.
const CHALLENGE: &str = "4e544c4d53535000020000000c000c003800000033828ae20123456789abcdef
    00000000000000002400240044000000060070170000000f53006500720076006500720002000c0044006f006d0061
    0069006e0001000c005300650072007600650072000000 0000";
const AUTHENTICATE: &str = "4e544c4d5353500003000000180018006c00000054005400840000000c000c00
    480000000800080054000000100010005c00000010001000d8000000358288e20501280a0000000f44006f006d0061
    0069006e00550073006500720043004f004d005000550054004500520086c35097ac9cec102554764a57cccc19aaaa
    aaaaaaaaaaaa68cd0ab851e51c96aabc927bebef6a1c01010000000000000000000000000000aaaaaaaaaaaaaaaa00
    00000002000c0044006f006d00610069006e0001000c005300650072007600650072000000000000000000c5dad254
    4fc9799094ce1ce90bc9d03e";

fn response_key() -> Key<16> {
    NtHash::of_password("Password").response_key("User".into(), "Domain".into())
}

#[test]
fn the_keys_and_responses_are_those_of_4_2_4() {
    let key = response_key();
    assert_eq!(key.bytes()[..], hex("0c868a403bfd7a93a3001ef22ef02e3f"));
    let challenge = hex(CHALLENGE);
    let challenge = ChallengeMessage::parse(&challenge).unwrap();
    assert_eq!(challenge.challenge, SERVER_CHALLENGE);
    assert_eq!(challenge.target_name.to_string(), "Server");
    let pairs = AvPairs::parse(challenge.target_info).unwrap();
    assert_eq!(pairs.iter().count(), 2);

    let nt = nt_response(&key, SERVER_CHALLENGE, CLIENT_CHALLENGE, 0, challenge.target_info);
    assert_eq!(nt[..16], hex("68cd0ab851e51c96aabc927bebef6a1c"));
    let lm = lm_response(&key, SERVER_CHALLENGE, CLIENT_CHALLENGE);
    assert_eq!(lm, hex("86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa"));
    let base = base_key(&key, nt.first_chunk().unwrap());
    assert_eq!(base.bytes()[..], hex("8de40ccadbc14a82f15cb0ad0de95ca3"));
    let mut exchanged = [0x55; 16];
    rc4(base.bytes(), &mut exchanged);
    assert_eq!(exchanged[..], hex("c5dad2544fc9799094ce1ce90bc9d03e"));
}

#[test]
fn the_messages_of_4_2_4_are_read_and_written_again() {
    let authenticate = hex(AUTHENTICATE);
    let message = AuthenticateMessage::parse(&authenticate).unwrap();
    assert_eq!((message.user.to_string(), message.domain.to_string()), ("User".into(), "Domain".into()));
    assert_eq!(message.workstation.to_string(), "COMPUTER");
    let response = Response::parse(message.nt_response).unwrap();
    assert_eq!(proof(&response_key(), SERVER_CHALLENGE, response.proved), response.proof);
    let again = message.write().unwrap();
    assert_eq!(AuthenticateMessage::parse(&again), Ok(message));

    let challenge = hex(CHALLENGE);
    let message = ChallengeMessage::parse(&challenge).unwrap();
    let again = message.write().unwrap();
    assert_eq!(ChallengeMessage::parse(&again), Ok(message));
}

/// 4.2.4.4: the checksum of a message that is sealed, so that it is encrypted with the bytes of RC4 behind those for the message. It is
/// compared before it is encrypted.
#[test]
fn the_checksum_of_a_message_is_that_of_4_2_4_4() {
    let flags = NegotiateFlags::of(&[
        NegotiateFlags::SIGN,
        NegotiateFlags::EXTENDED_SESSIONSECURITY,
        NegotiateFlags::KEY_128,
    ]);
    let session = Session::new(Key::new([0x55; 16]), flags);
    let message = hex("50006c00610069006e007400650078007400");
    let signature = session.sign(Side::Client, &message).unwrap();
    assert_eq!(signature[..], hex("0100000070352851f256430900000000"));

    // All of it: RC4 goes on behind the message.
    let key =
        super::key::md5(&[&[0x55; 16], b"session key to client-to-server sealing key magic constant\0"]);
    assert_eq!(key.bytes()[..], hex("59f600973cc4960a25480a7c196e4c58"));
    let mut stream = message;
    stream.extend_from_slice(&signature[4..12]);
    rc4(key.bytes(), &mut stream);
    assert_eq!(stream, hex("54e50165bf1936dc996020c1811b0f06fb5f 7fb38ec5c55d4976"));
}

/// Published by Microsoft: "SMB 3.1.1 Pre-authentication integrity in Windows 10", 2015, with the key that came of it.
mod windows {
    pub const NEGOTIATE: &str =
        "4E544C4D5353500001000000978208E200000000000000000000000000000000060380250000000F";
    pub const CHALLENGE: &str =
        "4E544C4D53535000020000000C000C003800000015828AE20D1D8BA31179D0080000000000000000
        50005000440000000A0092270000000F53005500540033003100310002000C005300550054003300310031
        0001000C0053005500540033003100310004000C0053005500540033003100310003000C00530055005400
        33003100310007000800A1A1F5ADCBAED00100000000";
    pub const AUTHENTICATE: &str = "4E544C4D53535000030000001800180090000000EE00EE00A80000000C000C0058000000
        1A001A0064000000120012007E0000001000100096010000158288E2060380250000000FECAC77A5F385A8
        BF9C38C706EEEDDCD3530055005400330031003100610064006D0069006E0069007300740072006100
        74006F00720044005200490056004500520033003100310000000000000000000000000000000000000000
        000000000063078EB639FE03E20A231C3AE3BF23080101000000000000A1A1F5ADCBAED001BC4AD05F223C
        C90F0000000002000C0053005500540033003100310001000C0053005500540033003100310004000C0053
        005500540033003100310003000C0053005500540033003100310007000800A1A1F5ADCBAED00106000400
        020000000800300030000000000000000000000000300000B61FEFCAA857EA57BF1EDCEBF8974B8E0EBA5A
        6DFD9D07A31D11B548F8C9D0CC0A001000000000000000000000000000000000000900160063006900660073
        002F005300550054003300310031000000000000000000000000003B9BDFF38F5EE8F9663F11A0F4C03A78";
    pub const MECH_TYPES: &str = "300C060A2B06010401823702020A";
    pub const MECH_LIST_MIC: &str = "0100000063775A9A5FD97F0600000000";
    pub const KEY: &str = "270E1BA896585EEB7AF3472D3B4C75A7";
}

#[test]
fn the_mics_of_windows_are_right_under_the_key_that_it_published() {
    let authenticate = hex(windows::AUTHENTICATE);
    let message = AuthenticateMessage::parse(&authenticate).unwrap();
    assert_eq!(message.user.to_string(), "administrator");
    let response = Response::parse(message.nt_response).unwrap();
    assert!(response.pairs.has_mic());
    assert_eq!(response.pairs.timestamp(), Some(response.time));

    let key = Key::new(hex(windows::KEY).try_into().unwrap());
    let session = Session::new(key, message.flags);
    let (mic, without) = AuthenticateMessage::without_mic(&authenticate).unwrap();
    assert_eq!(session.messages(&[&hex(windows::NEGOTIATE), &hex(windows::CHALLENGE), &without]), mic);
    let list = hex(windows::MECH_TYPES);
    session.verify(Side::Client, &list, &hex(windows::MECH_LIST_MIC)).unwrap();
    session.verify(Side::Server, &list, &hex(windows::MECH_LIST_MIC)).unwrap_err();
}
