//! A buffer of the initiator, which the acceptor reads, inverts and writes back by RDMA before it returns the message with its
//! descriptor.

use std::sync::Arc;

use bytes::Bytes;
use smbd_core::{BufferDescriptorV1, Token};

use super::hub::Hub;
use crate::Side;
use crate::memory::Range;

/// No other message begins with it.
const MARK: [u8; 4] = *b"RDMA";

/// The message that asks for it.
pub(super) fn request(descriptor: &BufferDescriptorV1) -> Bytes {
    let BufferDescriptorV1 { offset, token, length } = descriptor;
    [&MARK[..], &offset.to_le_bytes(), &token.0.to_le_bytes(), &length.to_le_bytes()].concat().into()
}

/// The buffer to read and to write, if a message asks for that.
pub(super) fn requested(message: &[u8]) -> Option<Arc<[BufferDescriptorV1]>> {
    let (offset, rest) = message.strip_prefix(&MARK)?.split_first_chunk()?;
    let (token, rest) = rest.split_first_chunk()?;
    let length = u32::from_le_bytes(rest.try_into().ok()?);
    let (offset, token) = (u64::from_le_bytes(*offset), Token(u32::from_le_bytes(*token)));
    Some(Arc::new([BufferDescriptorV1 { offset, token, length }]))
}

fn byte(at: u32) -> u8 {
    u8::try_from(at.wrapping_mul(13) % 253).unwrap_or(0)
}

/// The initiator's buffer.
pub(super) fn buffer(hub: &Hub, len: u32) -> Range {
    let bytes: Vec<_> = (0..len).map(byte).collect();
    alloc(hub, Side::Initiator, &bytes)
}

/// Where the acceptor reads to.
pub(super) fn place(hub: &Hub, remote: &[BufferDescriptorV1]) -> Range {
    let len: u32 = remote.iter().map(|descriptor| descriptor.length).sum();
    alloc(hub, Side::Acceptor, &vec![0; len as usize])
}

fn alloc(hub: &Hub, side: Side, bytes: &[u8]) -> Range {
    let mut world = hub.world.borrow_mut();
    let buffers = &mut world.host_mut(side).device.nic.buffers;
    let buffer = buffers.alloc_with(bytes);
    hub.note_buffer(side);
    Range { buffer, offset: 0, len: u32::try_from(bytes.len()).unwrap_or(u32::MAX) }
}

/// Changes every byte of the acceptor's buffer.
pub(super) fn invert(hub: &Hub, range: Range) {
    let mut world = hub.world.borrow_mut();
    let buffers = &mut world.host_mut(Side::Acceptor).device.nic.buffers;
    buffers.bytes_mut(range.buffer).iter_mut().for_each(|byte| *byte = !*byte);
}

/// Whether every byte of the initiator's buffer is there and changed.
pub(super) fn is_inverted(hub: &Hub, range: Range) -> bool {
    let world = hub.world.borrow();
    let bytes = world.host(Side::Initiator).device.nic.buffers.range(range);
    bytes.iter().copied().eq((0..range.len).map(|at| !byte(at)))
}
