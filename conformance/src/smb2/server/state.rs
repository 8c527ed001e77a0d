//! What the server remembers of its client: dialect, credits, sessions, trees and opens, each with a limit.

use std::collections::BTreeMap;

use smbd_smb2::wire::{
    AccessMask, Capabilities, Dialect, FileId, Guid, Header, NtStatus, SecurityMode, SessionId, TreeId,
};

use super::bad::BadMessage;
use super::files::{FileError, Files};
use super::options::Options;
use super::security::Security;

/// Sessions of a connection at most.
pub const SESSIONS_MAX: usize = 16;
/// Trees of a session at most.
pub const TREES_MAX: usize = 64;
/// Opens of a session at most.
pub const OPENS_MAX: usize = 1024;

/// Why a request does not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// It is answered with this status.
    With(NtStatus),
    /// It is not answered, and the connection has to end.
    End(BadMessage),
}

impl From<NtStatus> for Failed {
    fn from(status: NtStatus) -> Self {
        Self::With(status)
    }
}

impl From<FileError> for Failed {
    fn from(error: FileError) -> Self {
        Self::With(match error {
            FileError::Full => NtStatus::DISK_FULL,
            FileError::Exists => NtStatus::OBJECT_NAME_COLLISION,
            FileError::Missing => NtStatus::FILE_CLOSED,
            FileError::Name => NtStatus::OBJECT_NAME_INVALID,
        })
    }
}

/// What the NEGOTIATE of the client said, for a later check of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) dialect: Dialect,
    pub(super) dialects: Vec<Dialect>,
    pub(super) client: Guid,
    pub(super) security_mode: SecurityMode,
    pub(super) capabilities: Capabilities,
}

/// How far NEGOTIATE has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    New,
    /// Asked in SMB1, and answered that it has to be asked in SMB2 again.
    AskedAgain,
    Agreed(Agreed),
}

/// What a tree connect leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    Files,
    /// `IPC$`, which has nothing.
    Pipes,
}

/// A scan of the folder: the entries that were there when it began, and how many of them were told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scan {
    pub(super) entries: Vec<(String, u64)>,
    pub(super) told: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) tree: TreeId,
    /// The file's number.
    pub(super) number: u64,
    /// Empty for the folder.
    pub(super) name: String,
    pub(super) access: AccessMask,
    pub(super) delete: bool,
    pub(super) scan: Option<Scan>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Session {
    /// The second SESSION_SETUP has come.
    pub(super) is_valid: bool,
    pub(super) trees: BTreeMap<TreeId, Share>,
    /// By the volatile part of their ids.
    pub(super) opens: BTreeMap<u64, Open>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) options: Options,
    pub(super) phase: Phase,
    pub(super) files: Files,
    pub(super) sessions: BTreeMap<SessionId, Session>,
    /// Of a user who is let in.
    pub(super) security: Option<Box<Security>>,
    /// Credits that the client has.
    credits: u16,
    /// The last number that a session, a tree or an open was given.
    last: u32,
}

impl State {
    pub(super) fn new(mut options: Options) -> Self {
        options.credits_max = options.credits_max.max(1);
        let files = std::mem::take(&mut options.files);
        let security = options.secured.take().map(|how| Box::new(Security::new(how)));
        Self { options, phase: Phase::New, files, sessions: BTreeMap::new(), security, credits: 1, last: 0 }
    }

    /// What was agreed on.
    pub(super) const fn agreed(&self) -> Option<&Agreed> {
        match &self.phase {
            Phase::Agreed(agreed) => Some(agreed),
            Phase::New | Phase::AskedAgain => None,
        }
    }

    fn next(&mut self) -> Result<u32, Failed> {
        let next = self.last.checked_add(1).filter(|next| *next != u32::MAX);
        self.last = next.ok_or(NtStatus::INSUFFICIENT_RESOURCES)?;
        Ok(self.last)
    }

    /// Takes the credits that a request consumes (3.3.5.2.3).
    pub(super) fn charge(&mut self, header: &Header) -> Result<(), BadMessage> {
        let (charge, credits) = (header.credit_charge.max(1), self.credits);
        self.credits = credits.checked_sub(charge).ok_or(BadMessage::Credits { charge, credits })?;
        Ok(())
    }

    /// Gives what an answer grants: what the request asks for, up to the limit, and never so little that the client has none
    /// (3.3.1.2).
    pub(super) fn grant(&mut self, asked: u16) -> u16 {
        let room = self.options.credits_max.saturating_sub(self.credits);
        let least = u16::from(self.credits == 0);
        let granted = asked.min(room).max(least);
        self.credits = self.credits.saturating_add(granted);
        granted
    }

    /// Whether a request pays for this many bytes (3.3.5.2.5).
    pub(super) fn pays(&self, header: &Header, bytes: u32) -> Result<(), Failed> {
        let is_counted = self.agreed().is_some_and(|agreed| agreed.dialect > Dialect::SMB_2_0_2);
        let charge = u32::from(header.credit_charge.max(1));
        if is_counted && bytes.div_ceil(1 << 16) > charge {
            return Err(NtStatus::INVALID_PARAMETER.into());
        }
        Ok(())
    }

    /// A session that is not valid yet.
    pub(super) fn new_session(&mut self) -> Result<SessionId, Failed> {
        if self.sessions.len() >= SESSIONS_MAX {
            return Err(NtStatus::INSUFFICIENT_RESOURCES.into());
        }
        let id = SessionId(self.next()?.into());
        self.sessions.insert(id, Session::default());
        Ok(id)
    }

    /// A session that can be used (3.3.5.2.9).
    pub(super) fn session(&mut self, id: SessionId) -> Result<&mut Session, Failed> {
        let session = self.sessions.get_mut(&id).filter(|session| session.is_valid);
        Ok(session.ok_or(NtStatus::USER_SESSION_DELETED)?)
    }

    /// Ends a session with all that is open in it.
    pub(super) fn end_session(&mut self, id: SessionId) {
        let session = self.sessions.remove(&id).unwrap_or_default();
        session.opens.into_values().for_each(|open| self.close(&open));
    }

    pub(super) fn new_tree(&mut self, session: SessionId, share: Share) -> Result<TreeId, Failed> {
        let id = TreeId(self.next()?);
        let trees = &mut self.session(session)?.trees;
        if trees.len() >= TREES_MAX {
            return Err(NtStatus::INSUFFICIENT_RESOURCES.into());
        }
        trees.insert(id, share);
        Ok(id)
    }

    /// What the tree of a request leads to (3.3.5.2.11).
    pub(super) fn tree(&mut self, header: &Header) -> Result<(TreeId, Share), Failed> {
        let id = header.tree_id().ok_or(NtStatus::INVALID_PARAMETER)?;
        let share = self.session(header.session_id)?.trees.get(&id);
        Ok((id, *share.ok_or(NtStatus::NETWORK_NAME_DELETED)?))
    }

    /// Ends a tree with all that is open in it.
    pub(super) fn end_tree(&mut self, header: &Header) -> Result<(), Failed> {
        let (tree, _) = self.tree(header)?;
        let session = self.session(header.session_id)?;
        session.trees.remove(&tree);
        let in_tree: Vec<u64> =
            session.opens.iter().filter(|(_, open)| open.tree == tree).map(|(id, _)| *id).collect();
        let closed: Vec<_> = in_tree.iter().filter_map(|id| session.opens.remove(id)).collect();
        closed.iter().for_each(|open| self.close(open));
        Ok(())
    }

    pub(super) fn new_open(&mut self, session: SessionId, open: Open) -> Result<FileId, Failed> {
        let volatile = u64::from(self.next()?);
        let opens = &mut self.session(session)?.opens;
        if opens.len() >= OPENS_MAX {
            return Err(NtStatus::INSUFFICIENT_RESOURCES.into());
        }
        opens.insert(volatile, open);
        Ok(FileId { persistent: volatile, volatile })
    }

    /// Session, tree and open of a request.
    pub(super) fn open(&mut self, header: &Header, file: FileId) -> Result<&mut Open, Failed> {
        let (tree, _) = self.tree(header)?;
        let open = self.session(header.session_id)?.opens.get_mut(&file.volatile);
        let open = open.filter(|open| open.tree == tree && file.persistent == file.volatile);
        Ok(open.ok_or(NtStatus::FILE_CLOSED)?)
    }

    /// Whether somebody wants a file to go when it is closed.
    pub(super) fn is_going(&self, number: u64) -> bool {
        self.sessions
            .values()
            .flat_map(|session| session.opens.values())
            .any(|open| open.number == number && open.delete)
    }

    /// Whether a file is open.
    pub(super) fn is_open(&self, number: u64) -> bool {
        self.sessions.values().flat_map(|session| session.opens.values()).any(|open| open.number == number)
    }

    /// Tells all opens of a file by its old name of the new one.
    pub(super) fn renamed(&mut self, number: u64, old: &str, new: &str) {
        let opens = self.sessions.values_mut().flat_map(|session| session.opens.values_mut());
        for open in opens.filter(|open| open.number == number && open.name == old) {
            new.clone_into(&mut open.name);
        }
    }

    /// Closes an open, which is in no table any more; a file that is to go goes with the last of them.
    pub(super) fn close(&mut self, open: &Open) {
        let mut others = self.sessions.values_mut().flat_map(|session| session.opens.values_mut());
        match others.find(|other| other.number == open.number) {
            // MS-FSA 2.1.5.5: it goes when the last has closed it.
            Some(other) => other.delete |= open.delete,
            None => {
                if open.delete && self.files.find(&open.name) == Some(open.number) {
                    self.files.unlink(&open.name);
                }
                self.files.forget(open.number);
            }
        }
    }
}
