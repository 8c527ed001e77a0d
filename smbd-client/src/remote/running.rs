//! An operation that is under way.

use smbd_smb2::client::BufferId;
use smbd_smb2::security::Credentials;

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
    /// A READ by RDMA into the caller's memory.
    Into,
    /// A WRITE, with the buffer that has its data.
    Write {
        buffer: Option<BufferId>,
    },
}

impl Running {
    /// Takes data that came in a message, if they are of what is read.
    pub(super) fn take(&mut self, offset: u64, came: &[u8]) {
        let Kind::Read { len, data, .. } = &mut self.kind else { return };
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
