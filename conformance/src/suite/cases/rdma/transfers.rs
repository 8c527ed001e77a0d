//! RDMA Write and RDMA Read: which bytes they move.

use std::sync::Arc;

use smbd_core::{Access, BufferDescriptorV1, Token};

use super::pieces::{Ids, Pieces, none_since, part, reads, seen, writes, writes_exactly};
use crate::suite::{Peer, Play, Stop, pattern};

/// Offsets and lengths over pieces of 1000, 1, 4095 and 3000 bytes.
const RANGES: [(u64, u32); 8] =
    [(0, 8096), (0, 1), (999, 3), (1000, 1), (1001, 4095), (500, 100), (8095, 1), (3000, 5096)];
const PIECES: [usize; 4] = [1000, 1, 4095, 3000];

const WRITE: Ids = Ids {
    begins: "3.1.4.5-01 3.1.4.5-03",
    ends: "3.1.4.5-02 3.1.4.5-04",
    moves: "3.1.4.5-05",
    told: "3.1.4.5-06",
};
const READ: Ids = Ids {
    begins: "3.1.4.6-01 3.1.4.6-03",
    ends: "3.1.4.6-02 3.1.4.6-04",
    moves: "3.1.4.6-05",
    told: "3.1.4.6-06",
};

/// What a byte of the script holds until it is written.
const OLD: u8 = 0xEE;

pub(super) fn write(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    let old = PIECES.map(|len| vec![OLD; len]);
    let pieces = Pieces::register(&mut peer, &old.each_ref().map(Vec::as_slice), Access::Write)?;
    for range in RANGES {
        writes_exactly(&mut peer, WRITE, range, &pieces, OLD)?;
    }
    Ok(())
}

pub(super) fn read(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    let content = pattern(5, PIECES.iter().sum());
    let mut rest = &content[..];
    let pieces = PIECES.map(|len| {
        let (piece, behind) = rest.split_at(len);
        rest = behind;
        piece
    });
    let pieces = Pieces::register(&mut peer, &pieces, Access::Read)?;
    for range in RANGES {
        reads(&mut peer, READ, range, &pieces.descriptors, &content)?;
    }
    Ok(())
}

/// Bytes of each descriptor, and from the beginning of one to that of the next in memory.
const LENGTH: u32 = 255;
const APART: u32 = 300;

/// So many descriptors of 255 bytes, the last in memory first.
fn scattered(memory: &[BufferDescriptorV1], count: u32) -> Arc<[BufferDescriptorV1]> {
    let all = (0..count).rev().flat_map(|index| part(memory, u64::from(index * APART), LENGTH));
    all.collect()
}

/// What such descriptors describe in `bytes`, and what lies between.
fn gather(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut described, mut between) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(APART as usize).rev() {
        let (inside, outside) = piece.split_at(piece.len().min(LENGTH as usize));
        described.extend_from_slice(inside);
        between.extend_from_slice(outside);
    }
    (described, between)
}

pub(super) fn many_descriptors(play: &mut Play) -> Result<(), Stop> {
    const WRITE: Ids =
        Ids { begins: "3.1.4.5-01", ends: "3.1.4.5-04", moves: "2.2.3.1-05 3.1.4.5-05", told: "2.2.3.1-05" };
    const READ: Ids =
        Ids { begins: "3.1.4.6-01", ends: "3.1.4.6-04", moves: "2.2.3.1-05 3.1.4.6-05", told: "2.2.3.1-05" };
    for count in [1, 2, 31, 4095] {
        let mut peer = play.established()?;
        let memory = peer.register(&pattern(6, (count * APART) as usize), Access::ReadWrite)?;
        let descriptors = scattered(&memory.descriptors, count);
        let total = count * LENGTH;
        for range in [(0, total), (1, total - 2)] {
            write_scattered(&mut peer, WRITE, range, (memory.buffer, &descriptors))?;
            let (content, _) = gather(&peer.contents(memory.buffer));
            reads(&mut peer, READ, range, &descriptors, &content)?;
        }
    }
    Ok(())
}

fn write_scattered(
    peer: &mut Peer<'_>,
    ids: Ids,
    (offset, len): (u64, u32),
    (buffer, descriptors): (usize, &Arc<[BufferDescriptorV1]>),
) -> Result<(), Stop> {
    let (before, between_before) = gather(&peer.contents(buffer));
    let Some(written) = writes(peer, ids, (offset, len), descriptors)? else { return Ok(()) };
    let (now, between) = gather(&peer.contents(buffer));
    let (start, end) = (offset as usize, offset as usize + len as usize);
    let count = descriptors.len();
    peer.check(ids.begins, now[..start] == before[..start], || {
        format!("{count} descriptors: the {offset} bytes before the first that is written are changed")
    });
    peer.check(ids.ends, now[end..] == before[end..], || {
        format!("{count} descriptors: the bytes behind the last that is written are changed")
    });
    peer.check(ids.moves, now[start..end] == written && between == between_before, || {
        format!("{count} descriptors: not the bytes described, and they alone, are what was written")
    });
    Ok(())
}

pub(super) fn empty_descriptors(play: &mut Play) -> Result<(), Stop> {
    const WRITE: Ids =
        Ids { begins: "3.1.4.5-01", ends: "3.1.4.5-01", moves: "3.1.4.5-01", told: "3.1.4.5-01" };
    const READ: Ids =
        Ids { begins: "3.1.4.6-01", ends: "3.1.4.6-01", moves: "3.1.4.6-01", told: "3.1.4.6-01" };
    let mut peer = play.established()?;
    let memory = peer.register(&pattern(7, 150), Access::ReadWrite)?;
    let empty = BufferDescriptorV1 { offset: 0, token: Token(0), length: 0 };
    let mut descriptors = vec![empty];
    descriptors.extend(part(&memory.descriptors, 0, 100));
    descriptors.extend([empty, empty]);
    descriptors.extend(part(&memory.descriptors, 100, 50));
    descriptors.push(empty);
    let descriptors: Arc<[_]> = descriptors.into();
    for (offset, len) in [(0, 150), (95, 10)] {
        let mut wanted = peer.contents(memory.buffer);
        let written = writes(&mut peer, WRITE, (offset, len), &descriptors)?;
        let now = peer.contents(memory.buffer);
        if let Some(written) = written {
            wanted[offset as usize..][..len as usize].copy_from_slice(&written);
            peer.check("3.1.4.5-01", now == wanted, || {
                format!("writing {len} bytes from {offset} on: other bytes are there than should be")
            });
        }
        reads(&mut peer, READ, (offset, len), &descriptors, &now)?;
    }
    if !peer.takes_any_range() {
        return Ok(());
    }
    let (before, since) = (peer.contents(memory.buffer), seen(&mut peer));
    writes(&mut peer, WRITE, (0, 0), &descriptors)?;
    writes(&mut peer, WRITE, (150, 0), &descriptors)?;
    none_since(&mut peer, "3.1.4.5-01", since);
    let now = peer.contents(memory.buffer);
    peer.check("3.1.4.5-01", now == before, || "writing 0 bytes changed some".into());
    Ok(())
}
