//! What the client of a run knows: sessions, tree connects, files, and what it has asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use smbd_smb2::client::{BufferId, Failure, OperationId, SessionHandle, TreeHandle};
use smbd_smb2::wire::FileId;

use crate::content::Content;

/// A tree connect. It has a directory of its own.
#[derive(Debug, Default)]
pub struct Tree {
    pub session: usize,
    pub share: &'static str,
    pub handle: Option<TreeHandle>,
    /// Its directory.
    pub root: Option<FileId>,
    /// Files in it that are made, looked at and removed, and what is in them.
    pub temps: BTreeMap<String, Vec<u8>>,
    pub made: usize,
    /// Names may be coming and going.
    pub changing: usize,
    /// A listing is under way, with the names that have come.
    pub listing: Option<Vec<String>>,
}

/// A range of a file that is locked, or waited for.
#[derive(Debug, Default)]
pub struct Lock {
    /// Which handle has it.
    pub holder: Option<usize>,
    pub waiting: Option<(OperationId, usize)>,
    /// Something else about it is under way.
    pub is_busy: bool,
}

#[derive(Debug, Default)]
pub struct File {
    pub tree: usize,
    pub name: String,
    pub handles: Vec<FileId>,
    pub content: Content,
    /// Nothing is known of it any more.
    pub is_lost: bool,
    /// It was made.
    pub is_there: bool,
    pub lock: Lock,
}

/// What is done with a file, for what must not happen at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    Reads(Range<usize>),
    Writes(Range<usize>),
    /// Nothing else.
    All,
}

impl Claim {
    pub fn excludes(&self, other: &Self) -> bool {
        let overlap = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        match (self, other) {
            (Self::All, _) | (_, Self::All) => true,
            (Self::Reads(_), Self::Reads(_)) => false,
            (Self::Reads(a) | Self::Writes(a), Self::Reads(b) | Self::Writes(b)) => overlap(a, b),
        }
    }
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Login(usize),
    Reauthenticate,
    Logoff,
    Connect(usize),
    Disconnect,
    MakeRoot(usize),
    Open(usize),
    Close,
    Read {
        file: usize,
        offset: usize,
        len: usize,
    },
    Write {
        file: usize,
        offset: usize,
        data: Vec<u8>,
    },
    Resize {
        file: usize,
        size: usize,
    },
    Flush,
    Size {
        file: usize,
    },
    /// Whether it is one that waits, and of which handle.
    Lock {
        file: usize,
        handle: usize,
        waits: bool,
    },
    Unlock {
        file: usize,
        handle: usize,
    },
    Notify,
    List(usize),
    Echo,
    /// A member of a compound about a file that is made, looked at or removed.
    Temp {
        tree: usize,
        name: String,
        step: Step,
    },
}

/// What a member of a compound does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Make,
    Fill(Vec<u8>),
    Open,
    Look,
    Remove,
    /// With what is there then: these bytes, or no file.
    Close(Option<Vec<u8>>),
}

/// An operation that is under way.
#[derive(Debug)]
pub struct Running {
    pub what: What,
    pub claim: Option<(usize, Claim)>,
    pub buffer: Option<BufferId>,
    pub got: Vec<u8>,
    /// Parts of it that came by RDMA and were checked.
    pub checked: Vec<Range<usize>>,
    /// What comes by RDMA has to be checked.
    pub is_covered: bool,
    /// Its cancellation was asked for, or its file is being closed.
    pub is_cancelled: bool,
}

impl Running {
    /// How many bytes of a READ were checked; `None` if none have to be.
    pub fn checked(&self) -> Option<usize> {
        let checked = self.checked.iter().map(Range::len).sum();
        (self.is_covered || checked > 0).then_some(checked)
    }

    /// Whether it waits until somebody else does something.
    pub const fn waits(&self) -> bool {
        matches!(self.what, What::Notify | What::Lock { waits: true, .. })
    }
}

/// What came of an operation.
#[derive(Debug)]
pub enum Kept {
    Session(SessionHandle),
    Tree(TreeHandle),
    Moved(u64),
    Created(FileId),
    Listed(Vec<String>),
    Size(u64),
    Other,
    Failed(Failure),
}

/// What is done one after the other, before and behind everything else.
#[derive(Clone, Debug)]
pub enum Todo {
    Login(usize),
    Connect(usize),
    MakeRoot(usize),
    Open(usize),
    Close(usize),
    CloseRoot(usize),
    Disconnect(usize),
    Logoff(usize),
}

/// The names of a listing (FileDirectoryInformation, MS-FSCC 2.4.10).
pub fn names(output: &[u8]) -> Option<Vec<String>> {
    let number = |at: usize| output.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (mut at, mut names) = (0, Vec::new());
    loop {
        let (next, len) = (number(at)? as usize, number(at + 60)? as usize);
        let name = output.get(at + 64..at + 64 + len)?;
        let units: Vec<u16> =
            name.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        names.push(String::from_utf16(&units).ok()?);
        if next == 0 {
            return Some(names);
        }
        at += next;
    }
}

/// The names that a directory has to have.
pub fn expected(tree: usize, files: &[File], temps: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let own = files.iter().filter(|file| file.tree == tree && file.is_there);
    let own = own.filter_map(|file| file.name.rsplit('\\').next()).map(str::to_owned);
    own.chain(temps.keys().cloned()).chain([".".to_owned(), "..".to_owned()]).collect()
}
