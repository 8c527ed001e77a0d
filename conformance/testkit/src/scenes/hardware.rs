//! What the devices do. Each operation completes at once. Benchmarks take off what these functions do: see
//! `smbd_repository::instructions`. None of them calls another one.

use std::task::{Context, Waker};

use smbd_core::{BufferDescriptorV1, RdmaVerb, Token};
use smbd_link::transport::{Heap, Memory};

use super::parts::{Cable, Chained, End, Packet};
use crate::slab::{BATCH, Batch, Completion, Slab};

/// As `ibv_post_recv`.
#[inline(never)]
pub fn post_recv(cable: &Cable, side: usize, chain: &mut Vec<Chained>) {
    let end = &mut cable.lock().expect("no panics")[side];
    for chained in chain.drain(..) {
        let Chained::Recv(id) = chained else { unreachable!("a chain is of one queue") };
        end.posted.push_back(id);
    }
}

/// As `ibv_post_send`.
#[inline(never)]
pub fn post_send(cable: &Cable, side: usize, chain: &mut Vec<Chained>, sends: &Slab) {
    let mut ends = cable.lock().expect("no panics");
    let (first, second) = ends.split_at_mut(1);
    let (own, peer) =
        if side == 0 { (&mut first[0], &mut second[0]) } else { (&mut second[0], &mut first[0]) };
    for chained in chain.drain(..) {
        match chained {
            Chained::Recv(_) => unreachable!("a chain is of one queue"),
            Chained::Send { id, is_signalled, len, invalidate } => {
                let mut bytes = peer.spare.pop().unwrap_or_default();
                bytes.clear();
                bytes.extend_from_slice(&sends.slot(id.slot())[..len]);
                peer.packets.push_back(Packet { bytes, invalidate });
                own.completions.extend(is_signalled.then_some(Completion::Work(id.into())));
            }
            Chained::Rdma { id, is_signalled, verb, local, offset, remote } => {
                let End { moved, completions, .. } = &mut *own;
                moved.clear();
                let there = peer.memory.iter().find(|(token, _)| *token == remote.token);
                let (_, there) = there.expect("memory that the peer has registered");
                let at = u32::try_from(remote.offset).expect("an offset");
                let (from, to) = match verb {
                    RdmaVerb::Read => ((there, at), (&local, offset)),
                    RdmaVerb::Write => ((&local, offset), (there, at)),
                };
                from.0.append_to(from.1, remote.length, moved).expect("inside the memory");
                to.0.fill(to.1, moved).expect("inside the memory");
                completions.extend(is_signalled.then_some(Completion::Work(id)));
            }
        }
    }
    let waker = if peer.packets.is_empty() { None } else { peer.waker.take() };
    drop(ends);
    waker.into_iter().for_each(Waker::wake);
}

/// As `ibv_poll_cq`, and what the device does until then: messages come into the receives that are posted.
#[inline(never)]
pub fn poll(cable: &Cable, side: usize, receives: &mut Slab, batch: &mut Batch) {
    let End { posted, completions, packets, spare, memory, .. } = &mut cable.lock().expect("no panics")[side];
    while !packets.is_empty()
        && let Some(id) = posted.pop_front()
        && let Some(Packet { bytes, invalidate }) = packets.pop_front()
    {
        receives.slot_mut(id.slot())[..bytes.len()].copy_from_slice(&bytes);
        memory.retain(|(token, _)| Some(*token) != invalidate);
        completions.push_back(Completion::Received { id, len: bytes.len(), invalidated: invalidate });
        spare.push(bytes);
    }
    let count = completions.len().min(BATCH);
    batch.extend(completions.drain(..count));
}

/// As the completion channel. Whether there is something; if not, the task is woken when there is.
#[inline(never)]
pub fn arm(cable: &Cable, side: usize, cx: &Context<'_>) -> bool {
    let end = &mut cable.lock().expect("no panics")[side];
    let is_ready = !end.completions.is_empty() || !end.packets.is_empty();
    if !is_ready && end.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
        end.waker = Some(cx.waker().clone());
    }
    is_ready
}

/// As `ibv_reg_mr`.
#[inline(never)]
pub fn register(cable: &Cable, side: usize, token: Token, memory: &Heap) -> BufferDescriptorV1 {
    cable.lock().expect("no panics")[side].memory.push((token, memory.clone()));
    BufferDescriptorV1 { offset: 0, token, length: memory.len() }
}

/// As `ibv_dereg_mr`.
#[inline(never)]
pub fn deregister(cable: &Cable, side: usize, token: Token) {
    cable.lock().expect("no panics")[side].memory.retain(|(other, _)| *other != token);
}
