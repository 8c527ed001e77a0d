//! One request, and the answer to it.

use smbd_smb2::wire::{Body, FileId, Header, NtStatus, WireError, write_element};

use super::state::Failed;

/// A request. If it is related, its ids are those of the request before it (3.3.5.2.7.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) header: Header,
    /// The element, from its header on.
    pub(super) bytes: &'a [u8],
    /// The file of the request before, if this one is related to it.
    pub(super) before: Option<FileId>,
}

/// An answer, whose header grants nothing yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) bytes: Vec<u8>,
    /// The file that the request was about, for the next related one.
    pub(super) file: Option<FileId>,
}

impl From<WireError> for Failed {
    /// 3.3.5.2.6
    fn from(_: WireError) -> Self {
        Self::With(NtStatus::INVALID_PARAMETER)
    }
}

impl Request<'_> {
    /// The file that it is about.
    pub(super) fn file(&self, named: FileId) -> Result<FileId, Failed> {
        if !self.header.is_related() {
            return Ok(named);
        }
        Ok(self.before.ok_or(NtStatus::INVALID_HANDLE)?)
    }

    /// An answer with STATUS_SUCCESS.
    pub(super) fn done(&self, body: &impl Body) -> Result<Reply, Failed> {
        reply(&self.header.response(NtStatus::SUCCESS), body)
    }

    /// An answer with another status that is no error.
    pub(super) fn done_with(&self, status: NtStatus, body: &impl Body) -> Result<Reply, Failed> {
        reply(&self.header.response(status), body)
    }
}

/// An answer with this header.
pub(super) fn reply(header: &Header, body: &impl Body) -> Result<Reply, Failed> {
    let mut bytes = Vec::new();
    write_element(&mut bytes, header, body)?;
    Ok(Reply { bytes, file: None })
}

impl Reply {
    pub(super) fn about(self, file: FileId) -> Self {
        Self { file: Some(file), ..self }
    }
}
