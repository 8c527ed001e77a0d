//! How much memory a connection takes.

use smbd_core::Config;

use crate::ffi;

/// Bytes of a work request in the rings that a provider shares with its device, more rather than less: rxe takes 208 for one
/// of the send queue with two elements, siw 192.
const WORK_REQUEST: u64 = 256;
/// The same of a completion.
const COMPLETION: u64 = 64;
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
    let rings = u64::from(budget.recv_queue)
        .saturating_add(budget.send_queue.into())
        .saturating_mul(WORK_REQUEST)
        .saturating_add(u64::from(budget.cq_entries).saturating_mul(COMPLETION));
    slab(budget.recv_slots, budget.recv_buffer_len)
        .saturating_add(slab(budget.send_slots, budget.send_buffer_len))
        .saturating_add(rings)
        .saturating_add(budget.core_bytes)
        .saturating_add(OTHER)
}

#[cfg(test)]
mod tests {
    use super::footprint;
    use smbd_core::{Config, Params};

    #[test]
    fn it_is_that_of_the_slots_and_a_little() {
        let config = Config::try_from(Params::windows()).unwrap();
        let slots = 288 * 8192 + 255 * 1408;
        let more = footprint(&config) - slots;
        assert!((100_000..400_000).contains(&more), "{more}");
    }
}
