//! A file that is open.

use bytes::Bytes;
use smbd_smb2::wire::NtStatus;
use smbd_smb2::wire::info::class;

use super::buffer::Buffer;
use super::command::{Connected, Opened, Reply, Request, What};
use super::handle::{Handle, Pending, nothing};
use super::stat::Stat;
use crate::Error;

/// A file of a share. It is closed when it is dropped; [`File::close`] says what came of it.
#[derive(Debug)]
pub struct File {
    handle: Handle,
    connected: Connected,
    opened: Opened,
    is_closed: bool,
}

impl File {
    pub(super) const fn new(handle: Handle, connected: Connected, opened: Opened) -> Self {
        Self { handle, connected, opened, is_closed: false }
    }

    /// Bytes of data that it had when it was opened.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.opened.stat.size
    }

    /// What was known of it when it was opened.
    #[must_use]
    pub const fn stat(&self) -> Stat {
        self.opened.stat
    }

    /// The most bytes of one READ.
    #[must_use]
    pub const fn read_max(&self) -> u32 {
        self.connected.read_max
    }

    /// The most bytes of one WRITE.
    #[must_use]
    pub const fn write_max(&self) -> u32 {
        self.connected.write_max
    }

    /// Reads `len` bytes, but no more than [`Self::read_max`], from byte `offset` on. Fewer come at the end of the file, and none behind
    /// it.
    ///
    /// # Errors
    /// What the server says, or [`Error::Ended`].
    pub async fn read_at(&self, offset: u64, len: u32) -> Result<Bytes, Error> {
        match self.start_read(offset, len).await?.wait().await {
            Err(Error::Status(NtStatus::END_OF_FILE)) => Ok(Bytes::new()),
            other => other,
        }
    }

    /// Begins what [`Self::read_at`] does: so several can be under way. Waits for room. Behind the end of the file, the result is
    /// STATUS_END_OF_FILE.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn start_read(&self, offset: u64, len: u32) -> Result<Pending<Bytes>, Error> {
        let of = |reply| match reply {
            Reply::Data(data) => Some(data),
            _ => None,
        };
        let (tree, file_id) = (self.connected.tree, self.opened.file_id);
        let what = What::Read { tree, file_id, offset, len: len.min(self.read_max()) };
        self.handle.start(what, of, "READ").await
    }

    /// Writes all of `data`, from byte `offset` on.
    ///
    /// # Errors
    /// What the server says, [`Error::NotWritten`], or [`Error::Ended`]. A part may have been written.
    pub async fn write_at(&self, mut offset: u64, mut data: Bytes) -> Result<(), Error> {
        while !data.is_empty() {
            let piece = data.slice(..data.len().min(self.write_max() as usize));
            let written = self.start_write(offset, piece).await?.wait().await?;
            let taken = usize::try_from(written).unwrap_or(usize::MAX).min(data.len());
            if taken == 0 {
                return Err(Error::NotWritten { left: data.len() });
            }
            offset = offset.saturating_add(written);
            data = data.split_off(taken);
        }
        Ok(())
    }

    /// Begins to write `data`, of which [`Self::write_max`] bytes are taken at most. Waits for room. The result is how many were written.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn start_write(&self, offset: u64, mut data: Bytes) -> Result<Pending<u64>, Error> {
        let of = |reply| match reply {
            Reply::Written(count) => Some(count),
            _ => None,
        };
        data.truncate(self.write_max() as usize);
        let (tree, file_id) = (self.connected.tree, self.opened.file_id);
        self.handle.start(What::Write { tree, file_id, offset, data }, of, "WRITE").await
    }

    /// Reads `len` bytes, but no more than [`Self::read_max`] and the buffer has room for, from byte `offset` on, to the beginning of a
    /// buffer. Returns how many have come: fewer at the end of the file, none behind it.
    ///
    /// # Errors
    /// What the server says, or [`Error::Ended`].
    pub async fn read_into(&self, offset: u64, buffer: &Buffer, len: u32) -> Result<u32, Error> {
        match self.start_read_into(offset, buffer, len).await?.wait().await {
            Err(Error::Status(NtStatus::END_OF_FILE)) => Ok(0),
            other => other,
        }
    }

    /// Begins what [`Self::read_into`] does. Waits for room. Behind the end of the file, the result is STATUS_END_OF_FILE.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn start_read_into(
        &self,
        offset: u64,
        buffer: &Buffer,
        len: u32,
    ) -> Result<Pending<u32>, Error> {
        let of = |reply| match reply {
            Reply::Filled(count) => Some(count),
            _ => None,
        };
        let (tree, file_id) = (self.connected.tree, self.opened.file_id);
        let (len, buffer) = (len.min(self.read_max()), buffer.allocation().clone());
        self.handle.start(What::ReadInto { tree, file_id, offset, len, buffer }, of, "READ").await
    }

    /// Writes the first `len` bytes of a buffer, but no more than [`Self::write_max`], from byte `offset` on. Returns how many were
    /// written.
    ///
    /// # Errors
    /// What the server says, or [`Error::Ended`].
    pub async fn write_from(&self, offset: u64, buffer: &Buffer, len: u32) -> Result<u64, Error> {
        self.start_write_from(offset, buffer, len).await?.wait().await
    }

    /// Begins what [`Self::write_from`] does. Waits for room.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn start_write_from(
        &self,
        offset: u64,
        buffer: &Buffer,
        len: u32,
    ) -> Result<Pending<u64>, Error> {
        let of = |reply| match reply {
            Reply::Written(count) => Some(count),
            _ => None,
        };
        let (tree, file_id) = (self.connected.tree, self.opened.file_id);
        let (len, buffer) = (len.min(self.write_max()), buffer.allocation().clone());
        self.handle.start(What::WriteFrom { tree, file_id, offset, len, buffer }, of, "WRITE").await
    }

    /// Sets how many bytes it has: what is beyond is gone, what is new is zero.
    ///
    /// # Errors
    /// What the server says, or [`Error::Ended`].
    pub async fn set_size(&self, size: u64) -> Result<(), Error> {
        let input = size.to_le_bytes().to_vec();
        let set = Request::Set { file_id: self.opened.file_id, class: class::FILE_END_OF_FILE, input };
        self.ask(set, "SET_INFO").await
    }

    /// Has the server put on disk what was written. Waits for it.
    ///
    /// # Errors
    /// What the server says, or [`Error::Ended`].
    pub async fn flush(&self) -> Result<(), Error> {
        self.ask(Request::Flush(self.opened.file_id), "FLUSH").await
    }

    /// Closes it. Waits for the server.
    ///
    /// # Errors
    /// What the server says, or [`Error::Ended`].
    pub async fn close(mut self) -> Result<(), Error> {
        self.is_closed = true;
        self.ask(Request::Close(self.opened.file_id), "CLOSE").await
    }

    async fn ask(&self, request: Request, name: &'static str) -> Result<(), Error> {
        self.handle.ask(What::File(self.connected.tree, request), nothing, name).await
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if !self.is_closed {
            self.handle.tell(What::File(self.connected.tree, Request::Close(self.opened.file_id)));
        }
    }
}
