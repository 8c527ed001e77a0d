//! Data messages and sequences of them.

use smbd_conformance::monitor::rules::data::*;
use smbd_core::wire::data_transfer::field;
use smbd_core::wire::negotiate_request::field as request;
use smbd_core::wire::{DataTransfer, Flags};
use smbd_sim::decode::Direction;

use super::common::{
    ADDED, BEFORE_FRAGMENTS, CLIENT_DATA, CLIENT_LAST, FRAGMENTS, GRANT, REQUEST, SERVER_DATA, empty, encoded,
};
use super::{Case, only};

pub fn cases() -> Vec<Case> {
    let mut cases = of_fields();
    cases.extend(of_sizes());
    cases.extend(of_sequences());
    cases
}

fn of_fields() -> Vec<Case> {
    vec![
        only(&TOO_SHORT, CLIENT_DATA, |tape| {
            tape.resize(CLIENT_DATA, 19);
        }),
        only(&CREDITS_REQUESTED, CLIENT_DATA, |tape| {
            tape.set16(CLIENT_DATA, field::CREDITS_REQUESTED, 0);
        }),
        only(&UNKNOWN_FLAGS, CLIENT_DATA, |tape| {
            tape.set16(CLIENT_DATA, field::FLAGS, 2);
        }),
        only(&RESERVED, CLIENT_DATA, |tape| {
            tape.set16(CLIENT_DATA, field::RESERVED, 1);
        }),
        only(&EMPTY_RESERVED, GRANT, |tape| {
            tape.set16(GRANT, field::RESERVED, 1);
        }),
        only(&EMPTY_OFFSET, GRANT, |tape| {
            tape.set32(GRANT, field::DATA_OFFSET, 8);
        }),
        only(&EMPTY_LENGTH, GRANT, |tape| {
            tape.resize(GRANT, 24);
        }),
        only(&OFFSET_ALIGNMENT, CLIENT_DATA, |tape| {
            tape.edit(CLIENT_DATA, |bytes| _ = bytes.splice(24..24, [0; 4]));
            tape.set32(CLIENT_DATA, field::DATA_OFFSET, 28);
        }),
        only(&OFFSET_IN_HEADER, CLIENT_DATA, |tape| {
            tape.set32(CLIENT_DATA, field::DATA_OFFSET, 16);
        }),
        only(&PADDING, CLIENT_DATA, |tape| {
            tape.edit(CLIENT_DATA, |bytes| bytes[23] = 1);
        }),
    ]
}

fn of_sizes() -> Vec<Case> {
    vec![
        only(&BEYOND_MESSAGE, CLIENT_DATA, |tape| {
            tape.set32(CLIENT_DATA, field::DATA_LENGTH, 217);
        }),
        // In 32 bits offset and length are 23 together.
        only(&BEYOND_MESSAGE, CLIENT_DATA, |tape| {
            tape.set32(CLIENT_DATA, field::DATA_LENGTH, u32::MAX);
        }),
        only(&BEYOND_MESSAGE, CLIENT_DATA, |tape| {
            tape.set32(CLIENT_DATA, field::DATA_OFFSET, 0x8000_0000);
        }),
        only(&OVER_MAX_RECEIVE, CLIENT_DATA, |tape| {
            tape.set32(REQUEST, request::PREFERRED_SEND_SIZE, 2000).resize(CLIENT_DATA, 1365);
        }),
        only(&OVER_PREFERRED, SERVER_DATA, |tape| {
            tape.set32(REQUEST, request::MAX_RECEIVE_SIZE, 2000).resize(SERVER_DATA, 1365);
        }),
        only(&OVER_MAX_FRAGMENTED, CLIENT_LAST, |tape| {
            // 68 bytes of payload.
            tape.set32(CLIENT_LAST, field::REMAINING_DATA_LENGTH, 173_910 - 67);
        }),
    ]
}

fn of_sequences() -> Vec<Case> {
    vec![
        only(&FRAGMENT_WITHOUT_DATA, ADDED, |tape| {
            let nothing = DataTransfer {
                credits_requested: 255,
                remaining_data_length: 344,
                ..DataTransfer::default()
            };
            tape.add(BEFORE_FRAGMENTS, Direction::ToAcceptor, encoded(&nothing));
        }),
        only(&SEQUENCE_REMAINING, FRAGMENTS[1], |tape| {
            tape.set32(FRAGMENTS[0], field::REMAINING_DATA_LENGTH, 193);
        }),
        // The end comes too early.
        only(&SEQUENCE_REMAINING, FRAGMENTS[1], |tape| {
            tape.set32(FRAGMENTS[1], field::REMAINING_DATA_LENGTH, 0);
        }),
        only(&SEQUENCE_INTERRUPTED, ADDED, |tape| {
            tape.add(FRAGMENTS[0], Direction::ToAcceptor, empty(0, Flags::NONE));
        }),
        only(&INVALIDATE_REPEATED, FRAGMENTS[2], |tape| {
            tape.invalidate(FRAGMENTS[0], 1).invalidate(FRAGMENTS[2], 2);
        }),
    ]
}
