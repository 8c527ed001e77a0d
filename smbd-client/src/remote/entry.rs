//! Entries of a directory (MS-FSCC 2.4.10).

use smbd_smb2::wire::{FileAttributes, Text};

use super::stat::Stat;
use smbd_smb2::mapped;

use crate::Error;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, as the server says it: it may have characters that a terminal would act upon.
    pub name: String,
    /// What is known of it.
    pub stat: Stat,
}

/// Where FileDirectoryInformation has its name.
const NAME: usize = 64;

/// Appends the entries in the answer to QUERY_DIRECTORY, but for `.` and `..`.
pub(super) fn parse(output: &[u8], entries: &mut Vec<Entry>) -> Result<(), Error> {
    let mut at = 0_usize;
    loop {
        let entry = output.get(at..).unwrap_or_default();
        let outside = |field| Error::Entry { field, at };
        let next = word(entry, 0).ok_or_else(|| outside("NextEntryOffset"))?;
        let number = |offset| number(entry, offset).ok_or_else(|| outside("FileAttributes"));
        let stat = Stat {
            created: number(8)?,
            written: number(24)?,
            size: number(40)?,
            attributes: FileAttributes(word(entry, 56).ok_or_else(|| outside("FileAttributes"))?),
        };
        let name_len = word(entry, 60).ok_or_else(|| outside("FileNameLength"))?;
        let end = usize::try_from(name_len).ok().and_then(|len| NAME.checked_add(len));
        let name = end.and_then(|end| entry.get(NAME..end)).ok_or_else(|| outside("FileName"))?;
        let name = Text::from_wire(name).to_string();
        if name != "." && name != ".." {
            // None becomes a name that leads elsewhere.
            let posix = Some(mapped::to_posix(&name)).filter(|posix| posix != "." && posix != "..");
            entries.push(Entry { name: posix.unwrap_or(name), stat });
        }
        // Some servers let the last one point to the end.
        if next == 0 || usize::try_from(next).is_ok_and(|next| next == entry.len()) {
            return Ok(());
        }
        // It goes on behind this one: so there is an end.
        at = usize::try_from(next)
            .ok()
            .filter(|next| *next >= NAME)
            .and_then(|next| at.checked_add(next))
            .ok_or_else(|| outside("NextEntryOffset"))?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str, size: u64, is_last: bool) -> Vec<u8> {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut bytes = vec![0; NAME];
        bytes[40..48].copy_from_slice(&size.to_le_bytes());
        bytes[60..64].copy_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&name);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        if !is_last {
            let next = bytes.len() as u32;
            bytes[..4].copy_from_slice(&next.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn all_entries_but_the_dots_are_read_in_order() {
        let output = [entry(".", 0, false), entry("Größe.txt", 5, false), entry("b", 1 << 40, true)].concat();
        let mut entries = Vec::new();
        parse(&output, &mut entries).unwrap();
        let seen: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.stat.size)).collect();
        assert_eq!(seen, [("Größe.txt", 5), ("b", 1 << 40)]);
    }

    #[test]
    fn a_last_entry_that_points_to_the_end_is_the_last() {
        let output = [entry("a", 1, false), entry("b", 2, false)].concat();
        let mut entries = Vec::new();
        parse(&output, &mut entries).unwrap();
        assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        // One that points beyond is broken.
        let said = parse(&output[..output.len() - 1], &mut Vec::new()).unwrap_err().to_string();
        assert!(said.starts_with("NextEntryOffset of a directory entry points outside"), "{said}");
    }

    #[test]
    fn names_that_windows_has_not_are_read_as_they_were_written() {
        let output = entry("a\u{f022}b\u{f029}", 1, true);
        let mut entries = Vec::new();
        parse(&output, &mut entries).unwrap();
        parse(&entry(".\u{f029}", 1, true), &mut entries).unwrap();
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["a:b.", ".\u{f029}"], "what would lead elsewhere stays");
    }

    #[test]
    fn a_name_beyond_the_answer_is_refused_with_its_place() {
        let mut output = [entry("a", 0, false), entry("b", 0, true)].concat();
        let second = output.len() / 2;
        output[second + 60] = 200;
        let said = parse(&output, &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(said, "FileName of a directory entry points outside of the answer, at 72 (MS-FSCC 2.4)");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(output in prop::collection::vec(any::<u8>(), 0..400), next in 0..200_u32) {
            let mut output = output;
            if let Some(first) = output.first_chunk_mut() { *first = next.to_le_bytes() }
            let mut entries = Vec::new();
            let _ = parse(&output, &mut entries);
            prop_assert!(entries.len() <= output.len() / NAME);
        }
    }
}
