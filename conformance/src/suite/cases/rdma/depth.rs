//! How many RDMA Reads are outstanding at a time.

use std::sync::Arc;

use smbd_core::{Access, BufferDescriptorV1};
use smbd_tools::exercise::{Answer, Request as Asked, digest};

use super::pieces::{part, seen};
use crate::suite::rig::Opening;
use crate::suite::words::Words;
use crate::suite::{Peer, Play, Stop, Terms, pattern};

const AGREED: &str = "6-01";
/// Bytes that are read. Servers of SMB2 may take less than 1 MiB in a request (MaxWriteSize), if their longest message has that many.
const LEN: u32 = 1 << 19;

/// So many descriptors for a buffer of [`LEN`] bytes.
fn in_pieces(all: &[BufferDescriptorV1], count: u32) -> Arc<[BufferDescriptorV1]> {
    let len = LEN / count;
    (0..count).flat_map(|index| part(all, u64::from(index * len), len)).collect()
}

/// Where the subject's device is looked at: so many reads were under way at a time, and no more.
pub(super) fn at_a_time(peer: &mut Peer<'_>, statements: &str, depth: usize, since: usize) {
    let Some(upper) = peer.upper_if_seen() else { return };
    let most = upper.rdma_seen().iter().skip(since).map(|seen| seen.reads).max().unwrap_or_default();
    peer.check(statements, most <= depth, || {
        format!("{depth} reads should be under way at a time at most, {most} were")
    });
}

/// Lets the subject read the same buffer `times` at once, and looks at what it has read.
pub(super) fn reads_at_once(
    peer: &mut Peer<'_>,
    statements: &str,
    times: u32,
    pieces: u32,
) -> Result<(), Stop> {
    let content = pattern(51, LEN as usize);
    let memory = peer.register(&content, Access::Read)?;
    let descriptors = in_pieces(&memory.descriptors, pieces);
    let asked = Asked::Read { offset: 0, length: LEN, descriptors };
    let asking: Result<Vec<_>, _> = (0..times).map(|_| peer.begin_asking(&asked)).collect();
    for asking in asking? {
        let (answer, _) = peer.answer_to(statements, &asking)?;
        peer.check(statements, answer == Answer::Hash(digest(&content)), || {
            format!("the hash of 512 KiB should come, {} came", answer.words())
        });
    }
    Ok(())
}

pub(super) fn reads(play: &mut Play) -> Result<(), Stop> {
    for depth in [1, 2, 5] {
        let opening = Opening { read_depth: depth, ..Opening::default() };
        let mut peer = play.established_as(&Terms::default(), &opening)?;
        let since = seen(&mut peer);
        reads_at_once(&mut peer, AGREED, 2, 64)?;
        at_a_time(&mut peer, AGREED, depth.into(), since);
        peer.returns(AGREED)?;
    }
    Ok(())
}
