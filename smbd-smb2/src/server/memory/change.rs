//! What SET_INFO changes (MS-FSA 2.1.5.15).

use super::data::{Open, ROOT, Store};
use super::tree::Body;
use crate::server::action::Change;
use crate::server::file::{BasicChange, TimeChange};
use crate::server::path::SharePath;
use crate::wire::{AccessMask, FileAttributes, NtStatus};

/// Changes something of what is open.
pub(super) fn change(store: &mut Store, open: u64, change: &Change, now: u64) -> Result<(), NtStatus> {
    match change {
        Change::Basic(change) => {
            basic(store, open, change, now)?;
        }
        Change::EndOfFile(size) => {
            resize(store, open, *size)?;
            store.written(open, now)?;
        }
        Change::Allocation(size) => {
            let (_, node) = store.node_of(open)?;
            let Body::File { data, .. } = &node.body else { return Err(NtStatus::INVALID_PARAMETER) };
            if *size < data.len() as u64 {
                resize(store, open, *size)?;
                store.written(open, now)?;
            }
        }
        Change::Delete(true) => {
            let (id, _) = store.node_of(open)?;
            may_delete(store, id)?;
            store.node_of_mut(open)?.is_delete_pending = true;
        }
        Change::Delete(false) => store.node_of_mut(open)?.is_delete_pending = false,
        Change::Rename { path, replace } => rename(store, open, path, *replace, now)?,
    }
    Ok(())
}

fn basic(store: &mut Store, open: u64, change: &BasicChange, now: u64) -> Result<(), NtStatus> {
    let held = &mut store.opens.get_mut(&open).ok_or(NtStatus::FILE_CLOSED)?.held;
    held.last_write = change.last_write_time.map_or(held.last_write, TimeChange::holds);
    held.change = change.change_time.map_or(held.change, TimeChange::holds);
    let held = *held;
    let node = store.node_of_mut(open)?;
    if let Some(attributes) = change.file_attributes {
        node.attributes = attributes;
    }
    node.creation_time = change.creation_time.unwrap_or(node.creation_time);
    let of = |change: Option<TimeChange>, old| change.and_then(TimeChange::set).unwrap_or(old);
    node.last_access_time = of(change.last_access_time, node.last_access_time);
    node.last_write_time = of(change.last_write_time, node.last_write_time);
    node.change_time = of(change.change_time, if held.change { node.change_time } else { now });
    Ok(())
}

/// Gives a file this length, if there is room for it.
pub(super) fn resize(store: &mut Store, open: u64, size: u64) -> Result<(), NtStatus> {
    let (_, node) = store.node_of(open)?;
    let Body::File { data, .. } = &node.body else { return Err(NtStatus::INVALID_PARAMETER) };
    let used = store.used.saturating_sub(data.len() as u64).saturating_add(size);
    let size = usize::try_from(size).map_err(|_| NtStatus::DISK_FULL)?;
    if used > store.capacity {
        return Err(NtStatus::DISK_FULL);
    }
    if let Body::File { data, .. } = &mut store.node_of_mut(open)?.body {
        data.resize(size, 0);
    }
    store.used = used;
    Ok(())
}

/// Whether a file or directory can be deleted.
pub(super) fn may_delete(store: &Store, id: u64) -> Result<(), NtStatus> {
    let node = store.nodes.get(&id).ok_or(NtStatus::FILE_CLOSED)?;
    if id == ROOT || node.attributes.contains(FileAttributes::READONLY) {
        return Err(NtStatus::CANNOT_DELETE);
    }
    match &node.body {
        Body::Directory(directory) if !directory.is_empty() => Err(NtStatus::DIRECTORY_NOT_EMPTY),
        Body::Directory(_) | Body::File { .. } => Ok(()),
    }
}

fn rename(store: &mut Store, open: u64, path: &SharePath, replace: bool, now: u64) -> Result<(), NtStatus> {
    let (id, node) = store.node_of(open)?;
    let old_parent = node.parent;
    if id == ROOT || node.is_delete_pending {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let (parent, name) = store.parent(path)?.ok_or(NtStatus::INVALID_PARAMETER)?;
    // Nothing that is open gets another path, and nothing comes into a directory that somebody may delete (MS-FSA 2.1.5.15.11).
    let is_beneath = |node: u64| node != id && is_within(store, node, id);
    if is_within(store, parent, id) || store.opens.values().any(|open| is_beneath(open.node)) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    if parent == old_parent && *name == *node.name {
        return Ok(());
    }
    let deletes = |open: &Open| open.node == parent && open.usage.access.contains(AccessMask::DELETE);
    let may_go = store.opens.values().any(deletes);
    let target = store.directory(parent).and_then(|directory| directory.find(name));
    if let Some(target) = target.filter(|target| *target != id) {
        if !replace {
            return Err(NtStatus::OBJECT_NAME_COLLISION);
        }
        let is_directory = store.directory(target).is_some();
        if is_directory || store.is_open(target) || may_delete(store, target).is_err() {
            return Err(NtStatus::ACCESS_DENIED);
        }
    }
    if may_go {
        return Err(NtStatus::SHARING_VIOLATION);
    }
    if let Some(target) = target.filter(|target| *target != id) {
        store.remove(target, now);
    }
    if let Some(directory) = store.directory_mut(old_parent) {
        directory.remove(id);
    }
    if let Some(directory) = store.directory_mut(parent) {
        directory.insert(name, id);
    }
    for changed in [old_parent, parent] {
        if let Some(node) = store.nodes.get_mut(&changed) {
            node.written(now);
        }
    }
    let node = store.node_of_mut(open)?;
    node.parent = parent;
    node.name = name.into();
    node.change_time = now;
    Ok(())
}

/// Whether a directory is another one, or below it.
fn is_within(store: &Store, mut directory: u64, other: u64) -> bool {
    // The way up has no more steps than there are directories.
    for _ in 0..store.nodes.len() {
        if directory == other {
            return true;
        }
        if directory == ROOT {
            return false;
        }
        directory = store.nodes.get(&directory).map_or(ROOT, |node| node.parent);
    }
    false
}
