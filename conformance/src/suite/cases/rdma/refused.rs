//! RDMA operations that the subject refuses.

use std::sync::Arc;

use smbd_core::{Access, BufferDescriptorV1, Params, RdmaVerb};
use smbd_tools::exercise::{Answer, Failure, Request as Asked, Status};

use super::pieces::{Ids, none_since, reads, seen, writes};
use crate::suite::words::{self, Words};
use crate::suite::{Peer, Play, Response, Stop, Terms, pattern};

/// The same request with either verb.
pub(super) fn either(
    verb: RdmaVerb,
    (offset, length): (u64, u32),
    descriptors: &Arc<[BufferDescriptorV1]>,
) -> Asked {
    let descriptors = descriptors.clone();
    match verb {
        RdmaVerb::Read => Asked::Read { offset, length, descriptors },
        RdmaVerb::Write => Asked::Write { seed: 8, offset, length, invalidate: None, descriptors },
    }
}

/// The subject's upper layer refuses the operation, and its device is asked for nothing.
fn refuses(
    peer: &mut Peer<'_>,
    statements: &str,
    verb: RdmaVerb,
    range: (u64, u32),
    descriptors: &Arc<[BufferDescriptorV1]>,
) -> Result<(), Stop> {
    let since = seen(peer);
    let answer = peer.ask(statements, &either(verb, range, descriptors))?;
    let refused = matches!(&answer, Answer::Failed(Failure { status: Status::Refused, .. }));
    let (offset, len) = range;
    peer.check(statements, refused, || {
        let (verb, answer) = (words::verb(verb), answer.words());
        format!("{verb} of {len} bytes from {offset} on should be refused, the answer is {answer}")
    });
    none_since(peer, statements, since);
    Ok(())
}

pub(super) fn outside(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    let content = pattern(8, 100);
    let memory = peer.register(&content, Access::ReadWrite)?;
    let descriptors: Arc<[_]> = memory.descriptors.clone().into();
    // Its last byte would lie behind the last address.
    let wraps = memory.descriptors[0];
    let wraps: Arc<[_]> = [BufferDescriptorV1 { offset: u64::MAX, length: 2, ..wraps }].into();
    for (verb, statements) in [(RdmaVerb::Write, "3.1.4.5-02"), (RdmaVerb::Read, "3.1.4.6-02")] {
        for range in [(0, 101), (99, 2)] {
            refuses(&mut peer, statements, verb, range, &descriptors)?;
        }
        if peer.takes_any_range() {
            for range in [(100, 1), (1 << 63, 1), (u64::MAX, 1)] {
                refuses(&mut peer, statements, verb, range, &descriptors)?;
            }
            refuses(&mut peer, statements, verb, (0, 1), &wraps)?;
        }
        let now = peer.contents(memory.buffer);
        peer.check(statements, now == content, || "bytes of the script are changed".into());
        peer.goes_on(statements)?;
    }
    Ok(())
}

pub(super) fn small_max_read_write_size(params: &mut Params) {
    params.max_read_write_size = 65_536;
}

const LONGEST: &str = "3.1.5.3-12 +2.2.2-17";
const SETTLED: &str = "3.1.5.7-15 +2.2.2-17";

pub(super) fn too_long(play: &mut Play) -> Result<(), Stop> {
    if play.subject_accepts() {
        let mut peer = play.established()?;
        if let crate::suite::Announced::Response(response) = peer.announced()? {
            let size = response.max_read_write_size;
            peer.check(LONGEST, size == 65_536, || {
                format!("MaxReadWriteSize of the response should be 65536, it is {size}")
            });
        }
        return as_many_and_no_more(&mut peer, LONGEST, 65_536);
    }
    for (announced, settled) in [(32_768, 32_768), (1 << 20, 65_536)] {
        let response = Response { max_read_write_size: announced, ..Response::default() };
        let mut peer = play.established_on(&Terms { response, ..Terms::default() })?;
        as_many_and_no_more(&mut peer, SETTLED, settled)?;
    }
    Ok(())
}

fn as_many_and_no_more(peer: &mut Peer<'_>, statements: &'static str, most: u32) -> Result<(), Stop> {
    let ids = Ids { begins: statements, ends: statements, moves: statements, told: statements };
    let memory = peer.register(&pattern(9, 2 << 20), Access::ReadWrite)?;
    let descriptors: Arc<[_]> = memory.descriptors.clone().into();
    let before = peer.contents(memory.buffer);
    writes(peer, ids, (0, most), &descriptors)?;
    // Which bytes they are, other cases are about.
    let wanted = peer.contents(memory.buffer);
    peer.check(statements, wanted.get(most as usize..) == before.get(most as usize..), || {
        format!("the first {most} bytes, and no others, should be written; they are not what they should be")
    });
    reads(peer, ids, (1000, most), &descriptors, &wanted)?;
    for verb in [RdmaVerb::Write, RdmaVerb::Read] {
        refuses(peer, statements, verb, (0, most + 1), &descriptors)?;
    }
    let now = peer.contents(memory.buffer);
    peer.check(statements, now == wanted, || {
        format!("what is refused should change nothing, bytes behind the first {most} are others now")
    });
    peer.goes_on(statements)
}

pub(super) fn none_offered(play: &mut Play) -> Result<(), Stop> {
    let response = Response { max_read_write_size: 0, ..Response::default() };
    let mut peer = play.established_on(&Terms { response, ..Terms::default() })?;
    let content = pattern(10, 100);
    let memory = peer.register(&content, Access::ReadWrite)?;
    let descriptors: Arc<[_]> = memory.descriptors.clone().into();
    for verb in [RdmaVerb::Write, RdmaVerb::Read] {
        refuses(&mut peer, SETTLED, verb, (0, 1), &descriptors)?;
    }
    let now = peer.contents(memory.buffer);
    peer.check(SETTLED, now == content, || "bytes of the script are changed".into());
    peer.returns(SETTLED)
}
