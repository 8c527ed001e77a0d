//! Fits a configuration to a device: the depths of the queues, and the resulting limits.

use smbd_core::{Budget, Limits};

use crate::ffi::{Granted, Sizes};
use crate::quirks::Quirks;
use crate::{DeviceAttributes, Error};

/// Longest RDMA request: the longest message of every InfiniBand and RoCE device is 2^31 bytes, that of siw 2^30.
const RDMA_LEN_MAX: u32 = 1 << 30;
/// Least places of a send queue that a connection can live with.
const SEND_QUEUE_MIN: u32 = 2;
/// The end's own request: the marker that tells when everything before it is back, or long before that the nudge.
const OWN: u32 = 1;
/// Bytes of a send that the device may take along with the request: enough for every message without payload.
const INLINE: u32 = 64;

/// Sizes of the queues for a connection of this budget.
///
/// # Errors
/// The device has too little of something that cannot be lowered.
pub(crate) fn sizes(budget: &Budget, device: &DeviceAttributes, quirks: &Quirks) -> Result<Sizes, Error> {
    let need = |what, has: u32, needs: u32, field| {
        if has >= needs {
            return Ok(());
        }
        let device = device.name.clone();
        Err(Error::DeviceTooSmall { device, what, has: has.into(), needs: needs.into(), field })
    };
    need("receives in a queue", device.max_qp_wr, budget.recv_queue, "receive_credit_max")?;
    need("sends in a queue", device.max_qp_wr, SEND_QUEUE_MIN + OWN, "send_slots")?;
    let send_wr = budget.send_queue.saturating_add(OWN).min(device.max_qp_wr);
    let cq_entries = budget.recv_queue.saturating_add(send_wr);
    need("entries in a completion queue", device.max_cqe, cq_entries, "receive_credit_max or send_slots")?;
    Ok(Sizes {
        recv_wr: budget.recv_queue,
        send_wr,
        send_sge: device.max_sge.min(2),
        inline: INLINE,
        cq_entries,
        recv_slots: budget.recv_slots,
        recv_len: budget.recv_buffer_len,
        send_slots: budget.send_slots,
        send_len: budget.send_buffer_len,
        post_alone_below: quirks.post_alone_below,
    })
}

/// What the core may count on.
pub(crate) fn limits(
    granted: &Granted,
    device: &DeviceAttributes,
    quirks: &Quirks,
    read_depth: u16,
) -> Limits {
    Limits {
        read_depth,
        send_queue: u16::try_from(granted.send_wr.saturating_sub(OWN)).unwrap_or(u16::MAX),
        rdma_len_max: RDMA_LEN_MAX.min(u32::try_from(device.max_mr_size).unwrap_or(u32::MAX)).max(1),
        registration_requests: u16::from(quirks.uses_windows(device)),
        send_with_invalidate: quirks.invalidates_at_peer(device),
        reads_in_order: quirks.reads_in_order,
    }
}
