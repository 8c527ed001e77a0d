//! Keepalive, RDMA operations and the end.

use smbd_conformance::monitor::rules::behaviour::*;
use smbd_core::wire::Flags;
use smbd_core::wire::data_transfer::field;
use smbd_sim::decode::Direction;

use super::common::{ADDED, CLIENT_LAST, DISCONNECT, RDMA_WRITE, SECOND, SERVER_LAST, empty};
use super::{Case, only};

const ASKS: Flags = Flags::RESPONSE_REQUESTED;

pub fn cases() -> Vec<Case> {
    vec![
        only(&KEEPALIVE_UNANSWERED, ADDED, |tape| {
            tape.add(SERVER_LAST, Direction::ToAcceptor, empty(0, ASKS)).delay(DISCONNECT, 6 * SECOND);
        }),
        only(&KEEPALIVE_LATE, SERVER_LAST, |tape| {
            tape.set16(CLIENT_LAST, field::FLAGS, ASKS.0).delay(SERVER_LAST, 6 * SECOND);
        }),
        only(&KEEPALIVE_ASKS_BACK, ADDED + 1, |tape| {
            tape.add(SERVER_LAST, Direction::ToAcceptor, empty(0, ASKS));
            tape.add(ADDED, Direction::ToInitiator, empty(0, ASKS));
            tape.add(ADDED + 1, Direction::ToAcceptor, empty(0, Flags::NONE)).delay(DISCONNECT, 6 * SECOND);
        }),
        only(&RDMA_TOO_LONG, RDMA_WRITE, |tape| {
            tape.operation(RDMA_WRITE, |operation| operation.length = 8_388_609);
        }),
        only(&RDMA_INVALIDATED, RDMA_WRITE, |tape| {
            // The message before the operation is the READ request that names the token.
            let mut token = 0;
            tape.operation(RDMA_WRITE, |operation| token = operation.token.unwrap().0);
            let request = tape.frame_before(RDMA_WRITE);
            tape.add(request, Direction::ToInitiator, empty(0, Flags::NONE)).invalidate(ADDED, token);
        }),
        only(&AFTER_END, ADDED, |tape| {
            tape.add(DISCONNECT, Direction::ToAcceptor, empty(0, Flags::NONE));
        }),
    ]
}
