//! Credits.

use smbd_conformance::monitor::rules::credits::*;
use smbd_core::wire::Flags;
use smbd_core::wire::data_transfer::field;
use smbd_core::wire::negotiate_response::field as response;
use smbd_sim::decode::Direction;

use super::common::{ADDED, CLIENT_LAST, RESPONSE, SERVER_LAST, empty};
use super::{Case, only};

pub fn cases() -> Vec<Case> {
    vec![
        // The initiator sends 78 data messages, the acceptor grants in its response only.
        only(&SEND_WITHOUT_CREDIT, CLIENT_LAST, |tape| {
            tape.set16(RESPONSE, response::CREDITS_GRANTED, 77);
        }),
        only(&LAST_CREDIT, CLIENT_LAST, |tape| {
            tape.set16(RESPONSE, response::CREDITS_GRANTED, 78);
            tape.set16(CLIENT_LAST, field::CREDITS_GRANTED, 0);
        }),
        only(&ABOVE_REQUESTED, CLIENT_LAST, |tape| {
            tape.set16(CLIENT_LAST, field::CREDITS_GRANTED, 10);
        }),
        only(&OVERFLOW, CLIENT_LAST, |tape| {
            tape.set16(CLIENT_LAST, field::CREDITS_GRANTED, u16::MAX);
        }),
        only(&GRANTS_ANSWER_GRANTS, ADDED + 7, |tape| {
            let mut behind = SERVER_LAST;
            for turn in 0..8 {
                let direction = [Direction::ToAcceptor, Direction::ToInitiator][turn % 2];
                tape.add(behind, direction, empty(1, Flags::NONE));
                behind = ADDED + turn as u64;
            }
        }),
    ]
}
