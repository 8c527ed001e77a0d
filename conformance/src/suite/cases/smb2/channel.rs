//! Large READs and WRITEs, and many of them.

use smbd_core::Access;

use crate::suite::session::V3;
use crate::suite::{Play, Stop, pattern};

const SEED: u64 = 0x5b2;
const MANY: u32 = 64;

fn reads(play: &mut Play, count: u32) -> Result<(), Stop> {
    let mut session = play.session(V3)?;
    let size = session.max_read() / count;
    let content = pattern(SEED, (size * count) as usize);
    session.file_has(&content)?;
    for (index, part) in content.chunks(size as usize).enumerate() {
        let buffer = session.buffer(&vec![0; part.len()], Access::Write)?;
        session.reads(&buffer, size, index as u64 * u64::from(size), size)?;
        session.has_read("3.3.5.12-20", &buffer, part);
        session.peer.deregister(&buffer.memory)?;
    }
    Ok(())
}

pub(super) fn read_large(play: &mut Play) -> Result<(), Stop> {
    reads(play, 1)
}

pub(super) fn read_many(play: &mut Play) -> Result<(), Stop> {
    reads(play, MANY)
}

fn writes(play: &mut Play, count: u32) -> Result<(), Stop> {
    let mut session = play.session(V3)?;
    // It is read back, too.
    let size = session.max_write().min(session.max_read()) / count;
    let content = pattern(SEED + 1, (size * count) as usize);
    for (index, part) in content.chunks(size as usize).enumerate() {
        let buffer = session.buffer(part, Access::Read)?;
        session.writes(&buffer, size, index as u64 * u64::from(size))?;
        session.peer.deregister(&buffer.memory)?;
    }
    for (index, part) in content.chunks(size as usize).enumerate() {
        session.has_written("3.3.5.13-26", part, index as u64 * u64::from(size))?;
    }
    Ok(())
}

pub(super) fn write_large(play: &mut Play) -> Result<(), Stop> {
    writes(play, 1)
}

pub(super) fn write_many(play: &mut Play) -> Result<(), Stop> {
    writes(play, MANY)
}
