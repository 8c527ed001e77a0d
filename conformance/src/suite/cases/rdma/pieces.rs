//! Memory of the script that the subject accesses: one buffer in several descriptors.

use std::sync::Arc;

use smbd_core::{Access, BufferDescriptorV1, RdmaVerb};
use smbd_tools::exercise::{Answer, Request as Asked, digest};

use crate::suite::words::Words;
use crate::suite::{Peer, Registered, Stop};

/// Pieces, and their descriptors in order.
pub(super) struct Pieces {
    all: Vec<Registered>,
    pub(super) descriptors: Arc<[BufferDescriptorV1]>,
}

impl Pieces {
    /// Registers each piece for itself.
    pub(super) fn register(peer: &mut Peer<'_>, pieces: &[&[u8]], access: Access) -> Result<Self, Stop> {
        let all: Result<Vec<_>, _> = pieces.iter().map(|piece| peer.register(piece, access)).collect();
        let all = all?;
        let descriptors = all.iter().flat_map(|piece| piece.descriptors.iter().copied()).collect();
        Ok(Self { all, descriptors })
    }

    /// What all of them hold, one behind the other.
    pub(super) fn bytes(&self, peer: &mut Peer<'_>) -> Vec<u8> {
        self.all.iter().flat_map(|piece| peer.contents(piece.buffer)).collect()
    }

    /// Sets each byte.
    pub(super) fn set(&self, peer: &mut Peer<'_>, byte: u8) {
        for piece in &self.all {
            let length = piece.descriptors.iter().map(|descriptor| descriptor.length as usize).sum();
            peer.fill(piece.buffer, &vec![byte; length]);
        }
    }
}

/// The bytes `offset` to `offset + len` of what `all` describe, as descriptors.
pub(super) fn part(all: &[BufferDescriptorV1], offset: u64, len: u32) -> Vec<BufferDescriptorV1> {
    let (mut skip, mut left) = (offset, len);
    let mut part = Vec::new();
    for BufferDescriptorV1 { offset, token, length } in all {
        let begin = u32::try_from(skip.min(u64::from(*length))).unwrap_or(*length);
        skip -= u64::from(begin);
        let take = (length - begin).min(left);
        left -= take;
        if take > 0 {
            let offset = offset.wrapping_add(u64::from(begin));
            part.push(BufferDescriptorV1 { offset, token: *token, length: take });
        }
    }
    part
}

/// The statements of one verb, by what shows that they hold.
#[derive(Clone, Copy)]
pub(super) struct Ids {
    /// Where it begins.
    pub(super) begins: &'static str,
    /// Where it ends.
    pub(super) ends: &'static str,
    /// What is moved.
    pub(super) moves: &'static str,
    /// The result.
    pub(super) told: &'static str,
}

impl Ids {
    /// All of them, those that are in order with a sign: where the subject's device is looked at, it is seen where its requests
    /// since number `since` begin and where they end.
    fn about(
        self,
        peer: &mut Peer<'_>,
        verb: RdmaVerb,
        wanted: &[BufferDescriptorV1],
        since: usize,
    ) -> String {
        let Some(upper) = peer.upper_if_seen() else { return [self.begins, self.ends, self.moves].join(" ") };
        let all = upper.rdma_seen().iter().skip(since).filter(|seen| seen.verb == verb);
        let seen: Vec<_> = all.map(|seen| seen.remote).collect();
        let begin = |all: &[BufferDescriptorV1]| all.first().map(|first| (first.token, first.offset));
        let end = |all: &[BufferDescriptorV1]| {
            all.last().map(|last| (last.token, last.offset.wrapping_add(last.length.into())))
        };
        let (begins, ends) = (begin(&seen) == begin(wanted), end(&seen) == end(wanted));
        let signed = |ids: &str, holds: bool| {
            let sign = |id: &str| if holds && !id.starts_with('+') { "+" } else { "" };
            ids.split_whitespace().map(|id| format!("{}{id} ", sign(id))).collect::<String>()
        };
        let moves = signed(self.moves, !(begins && ends));
        signed(self.begins, begins) + &signed(self.ends, ends) + &moves
    }
}

/// Lets the subject write `len` bytes from `offset` on. Returns the bytes that it should have written; `None` if it says that it
/// has not: of what was not done nothing else is known.
pub(super) fn writes(
    peer: &mut Peer<'_>,
    ids: Ids,
    (offset, len): (u64, u32),
    descriptors: &Arc<[BufferDescriptorV1]>,
) -> Result<Option<Vec<u8>>, Stop> {
    let since = seen(peer);
    let seed = offset * 31 + u64::from(len);
    let asked =
        Asked::Write { seed, offset, length: len, invalidate: None, descriptors: descriptors.clone() };
    let answer = peer.ask(ids.told, &asked)?;
    let written = peer.written_by(&asked);
    let done = peer.check(ids.told, answer == Answer::Done, || {
        format!("writing {len} bytes from {offset} on should be done, the answer is {}", answer.words())
    });
    if !done {
        return Ok(None);
    }
    let wanted = part(descriptors, offset, len);
    let about = ids.about(peer, RdmaVerb::Write, &wanted, since);
    peer.accessed(&about, RdmaVerb::Write, &wanted, since);
    Ok(Some(written))
}

/// Lets the subject write into pieces that hold `old` everywhere, and looks at each byte of them.
pub(super) fn writes_exactly(
    peer: &mut Peer<'_>,
    ids: Ids,
    (offset, len): (u64, u32),
    pieces: &Pieces,
    old: u8,
) -> Result<(), Stop> {
    pieces.set(peer, old);
    let Some(wanted) = writes(peer, ids, (offset, len), &pieces.descriptors)? else { return Ok(()) };
    let now = pieces.bytes(peer);
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(now.len());
    let (before, rest) = now.split_at(start);
    let (written, behind) = rest.split_at(wanted.len().min(rest.len()));
    let range = format!("{len} bytes from {offset} on");
    let untouched = |bytes: &[u8]| bytes.iter().all(|byte| *byte == old);
    // A byte that was written may be another than it should be: that is about what is moved.
    let touched = |at: Option<&u8>, wanted: Option<&u8>| at != Some(&old) || wanted == Some(&old);
    let first = untouched(before) && touched(written.first(), wanted.first());
    peer.check(ids.begins, first, || format!("{range}: it should begin there, it began elsewhere"));
    let last = untouched(behind) && touched(written.last(), wanted.last());
    peer.check(ids.ends, last, || format!("{range}: it should end there, it ended elsewhere"));
    peer.check(ids.moves, written == wanted, || format!("{range}: other bytes are there than were written"));
    Ok(())
}

/// Lets the subject read `len` bytes from `offset` on of memory that holds `content`.
pub(super) fn reads(
    peer: &mut Peer<'_>,
    ids: Ids,
    (offset, len): (u64, u32),
    descriptors: &Arc<[BufferDescriptorV1]>,
    content: &[u8],
) -> Result<(), Stop> {
    let since = seen(peer);
    let asked = Asked::Read { offset, length: len, descriptors: descriptors.clone() };
    let answer = peer.ask(ids.told, &asked)?;
    let came = matches!(answer, Answer::Hash(_));
    peer.check(ids.told, came, || {
        format!("reading {len} bytes from {offset} on should bring a hash, the answer is {}", answer.words())
    });
    if !came {
        return Ok(());
    }
    let ranges = part(descriptors, offset, len);
    let about = ids.about(peer, RdmaVerb::Read, &ranges, since);
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let wanted = digest(content.get(start..start.saturating_add(len as usize)).unwrap_or_default());
    peer.check(&about, answer == Answer::Hash(wanted), || {
        format!(
            "reading {len} bytes from {offset} on should bring hash 0x{wanted:016x}, {} came",
            answer.words()
        )
    });
    peer.accessed(&about, RdmaVerb::Read, &ranges, since);
    Ok(())
}

/// How many RDMA requests of the subject were seen so far, where its device is looked at.
pub(super) fn seen(peer: &mut Peer<'_>) -> usize {
    peer.upper_if_seen().map_or(0, |upper| upper.rdma_seen().len())
}

/// Where the subject's device is looked at: it made no RDMA request since.
pub(super) fn none_since(peer: &mut Peer<'_>, statements: &str, since: usize) {
    let now = seen(peer);
    peer.check(statements, now == since, || {
        format!("no RDMA request should be made, {} were", now.saturating_sub(since))
    });
}
