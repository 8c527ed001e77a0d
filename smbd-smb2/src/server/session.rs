//! Sessions of a client, their tree connects and open files (3.3.1.8, 3.3.1.9, 3.3.1.10).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use super::action::{Handle, LinkId};
use super::channels::Channels;
use super::negotiated::Agreed;
use super::path::SharePath;
use super::pattern::Pattern;
use crate::security::{Acceptor, Identity, PreauthHash, capital};
use crate::wire::{AccessMask, CreateOptions, TreeId};

/// Session.State, and what a session has in it.
#[derive(Debug)]
pub(super) enum Session {
    /// Nobody is known yet.
    InProgress(Login),
    /// A user.
    Valid(Box<Valid>),
    /// It is over; its keys are for the answers that are still to be sent.
    Ended(Box<Channels>),
}

/// An authentication that goes on, of a new session or of one that is being bound.
#[derive(Debug)]
pub(super) struct Login {
    /// The connection that it goes on on.
    pub(super) on: LinkId,
    /// What was negotiated there.
    pub(super) agreed: Agreed,
    pub(super) acceptor: Acceptor,
    /// Session.PreauthIntegrityHashValue, or PreauthSession.PreauthIntegrityHashValue.
    pub(super) preauth: PreauthHash,
}

/// A session whose user is known.
#[derive(Debug)]
pub(super) struct Valid {
    pub(super) identity: Identity,
    /// Session.ChannelList, and all keys.
    pub(super) channels: Channels,
    /// Of Session.Connection, as it was when the session was made.
    pub(super) agreed: Agreed,
    /// Session.SigningRequired.
    pub(super) signing_required: bool,
    /// Session.EncryptData.
    pub(super) encrypt_data: bool,
    /// Session.TreeConnectTable.
    pub(super) trees: BTreeMap<u32, Tree>,
    /// Session.OpenTable.
    pub(super) opens: BTreeMap<u64, Open>,
}

impl Session {
    /// Whether it is in Connection.SessionTable of this connection.
    pub(super) fn is_on(&self, link: LinkId) -> bool {
        match self {
            Self::InProgress(login) => login.on == link,
            Self::Valid(valid) => valid.channels.has(link),
            Self::Ended(channels) => channels.has(link),
        }
    }

    pub(super) const fn valid(&self) -> Option<&Valid> {
        match self {
            Self::Valid(valid) => Some(valid),
            Self::InProgress(_) | Self::Ended(_) => None,
        }
    }

    /// Keys to protect answers with.
    pub(super) fn channels_mut(&mut self) -> Option<&mut Channels> {
        match self {
            Self::InProgress(_) => None,
            Self::Valid(valid) => Some(&mut valid.channels),
            Self::Ended(channels) => Some(channels),
        }
    }

    pub(super) const fn is_ended(&self) -> bool {
        matches!(self, Self::Ended(_))
    }
}

impl Valid {
    /// Whether it is a session of this user.
    pub(super) fn is_of(&self, name: &str) -> bool {
        match &self.identity {
            Identity::User { user, .. } => capital(user) == capital(name),
            Identity::Guest | Identity::Anonymous => false,
        }
    }

    /// Whether nobody proved who it is.
    pub(super) const fn is_nobody(&self) -> bool {
        match self.identity {
            Identity::User { .. } => false,
            Identity::Guest | Identity::Anonymous => true,
        }
    }
}

/// A tree connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// IPC$, in which nothing can be opened.
    Pipes,
    /// A share of files.
    Files {
        /// Its index.
        share: usize,
        /// TreeConnect.MaximalAccess.
        maximal_access: AccessMask,
        /// Share.EncryptData.
        is_encrypted: bool,
    },
}

impl Tree {
    /// Whether only encrypted messages reach it.
    pub(super) const fn is_secret(&self) -> bool {
        matches!(self, Self::Files { is_encrypted: true, .. })
    }
}

/// An open file.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) handle: Handle,
    pub(super) tree: TreeId,
    /// Open.GrantedAccess.
    pub(super) access: AccessMask,
    /// Open.CreateOptions.
    pub(super) options: CreateOptions,
    pub(super) is_directory: bool,
    /// Open.FileName.
    pub(super) path: SharePath,
    /// Open.ChannelSequence.
    pub(super) channel_sequence: u16,
    /// CurrentByteOffset, as FilePositionInformation has set it.
    pub(super) position: u64,
    /// The enumeration of a directory, once it has begun.
    pub(super) listing: Option<Listing>,
    /// Open.LockSequenceArray: the numbers of valid entries.
    pub(super) lock_sequences: BTreeMap<u8, u8>,
}

impl Open {
    /// Whether it may be read or listed: FILE_EXECUTE implies FILE_READ_DATA (3.3.5.9). FileAccessInformation tells what was asked for.
    pub(super) const fn reads(&self) -> bool {
        self.access.contains(AccessMask::READ_DATA) || self.access.contains(AccessMask::EXECUTE)
    }

    pub(super) fn keep(&mut self, kept: Kept) {
        match kept {
            Kept::Path(path) => self.path = path,
            Kept::Position(position) => self.position = position,
            Kept::LockSequence { index, number } => drop(self.lock_sequences.insert(index, number)),
        }
    }
}

/// What an open keeps of an operation that has succeeded.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// It has another name.
    Path(SharePath),
    /// CurrentByteOffset.
    Position(u64),
    /// Ranges are locked or unlocked (3.3.5.14).
    LockSequence { index: u8, number: u8 },
}

/// How far an enumeration has come.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    pub(super) pattern: Pattern,
    /// [`super::file::Entry::position`] of the last entry that was told.
    pub(super) after: u64,
    /// Whether any entry was told.
    pub(super) has_told: bool,
}
