//! How much memory a connection takes.

use smbd_core::Config;

use crate::ffi;

/// Bytes of a place in the rings that a provider shares with its device, those of the provider that takes most. Rings have
/// room for a power of two, and an entry of rxe takes one too: one of its send queue is 208 bytes with 64 behind it.
const SEND: u64 = 512;
/// The same of a receive: siw takes 112.
const RECEIVE: u64 = 128;
/// The same of a completion.
const COMPLETION: u64 = 64;
/// Bytes that the backend's own tables have for a place of the send queue: a work request of C with its elements, what is kept
/// until it is back, and the record of the work queues.
const SEND_TABLES: u64 = 288;
/// The same of a receive.
const RECEIVE_TABLES: u64 = 128;
/// What an endpoint has for a message that waits to be sent.
const MESSAGE: u64 = 64;
/// File descriptors with what the kernel keeps for this process, heap, and the rest of pages that are not full.
const OTHER: u64 = 48 << 10;

/// Bytes of memory that a connection of this configuration takes in this process, independent of its peer: message
/// buffers, which are pinned for the device, queues, and tables of the core. The memory of the upper layer is not
/// included, nor the messages that an [`Endpoint`](smbd_core::Endpoint) reassembles: up to `max_fragmented_recv_size`
/// bytes.
#[must_use]
pub fn footprint(config: &Config) -> u64 {
    let budget = config.budget();
    let slab = |slots: u32, len: u32| ffi::slab_bytes(slots, len).unwrap_or(u64::MAX);
    // One place of a ring stays free.
    let ring = |entries: u32, place: u64| (u64::from(entries) + 1).next_power_of_two().saturating_mul(place);
    let rings = ring(budget.recv_queue, RECEIVE)
        .saturating_add(ring(budget.send_queue.saturating_add(1), SEND))
        .saturating_add(ring(budget.cq_entries.saturating_add(1), COMPLETION));
    let tables = u64::from(budget.recv_slots)
        .saturating_mul(RECEIVE_TABLES)
        .saturating_add(u64::from(budget.send_queue).saturating_mul(SEND_TABLES))
        .saturating_add(u64::from(config.message_slots).saturating_mul(MESSAGE));
    slab(budget.recv_slots, budget.recv_buffer_len)
        .saturating_add(slab(budget.send_slots, budget.send_buffer_len))
        .saturating_add(rings)
        .saturating_add(tables)
        .saturating_add(budget.core_bytes)
        .saturating_add(OTHER)
}

#[cfg(test)]
mod tests;
