//! Slots, and transfers between them and the client's memory.

use std::ffi::{c_int, c_void};
use std::ptr::with_exposed_provenance_mut;

use libc::iovec;
use smbd_broker::wire::{self, Direction};
use smbd_core::BufferDescriptorV1;

use super::pointers::{bytes, get, pieces, put};
use crate::failure::{Failure, call};
use crate::table;
use crate::types::Transfer;

/// Takes slots for `length` bytes, at most `slots_max`, and says in `slots` where they are and how many bytes of each are needed. Returns how
/// many. `-EAGAIN`: all are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_take_slots(
    broker: c_int,
    length: usize,
    slots: *mut iovec,
    slots_max: usize,
) -> c_int {
    call(|| {
        if slots.is_null() {
            return Err(Failure::new(libc::EINVAL, "slots is NULL"));
        }
        let places = table::owner(broker)?.take(length as u64, slots_max)?;
        for (at, (address, iov_len)) in places.iter().enumerate() {
            let iov_base = with_exposed_provenance_mut::<c_void>(*address);
            // SAFETY: there are at most `slots_max`, for which there is memory by the caller's word.
            unsafe { put(slots.add(at), iovec { iov_base, iov_len: *iov_len }) };
        }
        Ok(c_int::try_from(places.len()).unwrap_or(c_int::MAX))
    })
}

/// Gives slots back. `-EBUSY`: a transfer has one of them; then none is given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_give_slots(
    broker: c_int,
    slots: *const iovec,
    slots_count: usize,
) -> c_int {
    call(|| {
        // SAFETY: a list, by the caller's word.
        let places = unsafe { pieces(slots, slots_count) }?;
        table::owner(broker)?.give(&places).map(|()| 0)
    })
}

/// Reads the client's memory into slots. They are not the caller's until the event `SMBD_BROKER_RDMA_DONE` with this `tag`. `-EAGAIN`: as many
/// transfers are under way as may be.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_rdma_read(
    connection: c_int,
    transfer: *const Transfer,
    tag: *mut u64,
) -> c_int {
    // SAFETY: the caller's word, passed on.
    unsafe { start(connection, Direction::Read, transfer, tag) }
}

/// Writes slots to the client's memory; else as `smbd_broker_rdma_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_rdma_write(
    connection: c_int,
    transfer: *const Transfer,
    tag: *mut u64,
) -> c_int {
    // SAFETY: the caller's word, passed on.
    unsafe { start(connection, Direction::Write, transfer, tag) }
}

unsafe fn start(connection: c_int, direction: Direction, transfer: *const Transfer, tag: *mut u64) -> c_int {
    call(|| {
        // SAFETY: a structure, its list and its descriptors, by the caller's word.
        let (transfer, places, descriptors) = unsafe {
            let transfer = get(transfer, "transfer")?;
            let len = transfer.descriptors_length;
            if len > wire::DESCRIPTORS_MAX * BufferDescriptorV1::LEN || len % BufferDescriptorV1::LEN != 0 {
                let why = "descriptors_length is a multiple of 16, at most 4095 of it";
                return Err(Failure::new(libc::EINVAL, why));
            }
            let places = pieces(transfer.slots, transfer.slots_count)?;
            (transfer, places, bytes(transfer.descriptors, len, "descriptors")?)
        };
        let remote = descriptors.chunks_exact(BufferDescriptorV1::LEN);
        let remote = remote.filter_map(|bytes| BufferDescriptorV1::parse(bytes).ok()).collect();
        let transfer = wire::Transfer { direction, offset: transfer.offset, remote, areas: Vec::new() };
        let started = table::connection(connection)?.start(&places, transfer)?;
        // SAFETY: null, or memory for a number, by the caller's word.
        unsafe { put(tag, started) };
        Ok(0)
    })
}
