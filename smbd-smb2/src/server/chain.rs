//! Requests that are answered together: one, or a compound of related ones (3.3.5.2.7.2).

use alloc::vec::Vec;

use bytes::BytesMut;

use super::action::{FRONT, LinkId};
use super::few::Few;
use crate::wire::header::{LEN, field};
use crate::wire::{Command, FileId, Flags, Header, NtStatus, SessionId, Target, Token, TreeId};

/// What is known of a request before its command is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// The connection on which it came.
    pub(super) link: LinkId,
    /// Its header, with the session and tree connect that it is about.
    pub(super) header: Header,
    pub(super) session_id: SessionId,
    pub(super) tree_id: TreeId,
    /// The file that requests before it were about, if it is related to them; or why they have none.
    pub(super) file: Option<Result<FileId, NtStatus>>,
    /// It was signed, and the signature is right.
    pub(super) is_signed: bool,
    pub(super) is_encrypted: bool,
    /// Whether it is the only one of its message.
    pub(super) is_alone: bool,
    /// Whether no related one follows.
    pub(super) is_last: bool,
    /// What its final answer invalidates.
    pub(super) invalidate: Option<Token>,
    /// By which it is known since its interim answer.
    pub(super) async_id: Option<u64>,
}

impl Asked {
    /// The header of its answer. Credits come later.
    pub(super) fn response(&self, status: NtStatus) -> Header {
        let target = match self.async_id {
            Some(async_id) => Target::Async { async_id },
            None => match self.header.target {
                Target::Sync { process_id, .. } => Target::Sync { process_id, tree_id: self.tree_id },
                Target::Async { async_id } => Target::Async { async_id },
            },
        };
        Header { session_id: self.session_id, target, ..self.header.response(status) }
    }

    /// The file that it is about, if it names this one.
    pub(super) fn file_id(&self, named: FileId) -> Result<FileId, NtStatus> {
        self.file.unwrap_or(Ok(named))
    }
}

/// The answer to a request: room for the header of an encrypted message, the header, the body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) bytes: BytesMut,
    pub(super) status: NtStatus,
    pub(super) session_id: SessionId,
    pub(super) tree_id: TreeId,
    /// The file that it is about; or, of a CREATE that failed, why there is none.
    pub(super) file: Option<Result<FileId, NtStatus>>,
    /// Its message goes into a hash.
    pub(super) hash: Option<Hash>,
    /// When it is signed, and with which key.
    pub(super) sign: Sign,
}

/// When an answer is signed (3.3.4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// If the request was, with Channel.SigningKey.
    AsAsked,
    /// With Channel.SigningKey, although the request was not.
    Always,
    /// With Session.SigningKey: to a request that binds the session and has not bound it.
    BySession,
}

/// Whose PreauthIntegrityHashValue a message goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    /// That of the connection.
    Connection,
    /// That of the session.
    Session,
    /// That of the binding of a session.
    Binding,
}

/// What the requests before one leave to it. None: they have none, or it is not there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Previous {
    pub(super) session_id: Option<SessionId>,
    pub(super) tree_id: Option<TreeId>,
    pub(super) file: Option<Result<FileId, NtStatus>>,
}

impl Previous {
    /// What a request and its answer leave, behind those that it is related to.
    fn of(asked: &Asked, answer: &Answer, before: Self) -> Self {
        let Answer { status, session_id, tree_id, file, .. } = *answer;
        let command = asked.header.command;
        let is_related = asked.header.is_related();
        let makes_tree = command == Command::TREE_CONNECT;
        let session_id = if is_related { before.session_id } else { Some(session_id) };
        let tree_id = if is_related && !makes_tree { before.tree_id } else { Some(tree_id) };
        let is_closed = if status.is_error() { status } else { NtStatus::FILE_CLOSED };
        Self {
            session_id: session_id.filter(|id| id.0 != 0 && status != NtStatus::USER_SESSION_DELETED),
            tree_id: tree_id
                .filter(|_| status != NtStatus::NETWORK_NAME_DELETED && !(makes_tree && status.is_error())),
            file: file.or(names_a_file(command).then_some(Err(is_closed))),
        }
    }
}

/// Whether its requests have a FileId.
const fn names_a_file(command: Command) -> bool {
    matches!(
        command,
        Command::CLOSE
            | Command::FLUSH
            | Command::READ
            | Command::WRITE
            | Command::LOCK
            | Command::IOCTL
            | Command::QUERY_DIRECTORY
            | Command::CHANGE_NOTIFY
            | Command::QUERY_INFO
            | Command::SET_INFO
            | Command::OPLOCK_BREAK
    )
}

/// Whether its requests need a tree connect.
pub(super) const fn needs_a_tree(command: Command) -> bool {
    names_a_file(command) || matches!(command, Command::CREATE | Command::TREE_DISCONNECT)
}

/// How an answer is protected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protection {
    pub(super) session_id: SessionId,
    /// `None`: it is not.
    pub(super) sign: Option<Sign>,
    pub(super) encrypt: bool,
    pub(super) hash: Option<Hash>,
}

/// Related requests, while they are carried out.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) previous: Option<Previous>,
    /// The requests that were not begun, one behind the other; filled when one has to wait.
    pub(super) rest: Vec<u8>,
    pub(super) reply: Reply,
}

impl Chain {
    /// What this answer leaves to requests that are related to it.
    pub(super) fn follow(&mut self, asked: &Asked, answer: &Answer) {
        self.previous = Some(Previous::of(asked, answer, self.previous.unwrap_or_default()));
    }
}

/// Answers that go in one message.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) bytes: BytesMut,
    /// Where each begins, and how it is protected.
    pub(super) elements: Few<(usize, Protection)>,
    pub(super) invalidate: Option<Token>,
}

impl Reply {
    /// Puts an answer behind the others, at a multiple of 8.
    pub(super) fn add(&mut self, answer: BytesMut, protection: Protection) {
        let start = if self.elements.is_empty() {
            self.bytes = answer;
            FRONT
        } else {
            self.align();
            let start = self.bytes.len();
            self.bytes.extend_from_slice(answer.get(FRONT..).unwrap_or_default());
            start
        };
        self.elements.push((start, protection));
    }

    /// Pads up to a multiple of 8, counted from the first header.
    fn align(&mut self) {
        let len = self.bytes.len().saturating_sub(FRONT);
        let padded = len.checked_next_multiple_of(8).unwrap_or(len);
        self.bytes.resize(FRONT.saturating_add(padded), 0);
    }

    /// Says in each header where the next one is (3.3.4.1.3), and which are related.
    pub(super) fn link(&mut self) {
        let ends = self.elements.iter().skip(1).map(|(start, _)| Some(*start)).chain([None]);
        for (at, ((start, _), end)) in self.elements.iter().zip(ends).enumerate() {
            let element = self.bytes.get_mut(*start..).unwrap_or_default();
            let next = end.map_or(0, |end| u32::try_from(end.saturating_sub(*start)).unwrap_or(0));
            // Both fields are there: whatever is added has a header.
            let _ = field::NEXT_COMMAND.set(element, next);
            let flags = field::FLAGS.get(element).unwrap_or_default();
            let _ = field::FLAGS.set(element, flags.with(Flags::RELATED_OPERATIONS, at > 0));
        }
    }

    /// The bytes of an answer, and how it is protected.
    pub(super) fn element(&mut self, index: usize) -> Option<(&mut [u8], Protection)> {
        let (start, protection) = *self.elements.get(index)?;
        let end = self.elements.get(index.saturating_add(1)).map_or(self.bytes.len(), |(next, _)| *next);
        Some((self.bytes.get_mut(start..end)?, protection))
    }

    /// Whether an answer can go in the same message, which may be encrypted and has `max` bytes then.
    pub(super) fn has_room(&self, answer: &[u8], max: u32) -> bool {
        let both = self.bytes.len().saturating_add(answer.len()).saturating_sub(FRONT);
        self.elements.is_empty() || both.saturating_add(8) <= max as usize
    }

    pub(super) fn is_long(&self, max: u32) -> bool {
        self.bytes.len() > (max as usize).saturating_add(LEN)
    }
}
