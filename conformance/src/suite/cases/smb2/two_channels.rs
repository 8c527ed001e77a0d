//! A session on two connections: over TCP and over SMB Direct.

use smbd_core::Access;

use crate::suite::rig::Adapter;
use crate::suite::{Play, Stop, pattern};

const SEED: u64 = 0x2c;
/// Bytes of the file.
const BYTES: usize = 1_024_000;

/// What is written by TCP, through this adapter, is read by RDMA.
pub(super) fn write_and_read(play: &mut Play, by: Adapter) -> Result<(), Stop> {
    let mut first = play.session_over_tcp(by)?;
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
