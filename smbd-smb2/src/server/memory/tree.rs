//! Files and directories.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::security::capital;
use crate::server::locks::Locks;
use crate::wire::FileAttributes;

/// A file or directory.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: u64,
    pub(super) name: String,
    pub(super) creation_time: u64,
    pub(super) last_access_time: u64,
    pub(super) last_write_time: u64,
    pub(super) change_time: u64,
    /// Without DIRECTORY.
    pub(super) attributes: FileAttributes,
    /// It goes when it is closed by all.
    pub(super) is_delete_pending: bool,
    pub(super) body: Body,
}

/// What it has in it.
#[derive(Debug)]
pub(super) enum Body {
    File { data: Vec<u8>, locks: Locks },
    Directory(Directory),
}

/// The entries of a directory.
#[derive(Debug, Default)]
pub(super) struct Directory {
    /// By name, in capitals.
    by_name: BTreeMap<String, u64>,
    pub(super) by_id: BTreeMap<u64, String>,
}

impl Directory {
    pub(super) fn find(&self, name: &str) -> Option<u64> {
        self.by_name.get(&capital(name)).copied()
    }

    pub(super) fn insert(&mut self, name: &str, id: u64) {
        self.by_name.insert(capital(name), id);
        self.by_id.insert(id, name.into());
    }

    pub(super) fn remove(&mut self, id: u64) {
        if let Some(name) = self.by_id.remove(&id) {
            self.by_name.remove(&capital(&name));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}

impl Node {
    pub(super) fn new(parent: u64, name: &str, body: Body, attributes: FileAttributes, now: u64) -> Self {
        Self {
            parent,
            name: name.into(),
            creation_time: now,
            last_access_time: now,
            last_write_time: now,
            change_time: now,
            attributes,
            is_delete_pending: false,
            body,
        }
    }

    pub(super) const fn is_directory(&self) -> bool {
        matches!(self.body, Body::Directory(_))
    }

    /// Whether it is a file that cannot be written.
    pub(super) const fn is_read_only(&self) -> bool {
        !self.is_directory() && self.attributes.contains(FileAttributes::READONLY)
    }

    /// Its data have changed.
    pub(super) const fn written(&mut self, now: u64) {
        self.last_write_time = now;
        self.change_time = now;
    }
}
