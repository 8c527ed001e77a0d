//! The calls that are measured, and nothing else: each entry is one jump into the crate, its arguments are ready.

use std::sync::Arc;

use bytes::Bytes;
use smbd_core::{Access, BufferDescriptorV1, Connection, Endpoint, Instant, MsgId, OpId, RdmaVerb, RegId};
use smbd_link::engine::Engine;

use super::device::{Device, NOW};
use super::poller::Nothing;
use super::side::{Program, Side};

#[inline(never)]
pub fn turn(side: &mut Side<Endpoint>) {
    side.turn();
}

#[inline(never)]
pub fn send(side: &mut Side<Endpoint>, payload: Bytes) -> MsgId {
    side.machine.send(NOW, payload, None).expect("room for a message")
}

#[inline(never)]
pub fn rdma(side: &mut Side<Endpoint>, verb: RdmaVerb, len: u32, remote: Arc<[BufferDescriptorV1]>) -> OpId {
    side.machine.rdma(NOW, verb, len, remote, 0).expect("room for an operation")
}

#[inline(never)]
pub fn register(side: &mut Side<Endpoint>) -> RegId {
    side.machine.register(NOW, Access::Write, 1).expect("room for a registration")
}

#[inline(never)]
pub fn deregister(side: &mut Side<Endpoint>, id: RegId) {
    side.machine.deregister(NOW, id).expect("a registration");
}

#[inline(never)]
pub fn idle(engine: &mut Engine<Program, Connection, Device, Nothing>) {
    engine.poll(Some(Instant::ORIGIN)).expect("a poller");
}

#[inline(never)]
pub fn busy(engine: &mut Engine<Program, Endpoint, Device, Nothing>) {
    engine.poll(Some(Instant::ORIGIN)).expect("a poller");
}
