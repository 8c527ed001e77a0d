//! How providers deviate from the manual pages of libibverbs and librdmacm: a table, so that no other code depends on
//! the provider.
//!
//! [`of`] finds the row of a device by its vendor id and its transport. A device without a row of its own behaves as
//! the manual pages say.

#[cfg(test)]
pub(crate) mod tests;

use crate::DeviceAttributes;

/// The deviations of one provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// The name of the provider.
    pub name: &'static str,
    /// `rdma_connect` blocks until the peer's TCP has answered. It runs on a thread of its own.
    pub connect_blocks: bool,
    /// Time that an initiator waits between the setup of the connection and its first message, in milliseconds.
    pub settle_millis: u64,
    /// A device may miss a message that arrives right after it has accepted a connection, until another packet arrives.
    /// `settle_millis` of the initiator makes this rare, but only initiators of this crate wait. An initiator with such
    /// a device assumes the same of its peer's device.
    pub overlooks_first: bool,
    /// Sends shorter than this number of bytes are posted one by one, not in a chain.
    pub post_alone_below: u32,
    /// Sends and RDMA Writes of at least this number of bytes are always signalled: the provider treats an unsignalled one as complete
    /// while its memory is still read.
    pub signal_from: usize,
    /// Entries of a completion queue that is created only to occupy an address range; 0: none is created.
    pub spacer_entries: u32,
    /// A work request that is posted in the error state is completed as flushed.
    pub returns_marker: bool,
    /// The data of an RDMA Read are there when a work request behind it is complete. If not, each Read is signalled.
    pub reads_in_order: bool,
    /// Largest `responder_resources` and `initiator_depth` that are given to the connection manager.
    pub read_depth_max: u8,
    /// Whether the depths in the connection manager's events are those of the peer.
    pub depths_in_events: bool,
    /// The connection manager says by the status of `DISCONNECTED` whether the peer closed in order. Without it, status 0
    /// means any end.
    pub close_in_status: bool,
    /// Bits of `wc_flags` that report the invalidation of a token; 0 if the provider never reports one.
    pub invalidated_flags: u32,
    /// How this side invalidates a memory window.
    pub invalidate: Invalidate,
    /// Whether memory windows of type 2 can be allocated and bound if the device says that it has them. Registrations are
    /// memory regions otherwise.
    pub windows: bool,
    /// Whether a send can invalidate a token at the peer.
    pub send_with_invalidate: bool,
    /// A peer can invalidate a registration of another connection of the device. This crate cannot prevent it.
    pub invalidates_foreign: bool,
    /// A peer can read memory that is registered for writing only. This crate cannot prevent it. Upper layers should
    /// not register memory with secrets then.
    pub read_right_unchecked: bool,
    /// The local buffer of an RDMA Read needs the remote write right (`IBV_ACCESS_REMOTE_WRITE`).
    pub read_sink_is_remote: bool,
    /// Longest busy polling for a completion, in microseconds.
    pub busy_poll_micros_max: u64,
}

impl Quirks {
    /// Whether registrations on `device` are memory windows of type 2, which the peer can invalidate.
    #[must_use]
    pub const fn uses_windows(&self, device: &DeviceAttributes) -> bool {
        self.windows && device.max_mw > 0 && (device.window_2a || device.window_2b)
    }

    /// Whether messages sent by `device` may invalidate a token at the peer.
    #[must_use]
    pub const fn invalidates_at_peer(&self, device: &DeviceAttributes) -> bool {
        self.send_with_invalidate && device.mem_mgt_extensions
    }
}

/// How this side invalidates a memory window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalidate {
    /// With a work request on the send queue (`IBV_WR_LOCAL_INV`).
    Request,
    /// By freeing the window (`ibv_dealloc_mw`): a work request after the peer's own invalidation would crash the
    /// kernel.
    Free,
}

/// `IBV_WC_WITH_INV`: the bit of `wc_flags` that reports the invalidation of a token.
pub const WITH_INV: u32 = 8;

/// Microseconds: some round trips over a software device.
const BUSY_POLL_SOFTWARE: u64 = 500;

/// A provider that keeps to the manual pages.
const PLAIN: Quirks = Quirks {
    name: "any",
    connect_blocks: false,
    settle_millis: 0,
    overlooks_first: false,
    post_alone_below: 0,
    signal_from: usize::MAX,
    spacer_entries: 0,
    returns_marker: true,
    // Work requests complete in order, and the answer to a Read is the acknowledgement of what is before it.
    reads_in_order: true,
    read_depth_max: u8::MAX,
    depths_in_events: true,
    // Of InfiniBand and RoCE, before the own disconnect: 0 for the peer's DREQ, an error number for an own one that was not
    // answered. A queue pair that breaks has no event.
    close_in_status: true,
    invalidated_flags: WITH_INV,
    invalidate: Invalidate::Request,
    windows: true,
    send_with_invalidate: true,
    invalidates_foreign: false,
    read_right_unchecked: false,
    read_sink_is_remote: false,
    busy_poll_micros_max: 50,
};

/// A hardware provider of iWARP.
const IWARP: Quirks = Quirks {
    name: "any iWARP",
    // The data of a Read arrive as writes to a steering tag that the request tells the peer (RFC 5040, 5.2).
    read_sink_is_remote: true,
    // Nothing acknowledges a message: it is complete when TCP has it, which says nothing of the answer to a Read before it.
    reads_in_order: false,
    // An iWARP device settles depths with MPA v2 only; the header in the private data is what both sides read.
    depths_in_events: false,
    // irdma has status 0 for resets and for its own errors as well; cxgb4 alone is known to say ECONNRESET then.
    close_in_status: false,
    ..PLAIN
};

/// siw, the iWARP of the Linux kernel. Seen on Linux 6.12 with rdma-core 44, unless said otherwise.
const SIW: Quirks = Quirks {
    name: "siw",
    // Took 45 s against an address that drops SYNs.
    connect_blocks: true,
    // What arrives right after the accept can stay unread in the socket, until more arrives: once in 300 connections without
    // this wait, never in 2000 with it. siw_accept sends its reply before it hands the socket to the queue pair, and in
    // between siw_cm_llp_data_ready has nothing to do with what comes.
    settle_millis: 5,
    // The same from the other side: seen with every sixth connection of the kernel's client, between two guests that were
    // short of processors. ESTABLISHED comes when the socket is the queue pair's.
    overlooks_first: true,
    // Up to 40 bytes that are not inline are copied from the caller's address space if the frame leaves within the system
    // call (siw_try_1seg), but after 100 frames (SQ_USER_MAXBURST) a kernel thread goes on while that is still noted:
    // EFAULT, and the connection dies.
    post_alone_below: 64,
    // siw_qp_prepare_tx gives TCP the pages themselves of what is unsignalled and a page long or longer, and completes it
    // as soon as TCP has them: 42 of 6900 messages arrived with the content of a later one.
    signal_from: 4096,
    // The provider takes the mapping offset of page 144 for "none", so the queue that begins there cannot be
    // created. A queue of this many entries begins before it and ends behind it.
    spacer_entries: 32_768,
    // Takes sends in the error state and never completes them, not even when the queue pair is destroyed.
    returns_marker: false,
    // ESTABLISHED has them exchanged and as offered.
    depths_in_events: false,
    // siw_cm_upcall says IW_CM_EVENT_CLOSE with status 0 for the peer's FIN, for its reset, and for errors found here.
    close_in_status: false,
    // Completions never say that a token was invalidated (siw_rqe_complete tells the kernel's own users only), although
    // it is: siw_invalidate_stag takes any registration of the protection domain.
    invalidated_flags: 0,
    // siw_qp_sq_proc_tx checks the memory of a read response with no rights at all (siw_check_sgl_tx with 0).
    read_right_unchecked: true,
    // siw_proc_rresp checks the right to write locally only.
    read_sink_is_remote: false,
    // A device in software answers later than hardware does, and waking a sleeper costs as much there.
    busy_poll_micros_max: BUSY_POLL_SOFTWARE,
    ..IWARP
};

/// rxe, the RoCEv2 of the Linux kernel. Seen on Linux 6.12 with rdma-core 44.
const RXE: Quirks = Quirks {
    name: "rxe",
    // The kernel's own flag (bit 2) reaches the completion untranslated; which token, is right.
    invalidated_flags: WITH_INV | 4,
    // Invalidating a window that the peer has invalidated already is a NULL dereference in the kernel, and a peer's
    // invalidation may be under way unseen.
    invalidate: Invalidate::Free,
    // rxe_invalidate_mw finds the window by its key and does not compare its queue pair with the message's. Seen: a message
    // of one connection took the window of another out of force.
    invalidates_foreign: true,
    busy_poll_micros_max: BUSY_POLL_SOFTWARE,
    ..PLAIN
};

/// bnxt_re (Broadcom NetXtreme-E). From the source of Linux 6.12 and of rdma-core 56.1 (docs/devices.md), never seen running.
const BNXT_RE: Quirks = Quirks {
    name: "bnxt_re",
    // The driver says type 2B (bnxt_re_query_device), but neither bnxt_re_dev_ops nor the provider has alloc_mw.
    windows: false,
    // Offered, and the work request fails (SPDK issue 3926).
    send_with_invalidate: false,
    // The provider never sets IBV_WC_WITH_INV.
    invalidated_flags: 0,
    ..PLAIN
};

/// "bmt", as siw calls itself.
const VENDOR_SIW: u32 = 0x0062_6D74;
/// Vendor id of rxe.
const VENDOR_SOFTWARE: u32 = 0x00FF_FFFF;
const VENDOR_BROADCOM: u32 = 0x14E4;

/// Every row, in the order in which [`of`] compares them.
pub const TABLE: [&Quirks; 5] = [&SIW, &RXE, &BNXT_RE, &IWARP, &PLAIN];

/// The row for a device.
#[must_use]
pub const fn of(device: &DeviceAttributes) -> &'static Quirks {
    match (device.vendor_id, device.transport_iwarp) {
        (VENDOR_SIW, true) => &SIW,
        (VENDOR_SOFTWARE, false) => &RXE,
        (VENDOR_BROADCOM, false) => &BNXT_RE,
        (_, true) => &IWARP,
        (_, false) => &PLAIN,
    }
}
