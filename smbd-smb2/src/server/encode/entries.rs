//! Entries of a directory (MS-FSCC 2.4).

use alloc::vec::Vec;

use super::file::{numbers, text, told, words};
use crate::server::file::Entry;
use crate::wire::{DirectoryInformationClass, NtStatus};

/// Size of what a class has before the name; a class of 2.2.33 that is not here is not supported, any other is none.
pub(in crate::server) fn fixed_len(class: DirectoryInformationClass) -> Result<usize, NtStatus> {
    match class {
        DirectoryInformationClass::DIRECTORY => Ok(64),
        DirectoryInformationClass::FULL_DIRECTORY => Ok(68),
        DirectoryInformationClass::BOTH_DIRECTORY => Ok(94),
        DirectoryInformationClass::NAMES => Ok(12),
        DirectoryInformationClass::ID_BOTH_DIRECTORY => Ok(104),
        DirectoryInformationClass::ID_FULL_DIRECTORY => Ok(80),
        DirectoryInformationClass::ID_EXTD_DIRECTORY => Ok(88),
        class if class.name().is_some() => Err(NtStatus::NOT_SUPPORTED),
        _ => Err(NtStatus::INVALID_INFO_CLASS),
    }
}

/// Appends an entry, if there is room for it within `max` bytes. `last` is where the one before it begins.
pub(in crate::server) fn append(
    out: &mut Vec<u8>,
    last: Option<usize>,
    class: DirectoryInformationClass,
    entry: &Entry,
    max: usize,
) -> Result<bool, NtStatus> {
    let start = match last {
        Some(_) => out.len().checked_next_multiple_of(8).unwrap_or(out.len()),
        None => 0,
    };
    let name: Vec<u16> = entry.name.encode_utf16().collect();
    let name_len = name.len().saturating_mul(2);
    let end = start.saturating_add(fixed_len(class)?).saturating_add(name_len);
    if end > max {
        return Ok(false);
    }
    out.resize(start, 0);
    if let Some(last) = last {
        let next = u32::try_from(start.saturating_sub(last)).unwrap_or(0);
        if let Some(field) = out.get_mut(last..).and_then(|entry| entry.first_chunk_mut()) {
            *field = next.to_le_bytes();
        }
    }
    fixed(out, class, entry, u32::try_from(name_len).unwrap_or(0));
    text(out, name.into_iter());
    Ok(true)
}

fn fixed(out: &mut Vec<u8>, class: DirectoryInformationClass, entry: &Entry, name_len: u32) {
    let file = &entry.attributes;
    // NextEntryOffset, FileIndex
    words(out, &[0, 0]);
    if class == DirectoryInformationClass::NAMES {
        return words(out, &[name_len]);
    }
    numbers(out, &[file.creation_time, file.last_access_time, file.last_write_time, file.change_time]);
    numbers(out, &[file.end_of_file, file.allocation_size]);
    words(out, &[told(file.file_attributes), name_len]);
    match class {
        DirectoryInformationClass::FULL_DIRECTORY => words(out, &[0]),
        DirectoryInformationClass::ID_FULL_DIRECTORY => {
            words(out, &[0, 0]);
            numbers(out, &[file.id]);
        }
        DirectoryInformationClass::ID_EXTD_DIRECTORY => {
            words(out, &[0, 0]);
            numbers(out, &[file.id, 0]);
        }
        DirectoryInformationClass::BOTH_DIRECTORY => no_short_name(out),
        DirectoryInformationClass::ID_BOTH_DIRECTORY => {
            no_short_name(out);
            out.extend_from_slice(&[0; 2]);
            numbers(out, &[file.id]);
        }
        _ => {}
    }
}

/// EaSize, ShortNameLength, Reserved, ShortName.
fn no_short_name(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; 30]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::file::Attributes;

    #[test]
    fn a_name_begins_where_the_class_says() {
        let entry = Entry { name: "ab".into(), attributes: Attributes::default(), position: 3 };
        for class in DirectoryInformationClass::NAMED {
            let Ok(fixed) = fixed_len(*class) else { continue };
            let mut out = Vec::new();
            assert_eq!(append(&mut out, None, *class, &entry, fixed + 4), Ok(true), "{class}");
            assert_eq!((out.len(), &out[fixed..]), (fixed + 4, &b"a\0b\0"[..]), "{class}");
            assert_eq!(append(&mut Vec::new(), None, *class, &entry, fixed + 3), Ok(false), "{class}");
            assert_eq!(append(&mut out, Some(0), *class, &entry, 1000), Ok(true));
            let next = u32::from_le_bytes([out[0], out[1], out[2], out[3]]) as usize;
            assert_eq!((next % 8, out.len()), (0, next + fixed + 4), "{class}");
        }
    }
}
