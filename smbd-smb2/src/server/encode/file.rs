//! What is known of a file (MS-FSCC 2.4).

use alloc::vec::Vec;

use crate::server::file::Attributes;
use crate::server::path::SharePath;
use crate::server::status;
use crate::wire::{AccessMask, CreateOptions, FileAttributes, NtStatus};

/// Information, and how many of its bytes are there in any case.
pub(in crate::server) struct Information {
    pub(in crate::server) bytes: Vec<u8>,
    pub(in crate::server) fixed: usize,
}

impl Information {
    /// Without a part that can be longer or shorter.
    pub(in crate::server) const fn fixed(bytes: Vec<u8>) -> Self {
        let fixed = bytes.len();
        Self { bytes, fixed }
    }
}

/// The file that is asked about.
#[derive(Clone, Copy)]
pub(in crate::server) struct About<'a> {
    pub(in crate::server) attributes: &'a Attributes,
    pub(in crate::server) path: &'a SharePath,
    pub(in crate::server) access: AccessMask,
    pub(in crate::server) options: CreateOptions,
    pub(in crate::server) position: u64,
    pub(in crate::server) is_3_1_1: bool,
}

/// Numbers one behind the other.
pub(in crate::server) fn numbers(out: &mut Vec<u8>, values: &[u64]) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

/// Numbers of four bytes.
pub(in crate::server) fn words(out: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

/// A text.
pub(in crate::server) fn text(out: &mut Vec<u8>, text: impl Iterator<Item = u16>) {
    text.for_each(|unit| out.extend_from_slice(&unit.to_le_bytes()));
}

/// Attributes as they are told: NORMAL in the place of none (MS-FSCC 2.6).
pub(in crate::server) const fn told(attributes: FileAttributes) -> u32 {
    if attributes.0 == 0 { FileAttributes::NORMAL.0 } else { attributes.0 }
}

/// Whether a class tells attributes, for which FILE_READ_ATTRIBUTES is needed (3.3.5.20.1).
pub(in crate::server) const fn needs_attributes(class: u8) -> bool {
    matches!(class, 4 | 18 | 34 | 35)
}

/// A class of 2.2.37.
pub(in crate::server) fn class(class: u8, about: &About<'_>) -> Result<Information, NtStatus> {
    let file = about.attributes;
    let mut out = Vec::new();
    match class {
        4 => basic(&mut out, file),
        5 => standard(&mut out, file),
        6 => numbers(&mut out, &[file.id]),
        // FileEaInformation
        7 => words(&mut out, &[0]),
        8 => words(&mut out, &[about.access.0]),
        // FilePositionInformation
        14 => numbers(&mut out, &[about.position]),
        15 => return Err(status::NO_EAS_ON_FILE),
        16 => words(&mut out, &[mode(about.options)]),
        // FileAlignmentInformation
        17 => words(&mut out, &[0]),
        18 => return Ok(all(about)),
        21 => return short_name(about.path),
        22 => return Ok(streams(file)),
        28 => {
            // FileCompressionInformation: not compressed.
            numbers(&mut out, &[file.end_of_file, 0]);
        }
        34 => {
            times(&mut out, file);
            numbers(&mut out, &[file.allocation_size, file.end_of_file]);
            words(&mut out, &[told(file.file_attributes), 0]);
        }
        35 => words(&mut out, &[told(file.file_attributes), 0]),
        48 if about.is_3_1_1 => {
            words(&mut out, &[0]);
            return Ok(named(out, about.path.as_str()));
        }
        59 => numbers(&mut out, &[0, file.id, 0]),
        // Documented, and not for SMB2 or not here.
        1..=3 | 9..=13 | 19 | 20 | 23..=27 | 29..=33 | 36..=75 => return Err(NtStatus::NOT_SUPPORTED),
        _ => return Err(NtStatus::INVALID_INFO_CLASS),
    }
    Ok(Information::fixed(out))
}

fn times(out: &mut Vec<u8>, file: &Attributes) {
    numbers(out, &[file.creation_time, file.last_access_time, file.last_write_time, file.change_time]);
}

/// MS-FSCC 2.4.7.
fn basic(out: &mut Vec<u8>, file: &Attributes) {
    times(out, file);
    words(out, &[told(file.file_attributes), 0]);
}

/// MS-FSCC 2.4.47.
fn standard(out: &mut Vec<u8>, file: &Attributes) {
    numbers(out, &[file.allocation_size, file.end_of_file]);
    words(out, &[file.links]);
    out.extend_from_slice(&[u8::from(file.is_delete_pending), u8::from(file.is_directory()), 0, 0]);
}

/// FileModeInformation (MS-FSCC 2.4.31).
const fn mode(options: CreateOptions) -> u32 {
    /// WRITE_THROUGH, SEQUENTIAL_ONLY, NO_INTERMEDIATE_BUFFERING, DELETE_ON_CLOSE.
    const SHOWN: u32 = 0x0000_100E;
    options.0 & SHOWN
}

/// MS-FSCC 2.4.2. The name is told: clients take an answer without one for too short.
fn all(about: &About<'_>) -> Information {
    let mut out = Vec::new();
    basic(&mut out, about.attributes);
    standard(&mut out, about.attributes);
    numbers(&mut out, &[about.attributes.id]);
    words(&mut out, &[0, about.access.0]);
    numbers(&mut out, &[about.position]);
    words(&mut out, &[mode(about.options), 0, 0]);
    let mut path = alloc::string::String::from("\\");
    path.push_str(about.path.as_str());
    // With the alignment of the structure, which Windows and Samba count (MS-FSA 2.1.5.12).
    Information { fixed: 104, ..named(out, &path) }
}

/// FileAlternateNameInformation (MS-FSCC 2.4.5): a name of 8.3 is its own, and no other has one.
fn short_name(path: &SharePath) -> Result<Information, NtStatus> {
    let name = path.components().next_back().filter(|name| is_8_3(name));
    let name = name.ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    Ok(Information { fixed: 8, ..named(alloc::vec![0; 4], name) })
}

/// MS-FSCC 2.1.5.2.1: one to eight characters of ASCII, and a point with one to three behind it, or none.
fn is_8_3(name: &str) -> bool {
    let (base, extension) = name.split_once('.').unwrap_or((name, "x"));
    let is_one = |text: &str, max| {
        (1..=max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii() && !b" .".contains(&byte))
    };
    is_one(base, 8) && is_one(extension, 3)
}

/// With a name, whose length is in the last four bytes of `fixed`.
fn named(mut fixed: Vec<u8>, name: &str) -> Information {
    let len = name.encode_utf16().count().saturating_mul(2);
    let end = fixed.len();
    fixed.truncate(end.saturating_sub(4));
    words(&mut fixed, &[u32::try_from(len).unwrap_or(u32::MAX)]);
    text(&mut fixed, name.encode_utf16());
    Information { bytes: fixed, fixed: end }
}

/// FileStreamInformation (MS-FSCC 2.4.49): a file has its data, a directory nothing.
fn streams(file: &Attributes) -> Information {
    const NAME: &str = "::$DATA";
    let mut out = Vec::new();
    if !file.is_directory() {
        words(&mut out, &[0, 14]);
        numbers(&mut out, &[file.end_of_file, file.allocation_size]);
        text(&mut out, NAME.encode_utf16());
    }
    // One without a name (MS-FSA 2.1.5.12).
    Information { bytes: out, fixed: 32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Text;

    /// Sizes of MS-FSCC 2.4.
    #[test]
    fn each_class_has_the_size_of_its_structure() {
        let attributes = Attributes::default();
        let path = SharePath::parse(Text::from("a\\b")).unwrap();
        let about = About {
            attributes: &attributes,
            path: &path,
            access: AccessMask::READ_DATA,
            options: CreateOptions::NONE,
            position: 0,
            is_3_1_1: true,
        };
        let sizes = [
            (4, 40, 40),
            (5, 24, 24),
            (6, 8, 8),
            (7, 4, 4),
            (8, 4, 4),
            (14, 8, 8),
            (16, 4, 4),
            (17, 4, 4),
            (18, 104, 108),
            (21, 8, 6),
            (22, 32, 38),
            (28, 16, 16),
            (34, 56, 56),
            (35, 8, 8),
            (48, 4, 10),
            (59, 24, 24),
        ];
        for (number, fixed, len) in sizes {
            let information = class(number, &about).unwrap_or_else(|status| panic!("{number}: {status}"));
            assert_eq!((information.fixed, information.bytes.len()), (fixed, len), "{number}");
        }
    }
}
