//! An operation that is under way.

use smbd_smb2::client::BufferId;
use smbd_smb2::security::Credentials;

use super::buffer::Allocation;
use super::channels::Command;

/// An operation that is under way, and who waits for it.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) kind: Kind,
    pub(super) command: Command,
}

/// What has to be known of it when it ends.
#[derive(Debug)]
pub(super) enum Kind {
    Plain,
    Login(Credentials),
    /// A session is bound to the connection.
    Bind,
    /// A READ of `len` bytes at most, with what has come of it in messages, or with the buffer into which it comes by RDMA.
    Read {
        len: usize,
        data: Vec<u8>,
        buffer: Option<BufferId>,
    },
    /// A READ of `len` bytes at most into the caller's memory: by RDMA, or of what comes in messages.
    Into {
        len: u32,
    },
    /// A WRITE, with the buffer that has its data.
    Write {
        buffer: Option<BufferId>,
    },
}

impl Running {
    /// Takes data that came in a message, if they are of what is read.
    pub(super) fn take(&mut self, offset: u64, came: &[u8]) {
        let (len, data) = match &mut self.kind {
            Kind::Read { len, data, .. } => (len, data),
            Kind::Into { len } => return take_into(self.command.what.buffer(), *len, offset, came),
            Kind::Plain | Kind::Login(_) | Kind::Bind | Kind::Write { .. } => return,
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let Some(end) = start.checked_add(came.len()).filter(|end| *end <= *len) else { return };
        // Data come in their order.
        if data.len() == start {
            return data.extend_from_slice(came);
        }
        if data.len() < end {
            data.resize(end, 0);
        }
        if let Some(room) = data.get_mut(start..end) {
            room.copy_from_slice(came);
        }
    }
}

/// Puts data into the first `len` bytes of the caller's memory, which are of that operation.
fn take_into(into: Option<&Allocation>, len: u32, offset: u64, came: &[u8]) {
    let end = offset.saturating_add(came.len() as u64);
    if let (Some(into), Ok(start)) = (into, u32::try_from(offset))
        && end <= len.into()
    {
        // The memory has them: no more are read than its length.
        let _ = into.memory.fill(start, came);
    }
}
