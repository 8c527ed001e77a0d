//! Opening and closing (MS-FSA 2.1.5.1, 2.1.5.5).

use alloc::vec::Vec;

use super::data::{Held, Open, ROOT, Store};
use super::tree::{Body, Directory, Node};
use super::{change, kept};
use crate::server::action::OpenParameters;
use crate::server::locks::Locks;
use crate::server::sharing::Use;
use crate::wire::{AccessMask, CreateAction, CreateDisposition, CreateOptions, FileAttributes, NtStatus};

/// What a file that cannot be written to is not opened for.
const WRITES: u32 = AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0;

/// Opens or makes a file. Returns the id of the open.
pub(super) fn open(
    store: &mut Store,
    how: &OpenParameters,
    now: u64,
) -> Result<(u64, CreateAction), NtStatus> {
    let place = store.parent(&how.path)?;
    let found = match place {
        None => Some(ROOT),
        Some((parent, name)) => store.directory(parent).and_then(|directory| directory.find(name)),
    };
    let is_read_only = found.and_then(|id| store.nodes.get(&id)).is_some_and(Node::is_read_only);
    let access = if is_read_only { how.read_only_access } else { how.access };
    let usage = Use { access, share: how.share_access };
    let (node, action) = match (found, place) {
        (Some(node), _) => (node, existing(store, node, how, usage, now)?),
        (None, Some((parent, name))) => (make(store, parent, name, how, now)?, CreateAction::CREATED),
        (None, None) => return Err(NtStatus::OBJECT_NAME_NOT_FOUND),
    };
    let id = store.new_id();
    let delete_on_close = how.options.contains(CreateOptions::DELETE_ON_CLOSE);
    store.opens.insert(id, Open { node, usage, delete_on_close, held: Held::default() });
    // A directory with something in it stays when it is closed.
    if delete_on_close
        && let Err(status) = change::may_delete(store, node)
        && status != NtStatus::DIRECTORY_NOT_EMPTY
    {
        store.opens.remove(&id);
        return Err(status);
    }
    Ok((id, action))
}

fn existing(
    store: &mut Store,
    id: u64,
    how: &OpenParameters,
    usage: Use,
    now: u64,
) -> Result<CreateAction, NtStatus> {
    let node = store.nodes.get(&id).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    if node.is_delete_pending {
        return Err(NtStatus::DELETE_PENDING);
    }
    if how.disposition == CreateDisposition::CREATE {
        return Err(NtStatus::OBJECT_NAME_COLLISION);
    }
    let replaces =
        how.disposition != CreateDisposition::OPEN && how.disposition != CreateDisposition::OPEN_IF;
    if node.is_directory() {
        if how.options.contains(CreateOptions::NON_DIRECTORY_FILE) || replaces {
            return Err(NtStatus::FILE_IS_A_DIRECTORY);
        }
    } else if how.options.contains(CreateOptions::DIRECTORY_FILE) {
        return Err(NtStatus::NOT_A_DIRECTORY);
    }
    if node.is_read_only() && (replaces || usage.access.0 & WRITES != 0) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    if replaces {
        may_replace(node, how)?;
    }
    // What replaces writes, whatever it was opened for.
    let access = if replaces { usage.access | AccessMask::WRITE_DATA } else { usage.access };
    let usage = Use { access, ..usage };
    let others = store.opens.values().filter(|open| open.node == id);
    if others.into_iter().any(|open| !open.usage.goes_with(&usage)) {
        return Err(NtStatus::SHARING_VIOLATION);
    }
    if !replaces {
        return Ok(CreateAction::OPENED);
    }
    let Some(node) = store.nodes.get_mut(&id) else { return Err(NtStatus::OBJECT_NAME_NOT_FOUND) };
    if let Body::File { data, .. } = &mut node.body {
        store.used = store.used.saturating_sub(data.len() as u64);
        *data = Vec::new();
    }
    node.attributes = kept(how.file_attributes) | FileAttributes::ARCHIVE;
    node.written(now);
    let superseded = how.disposition == CreateDisposition::SUPERSEDE;
    Ok(if superseded { CreateAction::SUPERSEDED } else { CreateAction::OVERWRITTEN })
}

/// Whether a file gets the attributes with which it is replaced. What is hidden has to be known to be so (MS-FSA 2.1.5.1.2).
fn may_replace(node: &Node, how: &OpenParameters) -> Result<(), NtStatus> {
    let hides = FileAttributes(node.attributes.0 & (FileAttributes::HIDDEN.0 | FileAttributes::SYSTEM.0));
    if how.disposition != CreateDisposition::SUPERSEDE && !how.file_attributes.contains(hides) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    may_stay(how)
}

/// Whether what gets its attributes by this can go when it is closed.
fn may_stay(how: &OpenParameters) -> Result<(), NtStatus> {
    let deletes = how.options.contains(CreateOptions::DELETE_ON_CLOSE);
    if deletes && how.file_attributes.contains(FileAttributes::READONLY) {
        return Err(NtStatus::CANNOT_DELETE);
    }
    Ok(())
}

fn make(store: &mut Store, parent: u64, name: &str, how: &OpenParameters, now: u64) -> Result<u64, NtStatus> {
    if how.disposition == CreateDisposition::OPEN || how.disposition == CreateDisposition::OVERWRITE {
        return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
    }
    // Nothing comes into a directory that goes.
    if store.nodes.get(&parent).is_some_and(|parent| parent.is_delete_pending) {
        return Err(NtStatus::DELETE_PENDING);
    }
    let is_directory = how.options.contains(CreateOptions::DIRECTORY_FILE);
    let mut attributes = kept(how.file_attributes);
    may_stay(how)?;
    let body = if is_directory {
        Body::Directory(Directory::default())
    } else {
        attributes = attributes | FileAttributes::ARCHIVE;
        Body::File { data: Vec::new(), locks: Locks::default() }
    };
    store.insert(Node::new(parent, name, body, attributes, now), now)
}

/// Closes an open. What is to be deleted goes with the last.
pub(super) fn close(store: &mut Store, id: u64, now: u64) {
    let Some(open) = store.opens.remove(&id) else { return };
    let may_go = open.delete_on_close && change::may_delete(store, open.node).is_ok();
    let Some(node) = store.nodes.get_mut(&open.node) else { return };
    if let Body::File { locks, .. } = &mut node.body {
        locks.end(id);
    }
    node.is_delete_pending |= may_go;
    if node.is_delete_pending && !store.is_open(open.node) {
        store.remove(open.node, now);
    }
}
