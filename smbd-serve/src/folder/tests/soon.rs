//! Reads that wait for nothing.

use std::fs::File;
use std::io::IoSliceMut;

use rustix::io::{Errno, ReadWriteFlags, preadv2};
use smbd_link::transport::{Heap, Memory as _};
use smbd_smb2::server::{BasicChange, Change, FileSystem as _, ReadBuffer, TimeChange};
use smbd_smb2::wire::{LockElement, LockFlags, NtStatus};

use super::{How, Rig};
use crate::served::Served as _;

const CONTENT: &[u8] = b"0123456789";

/// Whether the file system of this file reads without waiting, as the system says.
fn has_nowait(rig: &Rig) -> bool {
    let file = File::open(rig.host("f")).unwrap();
    let mut into = [0; CONTENT.len()];
    match preadv2(&file, &mut [IoSliceMut::new(&mut into)], 0, ReadWriteFlags::NOWAIT) {
        Ok(count) => {
            assert_eq!(count, CONTENT.len(), "it was just written");
            true
        }
        Err(Errno::OPNOTSUPP) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn bytes_in_memory_are_read_at_once_where_the_file_system_can_tell() {
    let mut rig = Rig::new();
    rig.write("f", CONTENT);
    let file = rig.open("f").unwrap();
    let can = has_nowait(&rig);
    // It is asked once, and then known.
    for _ in 0..2 {
        let (mut into, memory) = (ReadBuffer::with_len(20), Heap::allocate(20).unwrap());
        assert_eq!(rig.folder.read_soon(&file, 3, &mut into), Ok(can.then_some(7)));
        assert_eq!(rig.folder.read_to_soon(&file, 0, (&memory, 20)), Ok(can.then_some(10)));
        assert_eq!(
            rig.folder.read_soon(&file, 10, &mut ReadBuffer::with_len(20)),
            Ok(can.then_some(0)),
            "at the end"
        );
        let mut read = [0; 10];
        memory.read(0, &mut read).unwrap();
        assert!(!can || (into.space()[..7] == CONTENT[3..] && read == CONTENT));
    }
}

#[test]
fn a_read_at_once_heeds_locks_of_others_and_leaves_directories_and_held_times_to_a_thread() {
    let mut rig = Rig::new();
    rig.write("f", CONTENT);
    rig.make_directory("d").unwrap();
    let [file, other] = [rig.open("f").unwrap(), rig.open_as("f", How::default()).unwrap().0];
    let range = LockElement { offset: 0, length: 5, flags: LockFlags::EXCLUSIVE_LOCK };
    rig.folder.lock(&other, &range).unwrap();
    assert_eq!(
        rig.folder.read_soon(&file, 4, &mut ReadBuffer::with_len(4)),
        Err(NtStatus::FILE_LOCK_CONFLICT)
    );
    assert_eq!(
        rig.folder.read_soon(&file, 5, &mut ReadBuffer::with_len(4)),
        Ok(has_nowait(&rig).then_some(4))
    );
    let directory = rig.open("d").unwrap();
    assert_eq!(
        rig.folder.read_soon(&directory, 0, &mut ReadBuffer::with_len(4)),
        Ok(None),
        "the thread has the status"
    );
    // The time is set again behind each read, which waits for the disk.
    let change = BasicChange { last_access_time: Some(TimeChange::Set(1 << 56)), ..BasicChange::default() };
    rig.folder.change(&file, &Change::Basic(change), 0).unwrap();
    assert_eq!(rig.folder.read_soon(&file, 5, &mut ReadBuffer::with_len(4)), Ok(None));
}
