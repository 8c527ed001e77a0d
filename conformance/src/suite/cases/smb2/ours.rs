//! How much is read, and where it goes.

use smbd_core::{Access, BufferDescriptorV1};
use smbd_smb2::wire::Channel;

use crate::suite::session::{Buffer, Session, V3, V302};
use crate::suite::{Play, Stop, pattern};

const SEED: u64 = 0x0e0f;

pub(super) fn beyond_the_end(play: &mut Play) -> Result<(), Stop> {
    const THERE: u32 = 5000;
    let mut session = play.session(V3)?;
    let content = pattern(SEED, THERE as usize);
    session.file_has(&content)?;
    let buffer = session.buffer(&[0; 65_536], Access::Write)?;
    session.reads(&buffer, 65_536, 0, THERE)?;
    session.has_read("3.3.5.12-20", &buffer, &content);
    Ok(())
}

const LENGTHS: [usize; 3] = [1000, 70_000, 5];

/// Three buffers, and their descriptors in this order.
fn three(
    session: &mut Session<'_>,
    access: Access,
    parts: [&[u8]; 3],
    order: [usize; 3],
) -> Result<([Buffer; 3], Buffer), Stop> {
    let [one, two, three] = parts;
    let all = [session.buffer(one, access)?, session.buffer(two, access)?, session.buffer(three, access)?];
    let descriptors: Vec<BufferDescriptorV1> =
        order.iter().filter_map(|index| all.get(*index)).flat_map(|one| one.descriptors.clone()).collect();
    let [first, ..] = &all;
    let joined = Buffer { descriptors, ..first.clone() }.by(Channel::RDMA_V1_INVALIDATE);
    Ok((all, joined))
}

pub(super) fn several_buffers(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(V302)?;
    let [a, b, c] = LENGTHS.map(|len| pattern(SEED + len as u64, len));
    let (_, joined) = three(&mut session, Access::Read, [&a, &b, &c], [1, 2, 0])?;
    let written = [&b[..], &c[..], &a[..]].concat();
    let size = u32::try_from(written.len()).unwrap_or_default();
    let response = session.writes(&joined, size, 0)?;
    session.invalidates("3.3.5.13-29", &response, &joined);
    session.has_written("3.3.5.13-26", &written, 0)?;

    let empty = LENGTHS.map(|len| vec![0; len]);
    let [x, y, z] = &empty;
    let (parts, joined) = three(&mut session, Access::Write, [x, y, z], [2, 0, 1])?;
    let response = session.reads(&joined, size, 0, size)?;
    session.invalidates("3.3.5.12-21", &response, &joined);
    let mut at = 0;
    for index in [2, 0, 1] {
        let len = LENGTHS[index];
        session.has_read("3.3.5.12-20", &parts[index], &written[at..at + len]);
        at += len;
    }
    Ok(())
}
