//! A program that copies a file in two ways at once: in messages, and with a buffer that the server uses.

use bytes::Bytes;
use smbd_core::Instant;
use smbd_smb2::client::{
    BufferId, Client, Failure, Operation, OperationId, Read, Refused, Reply, SessionHandle, TreeHandle,
    Write, WriteData,
};
use smbd_smb2::security::{Credentials, Fresh, Initiator};
use smbd_smb2::wire::{
    AccessMask, CreateDisposition, CreateOptions, CreateRequest, FileId, NtStatus, Response, SessionId,
    ShareAccess, Text, WriteFlags,
};

use super::super::{PASSWORD, USER};
use crate::smb2::client::FILE;

/// The share that it connects to.
const SHARE: &str = r"\\subject\share";
/// Bytes that are copied at a time, in either way.
const COPIED: u32 = 64 * 1024;
/// The buffer of the second way.
const BUFFER: BufferId = BufferId(1);

/// The result of an operation.
#[derive(Debug)]
pub(super) enum Result {
    Session(SessionHandle),
    Tree(TreeHandle),
    File(FileId),
    Moved(u64),
    Failed(NtStatus),
}

impl Result {
    pub(super) fn of(result: std::result::Result<Reply<'_>, Failure>) -> Self {
        match result {
            Ok(Reply::Session(session)) => Self::Session(session),
            Ok(Reply::Tree(tree, _)) => Self::Tree(tree),
            Ok(Reply::Answer(_, Response::Create(create))) => Self::File(create.file_id),
            Ok(Reply::Read(count) | Reply::Written(count)) => Self::Moved(count),
            Ok(_) => Self::Failed(NtStatus::INTERNAL_ERROR),
            Err(Failure::Status(status)) => Self::Failed(status),
            Err(Failure::Transform(error)) => Self::Failed(error.status()),
            Err(_) => Self::Failed(NtStatus::INTERNAL_ERROR),
        }
    }
}

/// One way of copying.
#[derive(Debug, Default)]
struct Way {
    /// What is under way, and whether it is a READ.
    doing: Option<(OperationId, bool)>,
    /// Where in the file, in bytes.
    offset: u64,
}

impl Way {
    fn is_doing(&self, operation: OperationId) -> Option<bool> {
        self.doing.filter(|(id, _)| *id == operation).map(|(_, reads)| reads)
    }
}

#[derive(Debug, Default)]
pub(super) struct Program {
    file: Option<(TreeHandle, FileId)>,
    tree: Option<TreeHandle>,
    in_messages: Way,
    /// What was read in messages and is not written yet.
    piece: Vec<u8>,
    by_rdma: Way,
    /// What belongs into the buffer, or was in it.
    data: Vec<u8>,
    given: Option<NtStatus>,
}

impl Program {
    pub(super) const fn given(&self) -> Option<NtStatus> {
        self.given
    }

    /// A part of the data of the buffer.
    pub(super) fn part(&mut self, offset: u64, len: u32) -> &mut [u8] {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(len as usize);
        self.data.get_mut(start..end).unwrap_or_default()
    }

    /// The dialect is negotiated.
    pub(super) fn begin(&mut self, client: &mut Client, now: Instant) -> std::result::Result<(), Refused> {
        let user = Credentials::of_password(USER, PASSWORD);
        let fresh = Fresh::new(0, [0xc1; 32]);
        client.login(now, Initiator::ntlm(user, "", ""), fresh, SessionId::NONE).map(|_| ())
    }

    /// Data that came in a message.
    pub(super) fn data(&mut self, operation: OperationId, offset: u64, data: &[u8]) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if self.in_messages.is_doing(operation) == Some(true) {
            // One READ is one message.
            debug_assert_eq!(start, 0, "it is not cut");
            self.piece.extend_from_slice(data);
        }
    }

    pub(super) fn done(
        &mut self,
        client: &mut Client,
        now: Instant,
        operation: OperationId,
        result: Result,
    ) -> std::result::Result<(), Refused> {
        match result {
            Result::Session(session) => client.connect(now, session, SHARE).map(|_| ()),
            Result::Tree(tree) => {
                self.tree = Some(tree);
                let create = CreateRequest {
                    desired_access: AccessMask::READ_DATA.with(AccessMask::WRITE_DATA, true),
                    share_access: ShareAccess::READ.with(ShareAccess::WRITE, true),
                    create_disposition: CreateDisposition::OPEN_IF,
                    create_options: CreateOptions::NON_DIRECTORY_FILE,
                    name: Text::from(FILE),
                    ..CreateRequest::default()
                };
                client.submit(now, tree, &Operation::Create(create)).map(|_| ())
            }
            Result::File(file) => {
                self.file = self.tree.map(|tree| (tree, file));
                self.read_by_rdma(client, now)?;
                self.read_in_messages(client, now)
            }
            Result::Moved(_) | Result::Failed(_) => self.moved(client, now, operation, &result),
        }
    }

    fn moved(
        &mut self,
        client: &mut Client,
        now: Instant,
        operation: OperationId,
        result: &Result,
    ) -> std::result::Result<(), Refused> {
        let count = if let Result::Moved(count) = result { *count } else { 0 };
        if let Some(reads) = self.by_rdma.is_doing(operation) {
            if reads {
                self.given =
                    Some(if let Result::Failed(status) = result { *status } else { NtStatus::SUCCESS });
            }
            return if reads && count > 0 {
                self.write_by_rdma(client, now, count)
            } else {
                self.by_rdma.offset = self.by_rdma.offset.saturating_add(COPIED.into());
                self.read_by_rdma(client, now)
            };
        }
        match self.in_messages.is_doing(operation) {
            // As Linux does, it asks for the rest first if it got less.
            Some(true) if count > 0 && self.piece.len() < COPIED as usize => {
                self.read_in_messages(client, now)
            }
            Some(true) if !self.piece.is_empty() => self.write_in_messages(client, now),
            Some(true) => Ok(()),
            Some(false) => self.read_in_messages(client, now),
            None => Ok(()),
        }
    }

    fn read_by_rdma(&mut self, client: &mut Client, now: Instant) -> std::result::Result<(), Refused> {
        let Some((tree, file_id)) = self.file else { return Ok(()) };
        // In a session that needs transforms which were not negotiated it would go in messages.
        if !client.uses_channel(tree, COPIED.into()) {
            return Ok(());
        }
        self.data = vec![0; COPIED as usize];
        let (offset, length) = (self.by_rdma.offset, COPIED.into());
        let read = Read { file_id, offset, length, buffer: Some(BUFFER), ..Read::default() };
        self.by_rdma.doing = Some((client.submit(now, tree, &Operation::Read(read))?, true));
        Ok(())
    }

    fn write_by_rdma(
        &mut self,
        client: &mut Client,
        now: Instant,
        count: u64,
    ) -> std::result::Result<(), Refused> {
        let Some((tree, file_id)) = self.file else { return Ok(()) };
        let (offset, flags) = (self.by_rdma.offset, WriteFlags::default());
        let write = Write { file_id, offset, flags, data: WriteData::Buffer(BUFFER, count) };
        self.by_rdma.doing = Some((client.submit(now, tree, &Operation::Write(write))?, false));
        Ok(())
    }

    fn read_in_messages(&mut self, client: &mut Client, now: Instant) -> std::result::Result<(), Refused> {
        let Some((tree, file_id)) = self.file else { return Ok(()) };
        let had = self.piece.len() as u64;
        let offset = self.in_messages.offset.saturating_add(had);
        let length = u64::from(COPIED).saturating_sub(had);
        let read = Read { file_id, offset, length, ..Read::default() };
        self.in_messages.doing = Some((client.submit(now, tree, &Operation::Read(read))?, true));
        Ok(())
    }

    fn write_in_messages(&mut self, client: &mut Client, now: Instant) -> std::result::Result<(), Refused> {
        let Some((tree, file_id)) = self.file else { return Ok(()) };
        let (offset, flags) = (self.in_messages.offset, WriteFlags::default());
        let piece = std::mem::take(&mut self.piece);
        self.in_messages.offset = offset.saturating_add(piece.len() as u64);
        let data = WriteData::Bytes(Bytes::from(piece), None);
        let write = Write { file_id, offset, flags, data };
        self.in_messages.doing = Some((client.submit(now, tree, &Operation::Write(write))?, false));
        Ok(())
    }
}
