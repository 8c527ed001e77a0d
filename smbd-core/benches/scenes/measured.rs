//! The calls that are measured, and nothing else: each entry is one jump into the crate, its arguments are ready.

use bytes::Bytes;
use smbd_core::backend::{self, Protocol};
use smbd_core::error::Misuse;
use smbd_core::wire::{DataTransfer, WireError};
use smbd_core::{Action, Connection, Endpoint, Fragment, Input, Instant, MsgId};

use super::driven::{Program, Wire};

#[inline(never)]
pub fn decode(bytes: &[u8]) -> Result<DataTransfer, WireError> {
    DataTransfer::parse(bytes)
}

#[inline(never)]
pub fn encode(header: &DataTransfer, out: &mut [u8]) -> Result<usize, WireError> {
    header.encode(out)
}

#[inline(never)]
pub fn handle(connection: &mut Connection, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
    connection.handle(now, input)
}

#[inline(never)]
pub fn poll(connection: &mut Connection) -> Action {
    connection.poll_action()
}

#[inline(never)]
pub fn release(connection: &mut Connection, fragment: Fragment) -> Result<(), Misuse> {
    connection.release(super::pair::NOW, fragment)
}

#[inline(never)]
pub fn send(connection: &mut Connection, now: Instant, len: u32) -> MsgId {
    connection.send(now, len, None).expect("room for a message")
}

#[inline(never)]
pub fn send_bytes(endpoint: &mut Endpoint, now: Instant, payload: Bytes) -> MsgId {
    endpoint.send(now, payload, None).expect("room for a message")
}

#[inline(never)]
pub fn drive<C: Protocol>(machine: &mut C, wire: &mut Wire, program: &mut Program) -> Option<Instant> {
    backend::drive(machine, wire, program).expect("a sound backend")
}
