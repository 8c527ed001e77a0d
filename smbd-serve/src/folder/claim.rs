//! Names that are made, and files that get other names: while the host does it, others who come to the same wait.

use smbd_smb2::security::capital;

use super::beneath::{Key, Place};

/// What is the same for all capitals of a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NameKey {
    pub(super) parent: Key,
    capitals: String,
}

impl Place {
    pub(super) fn key(&self) -> NameKey {
        NameKey { parent: self.parent_key, capitals: capital(&self.name.to_string_lossy()) }
    }
}

/// A name that a file is about to have.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) name: NameKey,
    /// As [`Folder::path`](super::Folder::path) has it.
    pub(super) path: String,
    /// The file, and the path that it has until then. None: it is made.
    pub(super) moves: Option<(Key, String)>,
}

impl Claim {
    /// Whether others who come to this name, or to a path beneath what moves, have to wait.
    pub(super) fn concerns(&self, place: Option<&Place>, path: &str) -> bool {
        let moves_above = self.moves.as_ref().is_some_and(|(_, from)| is_beneath(path, from));
        moves_above
            || place.is_some_and(|place| self.name.parent == place.parent_key && self.name == place.key())
    }

    pub(super) fn moves(&self, key: Key) -> bool {
        self.moves.as_ref().is_some_and(|(moved, _)| *moved == key)
    }
}

pub(super) fn is_beneath(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('\\'))
}
