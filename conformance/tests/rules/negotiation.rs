//! The negotiation.

use smbd_conformance::monitor::rules::negotiation::*;
use smbd_core::wire::negotiate_request::field as request;
use smbd_core::wire::negotiate_response::field as response;
use smbd_core::wire::{Flags, NegotiateResponse, NtStatus, status};
use smbd_sim::decode::Direction;

use super::common::{ADDED, GRANT, REQUEST, RESPONSE, SECOND, empty};
use super::{Case, only};

pub fn cases() -> Vec<Case> {
    let mut cases = of_the_request();
    cases.extend(of_the_response());
    cases.extend(of_both());
    cases
}

fn of_the_request() -> Vec<Case> {
    vec![
        only(&REQUEST_TOO_SHORT, REQUEST, |tape| {
            tape.resize(REQUEST, 19).end_after(REQUEST);
        }),
        only(&REQUEST_VERSION, REQUEST, |tape| {
            tape.set16(REQUEST, request::MIN_VERSION, 0);
        }),
        only(&REQUEST_RESERVED, REQUEST, |tape| {
            tape.set16(REQUEST, request::RESERVED, 1);
        }),
        only(&REQUEST_CREDITS, REQUEST, |tape| {
            tape.set16(REQUEST, request::CREDITS_REQUESTED, 0).end_after(REQUEST);
        }),
        only(&REQUEST_MAX_RECEIVE, REQUEST, |tape| {
            tape.set32(REQUEST, request::MAX_RECEIVE_SIZE, 127).end_after(REQUEST);
        }),
        only(&REQUEST_MAX_FRAGMENTED, REQUEST, |tape| {
            tape.set32(REQUEST, request::MAX_FRAGMENTED_SIZE, 131_071).end_after(REQUEST);
        }),
        only(&REQUEST_PREFERRED_SMALL, REQUEST, |tape| {
            tape.set32(REQUEST, request::PREFERRED_SEND_SIZE, 127);
            tape.set32(RESPONSE, response::MAX_RECEIVE_SIZE, 128).end_after(RESPONSE);
        }),
        only(&REQUEST_PREFERRED_LARGE, REQUEST, |tape| {
            tape.set32(REQUEST, request::PREFERRED_SEND_SIZE, 8137);
        }),
    ]
}

fn of_the_response() -> Vec<Case> {
    vec![
        only(&RESPONSE_TOO_SHORT, RESPONSE, |tape| {
            tape.resize(RESPONSE, 31).end_after(RESPONSE);
        }),
        only(&RESPONSE_VERSION, RESPONSE, |tape| {
            tape.set16(RESPONSE, response::MAX_VERSION, 0x0200);
        }),
        only(&RESPONSE_RESERVED, RESPONSE, |tape| {
            tape.set16(RESPONSE, response::RESERVED, 1);
        }),
        only(&RESPONSE_NEGOTIATED_VERSION, RESPONSE, |tape| {
            tape.set16(RESPONSE, response::NEGOTIATED_VERSION, 0x0200);
        }),
        only(&RESPONSE_CREDITS_REQUESTED, RESPONSE, |tape| {
            tape.set16(RESPONSE, response::CREDITS_REQUESTED, 0).end_after(RESPONSE);
        }),
        only(&RESPONSE_CREDITS_GRANTED, RESPONSE, |tape| {
            tape.set16(RESPONSE, response::CREDITS_GRANTED, 0).end_after(RESPONSE);
        }),
        only(&RESPONSE_CREDITS_ABOVE, RESPONSE, |tape| {
            tape.set16(RESPONSE, response::CREDITS_GRANTED, 256);
        }),
        only(&RESPONSE_MAX_READ_WRITE, RESPONSE, |tape| {
            tape.set32(RESPONSE, response::MAX_READ_WRITE_SIZE, 1_048_575);
        }),
        only(&RESPONSE_PREFERRED_SMALL, RESPONSE, |tape| {
            tape.set32(RESPONSE, response::PREFERRED_SEND_SIZE, 127).end_after(RESPONSE);
        }),
        only(&RESPONSE_PREFERRED_ABOVE, RESPONSE, |tape| {
            tape.set32(RESPONSE, response::PREFERRED_SEND_SIZE, 1365);
        }),
        only(&RESPONSE_MAX_RECEIVE, RESPONSE, |tape| {
            tape.set32(RESPONSE, response::MAX_RECEIVE_SIZE, 127).end_after(RESPONSE);
        }),
        only(&RESPONSE_MAX_RECEIVE_ABOVE, RESPONSE, |tape| {
            tape.set32(RESPONSE, response::MAX_RECEIVE_SIZE, 1365);
        }),
        only(&RESPONSE_MAX_FRAGMENTED, RESPONSE, |tape| {
            tape.set32(RESPONSE, response::MAX_FRAGMENTED_SIZE, 131_071);
        }),
        only(&FAILURE_FIELDS, RESPONSE, |tape| {
            let failure = NegotiateResponse::failure(status::INSUFFICIENT_RESOURCES);
            tape.refuse(&NegotiateResponse { credits_requested: 1, ..failure });
        }),
        only(&FAILURE_SEVERITY, RESPONSE, |tape| {
            tape.refuse(&NegotiateResponse::failure(NtStatus(0x8000_0005)));
        }),
    ]
}

fn of_both() -> Vec<Case> {
    vec![
        only(&RESPONSE_BEFORE_REQUEST, RESPONSE, |tape| {
            tape.move_behind(REQUEST, RESPONSE);
        }),
        Case {
            also: Some((&REQUEST_VERSION, REQUEST)),
            ..only(&VERSION_ACCEPTED, RESPONSE, |tape| {
                tape.set16(REQUEST, request::MIN_VERSION, 0x0200).set16(
                    REQUEST,
                    request::MAX_VERSION,
                    0x0200,
                );
            })
        },
        only(&VERSION_REFUSED, RESPONSE, |tape| {
            tape.refuse(&NegotiateResponse::failure(status::NOT_SUPPORTED));
        }),
        Case {
            also: Some((&REQUEST_CREDITS, REQUEST)),
            ..only(&INVALID_REQUEST_ANSWERED, RESPONSE, |tape| {
                tape.set16(REQUEST, request::CREDITS_REQUESTED, 0);
            })
        },
        only(&NEGOTIATION_LATE, RESPONSE, |tape| {
            tape.delay(REQUEST, 6 * SECOND);
        }),
        only(&NEGOTIATION_REPEATED, ADDED, |tape| {
            let again = tape.bytes(REQUEST);
            tape.add(GRANT, Direction::ToAcceptor, again);
        }),
        only(&NEGOTIATION_REPEATED, ADDED, |tape| {
            let again = tape.bytes(RESPONSE);
            tape.add(GRANT, Direction::ToInitiator, again);
        }),
        only(&DATA_BEFORE_ESTABLISHED, ADDED, |tape| {
            tape.add(REQUEST, Direction::ToAcceptor, empty(0, Flags::NONE));
        }),
        only(&DATA_BEFORE_ESTABLISHED, ADDED, |tape| {
            tape.refuse(&NegotiateResponse::failure(status::INSUFFICIENT_RESOURCES));
            tape.add(RESPONSE, Direction::ToInitiator, empty(0, Flags::NONE));
        }),
    ]
}
