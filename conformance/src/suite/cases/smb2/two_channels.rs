//! A session on two connections: over TCP and over SMB Direct.

use smbd_core::Access;
use smbd_smb2::wire::{Channel, Dialect};

use crate::suite::rig::Adapter;
use crate::suite::{Play, Stop, pattern};

const SEED: u64 = 0x2c;
/// Bytes of the file.
const BYTES: usize = 1_024_000;

/// What is written by TCP, through this adapter, is read by RDMA.
pub(super) fn write_and_read(play: &mut Play, by: Adapter) -> Result<(), Stop> {
    let mut first = play.session_over_tcp(by, Dialect::SMB_3_0)?;
    let content = pattern(SEED, BYTES);
    first.file_has(play, &content)?;
    first.is_told_of_rdma(play)?;
    let mut session = first.is_bound(play)?;
    let size = session.max_read().max(1);
    for (index, part) in content.chunks(size as usize).enumerate() {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        let buffer = session.buffer(&vec![0; part.len()], Access::Write)?;
        session.reads(&buffer, length, index as u64 * u64::from(size), length)?;
        session.has_read("3.3.5.12-20", &buffer, part);
        session.peer.deregister(&buffer.memory)?;
    }
    first.ends(play)
}

/// What is written by RDMA is read over TCP.
pub(super) fn read_over_tcp(play: &mut Play) -> Result<(), Stop> {
    let mut first = play.session_over_tcp(Adapter::Any, Dialect::SMB_3_0_2)?;
    let mut session = first.is_bound(play)?;
    let content = pattern(SEED + 1, session.max_write() as usize);
    let buffer = session.buffer(&content, Access::Read)?.by(Channel::RDMA_V1_INVALIDATE);
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    let response = session.writes(&buffer, length, 0)?;
    session.invalidates("3.3.5.13-29", &response, &buffer);
    first.has_written(play, "3.3.5.13-26", &content)?;
    first.ends(play)
}
