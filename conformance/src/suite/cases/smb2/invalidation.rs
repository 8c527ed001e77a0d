//! Buffers that are used once, and twice.

use smbd_core::Access;
use smbd_smb2::wire::{Channel, Dialect, NtStatus};

use crate::suite::rig::Ability;
use crate::suite::session::{Asked, V3, V302};
use crate::suite::{Play, Stop, pattern};

const SEED: u64 = 0x1a7;
const OF_READ: &str = "3.3.5.12-21";
const OF_WRITE: &str = "3.3.5.13-29";
/// Bytes, where it does not matter how many.
const SOME: usize = 65_536;

pub(super) fn write_once(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(V302)?;
    let size = session.max_write().min(session.max_read());
    let content = pattern(SEED, size as usize);
    let buffer = session.buffer(&content, Access::Read)?.by(Channel::RDMA_V1_INVALIDATE);
    let response = session.writes(&buffer, size, 0)?;
    session.invalidates(OF_WRITE, &response, &buffer);
    session.has_written("3.3.5.13-26", &content, 0)?;
    if session.peer.play().can(Ability::Invalidation) {
        let again = Asked::write(&buffer, size, 0);
        session.does_not_succeed(OF_WRITE, &again, "WRITE of a buffer that was invalidated")?;
    }
    Ok(())
}

pub(super) fn read_once(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(V302)?;
    let size = session.max_read().min(session.max_write());
    let content = pattern(SEED + 1, size as usize);
    session.file_has(&content)?;
    let buffer = session.buffer(&vec![0; size as usize], Access::Write)?.by(Channel::RDMA_V1_INVALIDATE);
    let response = session.reads(&buffer, size, 0, size)?;
    session.invalidates(OF_READ, &response, &buffer);
    session.has_read("3.3.5.12-20", &buffer, &content);
    if session.peer.play().can(Ability::Invalidation) {
        let again = Asked::read(&buffer, size, 0);
        session.does_not_succeed(OF_READ, &again, "READ into a buffer that was invalidated")?;
    }
    Ok(())
}

pub(super) fn write_twice(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(V3)?;
    let size = session.max_write().min(session.max_read());
    let buffer = session.buffer(&vec![0; size as usize], Access::Read)?;
    for seed in [SEED + 2, SEED + 3] {
        let content = pattern(seed, size as usize);
        session.peer.fill(buffer.memory.buffer, &content);
        let response = session.writes(&buffer, size, 0)?;
        session.invalidates(OF_WRITE, &response, &buffer);
        session.has_written("3.3.5.13-26", &content, 0)?;
    }
    Ok(())
}

pub(super) fn read_twice(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(V3)?;
    let size = session.max_read().min(session.max_write());
    let content = pattern(SEED + 4, size as usize);
    session.file_has(&content)?;
    let empty = vec![0; size as usize];
    let buffer = session.buffer(&empty, Access::Write)?;
    for _ in 0..2 {
        session.peer.fill(buffer.memory.buffer, &empty);
        let response = session.reads(&buffer, size, 0, size)?;
        session.invalidates(OF_READ, &response, &buffer);
        session.has_read("3.3.5.12-20", &buffer, &content);
    }
    Ok(())
}

pub(super) fn write_in_3_0(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(&[Dialect::SMB_3_0])?;
    let buffer = session.buffer(&pattern(SEED, SOME), Access::Read)?.by(Channel::RDMA_V1_INVALIDATE);
    let asked = Asked::write(&buffer, u32::try_from(SOME).unwrap_or_default(), 0);
    let what = "WRITE in 3.0, channel RDMA_V1_INVALIDATE,";
    session.is_refused("3.3.5.13-03", &asked, what, NtStatus::INVALID_PARAMETER)
}

pub(super) fn read_in_3_0(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(&[Dialect::SMB_3_0])?;
    session.file_has(&pattern(SEED, SOME))?;
    let buffer = session.buffer(&vec![0; SOME], Access::Write)?.by(Channel::RDMA_V1_INVALIDATE);
    let asked = Asked::read(&buffer, u32::try_from(SOME).unwrap_or_default(), 0);
    let what = "READ in 3.0, channel RDMA_V1_INVALIDATE,";
    session.is_refused("3.3.5.12-02", &asked, what, NtStatus::INVALID_PARAMETER)
}
