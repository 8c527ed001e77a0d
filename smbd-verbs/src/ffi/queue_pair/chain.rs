//! Translates work requests of the send queue to the structures of verbs.

use std::sync::Arc;

use smbd_core::{BufferDescriptorV1, RdmaVerb};

use super::{
    ChainError, QueuePair,
    sends::{Bind, Keeper, Sends},
};
use crate::ffi::{
    MemoryRegion, Rights, Window,
    sys::{ibv_mw_bind_info, ibv_send_flags as raw_flags, ibv_send_wr, ibv_sge, ibv_wr_opcode as opcode},
};

/// A message: a header, and what follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    /// Copied.
    pub(crate) head: &'a [u8],
    /// What follows it.
    pub(crate) body: Body<'a>,
}

/// What follows the header of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body<'a> {
    /// Nothing.
    None,
    /// Bytes to copy.
    Copy(&'a [u8]),
    /// Bytes that the device fetches.
    InPlace {
        /// Where they are.
        region: &'a Arc<MemoryRegion>,
        /// First of them.
        offset: u32,
        /// How many.
        len: u32,
    },
}

/// How a message is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SendFlags {
    /// It gets a completion when it went well.
    pub(crate) signal: bool,
    /// It wakes a receiver that waits only for such messages.
    pub(crate) solicit: bool,
    /// It waits for RDMA Reads before it.
    pub(crate) fence: bool,
    /// It invalidates this key of the peer.
    pub(crate) invalidate: Option<u32>,
}

/// Sets everything that a provider may look at in any request, so that nothing of an earlier use is left.
#[inline]
const fn reset(request: &mut ibv_send_wr, opcode: opcode::Type, flags: u32, elements: i32) {
    request.opcode = opcode;
    request.send_flags = flags;
    request.num_sge = elements;
    request.imm_data_invalidated_rkey_union.invalidated_rkey = 0;
}

const SIGNALED: u32 = raw_flags::IBV_SEND_SIGNALED.0;

impl QueuePair {
    /// Chains a message through `slot` of the send slab, which stays taken until the message is back.
    #[inline]
    pub(crate) fn chain_send(
        &mut self,
        wr_id: u64,
        slot: u16,
        message: Message<'_>,
        flags: SendFlags,
    ) -> Result<(), ChainError> {
        let (copied, second, keeper) = match message.body {
            Body::None => (&[][..], None, Keeper::default()),
            Body::Copy(bytes) => (bytes, None, Keeper::default()),
            Body::InPlace { region, offset, len } => {
                let element = element(region, offset, len)?;
                (&[][..], (len > 0).then_some(element), Keeper::region(region))
            }
        };
        let first = self.sends.load(slot, message.head, copied)?;
        let total = first.length as usize + second.map_or(0, |second: ibv_sge| second.length as usize);
        // siw refuses inline data with anything but plain sends and writes (siw_activate_tx_from_sq: EINVAL), and who
        // answers with an invalidation sends more than fits inline anyway.
        let inline = second.is_none()
            && first.length <= self.granted.inline
            && first.length > 0
            && flags.invalidate.is_none();
        let raw = raw_send_flags(flags, inline);
        let elements = i32::from(first.length > 0) + i32::from(second.is_some());
        let alone = total < self.post_alone_below as usize;
        self.sends.chain(wr_id, Some(slot), keeper, alone, |request, places| {
            reset(request, opcode::IBV_WR_SEND, raw, elements);
            if let Some(key) = flags.invalidate {
                request.opcode = opcode::IBV_WR_SEND_WITH_INV;
                request.imm_data_invalidated_rkey_union.invalidated_rkey = key;
                // The provider of siw takes the key from here.
                request.wr.rdma.rkey = key;
            }
            match second {
                Some(second) if first.length > 0 => *places = [first, second],
                Some(second) => places[0] = second,
                None => places[0] = first,
            }
        })
    }

    /// Chains an RDMA request for `remote` and the same length of `region` from `offset` on.
    #[inline]
    pub(crate) fn chain_rdma(
        &mut self,
        wr_id: u64,
        verb: RdmaVerb,
        (region, offset): (&Arc<MemoryRegion>, u32),
        remote: BufferDescriptorV1,
        signal: bool,
    ) -> Result<(), ChainError> {
        let local = element(region, offset, remote.length)?;
        let opcode = match verb {
            RdmaVerb::Read => opcode::IBV_WR_RDMA_READ,
            RdmaVerb::Write => opcode::IBV_WR_RDMA_WRITE,
        };
        let keeper = Keeper::region(region);
        let inline = verb == RdmaVerb::Write && (1..=self.granted.inline).contains(&local.length);
        let flags = raw_send_flags(SendFlags { signal, ..SendFlags::default() }, inline);
        self.sends.chain(wr_id, None, keeper, false, |request, places| {
            reset(request, opcode, flags, i32::from(remote.length > 0));
            request.wr.rdma.remote_addr = remote.offset;
            request.wr.rdma.rkey = remote.token.0;
            places[0] = local;
        })
    }

    /// Chains a bind of `window` to `len` bytes of `region` from `offset` on; returns the key that peers then use.
    pub(crate) fn chain_bind(
        &mut self,
        wr_id: u64,
        window: &mut Window,
        region: &Arc<MemoryRegion>,
        offset: u64,
        len: u64,
        rights: Rights,
    ) -> Result<u32, ChainError> {
        let size = region.len();
        let addr = region.range(offset, len).ok_or(ChainError::OutOfRange { offset, len, size })?;
        if self.sends.is_full() {
            return Err(ChainError::Full);
        }
        let handle = window.handle();
        let taken = handle.begin_bind(self.queue)?;
        if taken.is_new {
            self.windows.add(handle);
        }
        let key = window.next_key();
        let (mw, mr) = (taken.window, region.as_ptr());
        let bind = Some(Bind { window: Arc::clone(handle), key });
        let keeper = Keeper { bind, ..Keeper::region(region) };
        let chained = self.sends.chain(wr_id, None, keeper, false, |request, _| {
            reset(request, opcode::IBV_WR_BIND_MW, SIGNALED, 0);
            request.bind_mw_tso_union.bind_mw.mw = mw;
            request.bind_mw_tso_union.bind_mw.rkey = key;
            request.bind_mw_tso_union.bind_mw.bind_info =
                ibv_mw_bind_info { mr, addr, length: len, mw_access_flags: rights.remote_flags() };
        });
        match chained {
            Ok(()) => window.set_bound(key, region),
            Err(_) => window.handle().end_bind(None),
        }
        chained.map(|()| key)
    }

    /// Chains the end of a key of this side.
    pub(crate) fn chain_invalidate(&mut self, wr_id: u64, key: u32) -> Result<(), ChainError> {
        self.sends.chain(wr_id, None, Keeper::default(), false, |request, _| {
            reset(request, opcode::IBV_WR_LOCAL_INV, SIGNALED, 0);
            request.imm_data_invalidated_rkey_union.invalidated_rkey = key;
        })
    }

    /// Chains an empty message of `wr_id` 0 that gets a completion: everything before it is back then. The peer would
    /// see it, so it is for a queue pair that flushes.
    pub(crate) fn chain_marker(&mut self) -> Result<(), ChainError> {
        self.sends.chain(0, None, Keeper::default(), self.post_alone_below > 0, |request, _| {
            reset(request, opcode::IBV_WR_SEND, SIGNALED, 0);
        })
    }

    /// Chains an RDMA Read of nothing: the peer's device answers it, and nobody else hears of it.
    pub(crate) fn chain_nudge(&mut self, wr_id: u64) -> Result<(), ChainError> {
        self.sends.chain(wr_id, None, Keeper::default(), false, |request, _| {
            reset(request, opcode::IBV_WR_RDMA_READ, SIGNALED, 0);
            request.wr.rdma.remote_addr = 0;
            request.wr.rdma.rkey = 0;
        })
    }

    /// Chains an RDMA Write of nothing: the peer's device takes it, and nobody hears of it.
    pub(crate) fn chain_nudge_of_peer(&mut self, wr_id: u64) -> Result<(), ChainError> {
        self.sends.chain(wr_id, None, Keeper::default(), false, |request, places| {
            // With an element of no bytes: siw answers a Read of nothing that comes now with what the element names.
            reset(request, opcode::IBV_WR_RDMA_WRITE, SIGNALED, 1);
            places[0] = ibv_sge { addr: 0, length: 0, lkey: 0 };
            // As drivers have it in MPA version 2: devices may take token 0 for something else.
            request.wr.rdma.remote_addr = 1;
            request.wr.rdma.rkey = 1;
        })
    }
}

/// The element for `len` bytes of `region` from `offset` on. One of no bytes is left out by callers: to some devices it
/// is one of 2 GiB.
#[inline]
fn element(region: &MemoryRegion, offset: u32, len: u32) -> Result<ibv_sge, ChainError> {
    match region.range(u64::from(offset), u64::from(len)) {
        Some(addr) => Ok(ibv_sge { addr, length: len, lkey: region.lkey() }),
        None => {
            let (offset, len, size) = (u64::from(offset), u64::from(len), region.len());
            Err(ChainError::OutOfRange { offset, len, size })
        }
    }
}

#[inline]
fn raw_send_flags(flags: SendFlags, inline: bool) -> u32 {
    let raw = |on: bool, flag: raw_flags| if on { flag.0 } else { 0 };
    raw(flags.signal, raw_flags::IBV_SEND_SIGNALED)
        | raw(flags.solicit, raw_flags::IBV_SEND_SOLICITED)
        | raw(flags.fence, raw_flags::IBV_SEND_FENCE)
        | raw(inline, raw_flags::IBV_SEND_INLINE)
}

const _: fn() = || {
    // The queue pair moves between threads with all that it keeps.
    const fn send<T: Send>() {}
    send::<Sends>();
    send::<QueuePair>();
};
