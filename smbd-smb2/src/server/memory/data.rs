//! All of a file system, and how its parts are found.

use alloc::collections::BTreeMap;
use alloc::string::String;

use super::UNIT;
use super::tree::{Body, Directory, Node};
use crate::server::file::Attributes;
use crate::server::path::SharePath;
use crate::server::sharing::Use;
use crate::wire::{FileAttributes, NtStatus};

/// The root's id.
pub(super) const ROOT: u64 = 1;
/// The most files and directories.
const NODES_MAX: usize = 1 << 16;

/// Nodes by id, and opens by id.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) label: String,
    pub(super) created: u64,
    pub(super) capacity: u64,
    /// Bytes of data.
    pub(super) used: u64,
    pub(super) nodes: BTreeMap<u64, Node>,
    pub(super) opens: BTreeMap<u64, Open>,
    next: u64,
}

/// Times that an open leaves as they are (Open.UserSetModificationTime, Open.UserSetChangeTime of MS-FSA 2.1.1.6).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) last_write: bool,
    pub(super) change: bool,
}

/// A file that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) node: u64,
    pub(super) usage: Use,
    pub(super) delete_on_close: bool,
    pub(super) held: Held,
}

impl Store {
    pub(super) fn new(label: String, now: u64, capacity: u64) -> Self {
        let root = Node::new(ROOT, "", Body::Directory(Directory::default()), FileAttributes::NONE, now);
        let nodes = BTreeMap::from([(ROOT, root)]);
        Self { label, created: now, capacity, used: 0, nodes, opens: BTreeMap::new(), next: ROOT }
    }

    /// An id that was never used.
    pub(super) fn new_id(&mut self) -> u64 {
        self.next = self.next.saturating_add(1);
        self.next
    }

    /// The node that is open.
    pub(super) fn node_of(&self, open: u64) -> Result<(u64, &Node), NtStatus> {
        let id = self.opens.get(&open).ok_or(NtStatus::FILE_CLOSED)?.node;
        Ok((id, self.nodes.get(&id).ok_or(NtStatus::FILE_CLOSED)?))
    }

    pub(super) fn node_of_mut(&mut self, open: u64) -> Result<&mut Node, NtStatus> {
        let id = self.opens.get(&open).ok_or(NtStatus::FILE_CLOSED)?.node;
        self.nodes.get_mut(&id).ok_or(NtStatus::FILE_CLOSED)
    }

    /// The data of what is open have changed.
    pub(super) fn written(&mut self, open: u64, now: u64) -> Result<(), NtStatus> {
        let held = self.opens.get(&open).ok_or(NtStatus::FILE_CLOSED)?.held;
        let node = self.node_of_mut(open)?;
        node.last_write_time = if held.last_write { node.last_write_time } else { now };
        node.change_time = if held.change { node.change_time } else { now };
        Ok(())
    }

    /// The directory that a path is in, with the last name; `None` for the root.
    pub(super) fn parent<'p>(&self, path: &'p SharePath) -> Result<Option<(u64, &'p str)>, NtStatus> {
        let mut components = path.components();
        let Some(name) = components.next_back() else { return Ok(None) };
        let mut at = ROOT;
        for component in components {
            let found = self.directory(at).and_then(|directory| directory.find(component));
            at = found.ok_or(NtStatus::OBJECT_PATH_NOT_FOUND)?;
        }
        self.directory(at).ok_or(NtStatus::OBJECT_PATH_NOT_FOUND)?;
        Ok(Some((at, name)))
    }

    pub(super) fn directory(&self, id: u64) -> Option<&Directory> {
        match &self.nodes.get(&id)?.body {
            Body::Directory(directory) => Some(directory),
            Body::File { .. } => None,
        }
    }

    pub(super) fn directory_mut(&mut self, id: u64) -> Option<&mut Directory> {
        match &mut self.nodes.get_mut(&id)?.body {
            Body::Directory(directory) => Some(directory),
            Body::File { .. } => None,
        }
    }

    /// Puts a node into its directory. Returns its id.
    pub(super) fn insert(&mut self, node: Node, now: u64) -> Result<u64, NtStatus> {
        if self.nodes.len() >= NODES_MAX {
            return Err(NtStatus::DISK_FULL);
        }
        let id = self.new_id();
        if let Some(directory) = self.directory_mut(node.parent) {
            directory.insert(&node.name, id);
        }
        if let Some(parent) = self.nodes.get_mut(&node.parent) {
            parent.written(now);
        }
        self.nodes.insert(id, node);
        Ok(id)
    }

    /// Takes a node away, with what it has in it.
    pub(super) fn remove(&mut self, id: u64, now: u64) {
        let Some(node) = self.nodes.remove(&id) else { return };
        if let Body::File { data, .. } = &node.body {
            self.used = self.used.saturating_sub(data.len() as u64);
        }
        if let Some(directory) = self.directory_mut(node.parent) {
            directory.remove(id);
        }
        if let Some(parent) = self.nodes.get_mut(&node.parent) {
            parent.written(now);
        }
    }

    pub(super) fn is_open(&self, node: u64) -> bool {
        self.opens.values().any(|open| open.node == node)
    }

    pub(super) fn attributes(&self, id: u64, node: &Node) -> Attributes {
        let len = match &node.body {
            Body::File { data, .. } => data.len() as u64,
            Body::Directory(_) => 0,
        };
        let unit = u64::from(UNIT);
        Attributes {
            id,
            creation_time: node.creation_time,
            last_access_time: node.last_access_time,
            last_write_time: node.last_write_time,
            change_time: node.change_time,
            allocation_size: len.checked_next_multiple_of(unit).unwrap_or(len),
            end_of_file: len,
            file_attributes: node.attributes.with(FileAttributes::DIRECTORY, node.is_directory()),
            links: u32::from(!node.is_delete_pending),
            is_delete_pending: node.is_delete_pending,
        }
    }
}
