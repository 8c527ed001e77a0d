//! What is said about files and about the file system (MS-FSCC 2.4, 2.5).

use bytes::BufMut;
use smbd_smb2::wire::{AccessMask, DirectoryInformationClass as Class, FileAttributes};

use super::files::{Facts, NAME_MAX, STORED_MAX, Times};

/// Bytes of a unit in which the share gives room.
const UNIT: u64 = 4096;
const SECTOR: u32 = 512;
const SECTORS_IN_UNIT: u32 = 8;
/// What stands for the serial number of the volume.
const SERIAL: u32 = 0x736d_6264;

/// What an open has to say besides its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened<'a> {
    pub(super) facts: Facts,
    /// As it was opened; the folder's is empty.
    pub(super) name: &'a str,
    pub(super) access: AccessMask,
    pub(super) delete_pending: bool,
}

/// FileAttributes (MS-FSCC 2.6).
pub(super) const fn attributes(facts: &Facts) -> FileAttributes {
    if facts.is_folder { FileAttributes::DIRECTORY } else { FileAttributes::NORMAL }
}

/// AllocationSize.
pub(super) const fn allocated(facts: &Facts) -> u64 {
    facts.len.div_ceil(UNIT).saturating_mul(UNIT)
}

pub(super) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn put_times(out: &mut Vec<u8>, times: &Times) {
    for time in [times.created, times.accessed, times.written, times.changed] {
        out.put_u64_le(time);
    }
}

/// Some text behind its length in bytes.
fn put_counted(out: &mut Vec<u8>, text: &[u8]) {
    out.put_u32_le(text.len() as u32);
    out.put_slice(text);
}

/// 2.4.7
fn put_basic(out: &mut Vec<u8>, facts: &Facts) {
    put_times(out, &facts.times);
    out.put_u32_le(attributes(facts).0);
    out.put_u32_le(0);
}

/// 2.4.47
fn put_standard(out: &mut Vec<u8>, opened: &Opened<'_>) {
    out.put_u64_le(allocated(&opened.facts));
    out.put_u64_le(opened.facts.len);
    out.put_u32_le(opened.facts.links);
    out.put_u8(opened.delete_pending.into());
    out.put_u8(opened.facts.is_folder.into());
    out.put_u16_le(0);
}

/// Information of a file and the size of its fixed part; `None` for a class that is not known.
pub(super) fn file(class: u8, opened: &Opened<'_>) -> Option<(Vec<u8>, usize)> {
    let (facts, name) = (&opened.facts, utf16(&format!("\\{}", opened.name)));
    let mut out = Vec::new();
    let mut fixed = None;
    match class {
        4 => put_basic(&mut out, facts),
        5 => put_standard(&mut out, opened),
        6 => out.put_u64_le(facts.number),
        // EaSize; MODE; Alignment: none of them.
        7 | 16 | 17 => out.put_u32_le(0),
        8 => out.put_u32_le(opened.access.0),
        9 | 48 => {
            fixed = Some(4);
            put_counted(&mut out, &name);
        }
        14 => out.put_u64_le(0),
        18 => {
            put_basic(&mut out, facts);
            put_standard(&mut out, opened);
            out.put_u64_le(facts.number);
            out.put_u32_le(0);
            out.put_u32_le(opened.access.0);
            // CurrentByteOffset, Mode, AlignmentRequirement.
            out.put_bytes(0, 8 + 4 + 4);
            fixed = Some(out.len().saturating_add(4));
            put_counted(&mut out, &name);
        }
        22 if facts.is_folder => {}
        22 => {
            let stream = utf16("::$DATA");
            out.put_u32_le(0);
            out.put_u32_le(stream.len() as u32);
            out.put_u64_le(facts.len);
            out.put_u64_le(allocated(facts));
            out.put_slice(&stream);
        }
        34 => {
            put_times(&mut out, &facts.times);
            out.put_u64_le(allocated(facts));
            out.put_u64_le(facts.len);
            out.put_u32_le(attributes(facts).0);
            out.put_u32_le(0);
        }
        35 => {
            out.put_u32_le(attributes(facts).0);
            out.put_u32_le(0);
        }
        59 => {
            out.put_u64_le(SERIAL.into());
            out.put_u128_le(facts.number.into());
        }
        _ => return None,
    }
    let fixed = fixed.unwrap_or(out.len());
    Some((out, fixed))
}

/// Information of the file system and the size of its fixed part; `None` for a class that is not known.
pub(super) fn file_system(class: u8, created: u64) -> Option<(Vec<u8>, usize)> {
    let units = STORED_MAX.div_ceil(UNIT);
    let mut out = Vec::new();
    let mut fixed = None;
    match class {
        1 => {
            out.put_u64_le(created);
            out.put_u32_le(SERIAL);
            let label = utf16("smbd");
            out.put_u32_le(label.len() as u32);
            // SupportsObjects, Reserved.
            out.put_u16_le(0);
            fixed = Some(out.len());
            out.put_slice(&label);
        }
        3 => {
            out.put_u64_le(units);
            out.put_u64_le(units);
            out.put_u32_le(SECTORS_IN_UNIT);
            out.put_u32_le(SECTOR);
        }
        4 => {
            // FILE_DEVICE_DISK, FILE_DEVICE_IS_MOUNTED.
            out.put_u32_le(7);
            out.put_u32_le(0x20);
        }
        5 => {
            // Names differ by case, keep it, and are Unicode.
            out.put_u32_le(0x7);
            out.put_u32_le(NAME_MAX as u32);
            fixed = Some(12);
            put_counted(&mut out, &utf16("NTFS"));
        }
        7 => {
            for _ in 0..3 {
                out.put_u64_le(units);
            }
            out.put_u32_le(SECTORS_IN_UNIT);
            out.put_u32_le(SECTOR);
        }
        11 => {
            for _ in 0..4 {
                out.put_u32_le(SECTOR);
            }
            // Aligned, without a time to seek.
            out.put_u32_le(0x7);
            out.put_u64_le(0);
        }
        _ => return None,
    }
    let fixed = fixed.unwrap_or(out.len());
    Some((out, fixed))
}

/// Whether entries of the folder can be told as this class.
pub(super) fn is_entry_class(class: Class) -> bool {
    const KNOWN: [Class; 6] = [
        Class::DIRECTORY,
        Class::FULL_DIRECTORY,
        Class::BOTH_DIRECTORY,
        Class::NAMES,
        Class::ID_BOTH_DIRECTORY,
        Class::ID_FULL_DIRECTORY,
    ];
    KNOWN.contains(&class)
}

/// An entry of the folder, without the offset of the next (MS-FSCC 2.4.10, 2.4.18, 2.4.8, 2.4.32, 2.4.22, 2.4.24).
pub(super) fn entry(class: Class, facts: &Facts, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let name = utf16(name);
    // NextEntryOffset, FileIndex.
    out.put_u64_le(0);
    if class != Class::NAMES {
        put_times(&mut out, &facts.times);
        out.put_u64_le(facts.len);
        out.put_u64_le(allocated(facts));
        out.put_u32_le(attributes(facts).0);
    }
    out.put_u32_le(name.len() as u32);
    if ![Class::DIRECTORY, Class::NAMES].contains(&class) {
        // EaSize.
        out.put_u32_le(0);
    }
    if [Class::BOTH_DIRECTORY, Class::ID_BOTH_DIRECTORY].contains(&class) {
        // No short name.
        out.put_bytes(0, 1 + 1 + 24);
    }
    // Up to a multiple of 8.
    match class {
        Class::ID_BOTH_DIRECTORY => out.put_u16_le(0),
        Class::ID_FULL_DIRECTORY => out.put_u32_le(0),
        _ => {}
    }
    if [Class::ID_BOTH_DIRECTORY, Class::ID_FULL_DIRECTORY].contains(&class) {
        out.put_u64_le(facts.number);
    }
    out.put_slice(&name);
    out
}
