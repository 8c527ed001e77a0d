//! What is known of a volume (MS-FSCC 2.5).

use alloc::vec::Vec;

use super::file::{Information, numbers, text, words};
use crate::server::file::Volume;
use crate::wire::NtStatus;

const SECTOR: u32 = 512;
/// What clients know how to treat. They do so by its name.
const NAME: &str = "NTFS";
/// CASE_PRESERVED_NAMES and UNICODE_ON_DISK (MS-FSCC 2.5.1).
const ATTRIBUTES: u32 = 0x0000_0006;
/// The longest component, in code units.
const COMPONENT_MAX: u32 = 255;

/// A class of 2.2.37.
pub(in crate::server) fn class(class: u8, volume: &Volume) -> Result<Information, NtStatus> {
    let mut out = Vec::new();
    let sectors = volume.unit.checked_div(SECTOR).unwrap_or(1).max(1);
    match class {
        // FileFsVolumeInformation
        1 => {
            numbers(&mut out, &[volume.creation_time]);
            let label: Vec<u16> = volume.label.encode_utf16().take(32).collect();
            let len = u32::try_from(label.len().saturating_mul(2)).unwrap_or(0);
            words(&mut out, &[volume.serial, len]);
            out.extend_from_slice(&[0; 2]);
            text(&mut out, label.into_iter());
            // With the alignment of the structure.
            return Ok(Information { bytes: out, fixed: 24 });
        }
        // FileFsSizeInformation
        3 => {
            numbers(&mut out, &[volume.total_units, volume.free_units]);
            words(&mut out, &[sectors, SECTOR]);
        }
        // FileFsDeviceInformation: a disk that is mounted.
        4 => words(&mut out, &[7, 0x20]),
        // FileFsAttributeInformation
        5 => {
            words(&mut out, &[ATTRIBUTES, COMPONENT_MAX, 8]);
            text(&mut out, NAME.encode_utf16());
            // With the alignment of the structure.
            return Ok(Information { bytes: out, fixed: 16 });
        }
        // FileFsControlInformation: no quotas.
        6 => numbers(&mut out, &[0, 0, 0, u64::MAX, u64::MAX, 0]),
        // FileFsFullSizeInformation
        7 => {
            numbers(&mut out, &[volume.total_units, volume.free_units, volume.free_units]);
            words(&mut out, &[sectors, SECTOR]);
        }
        // FileFsObjectIdInformation
        8 => {
            numbers(&mut out, &[u64::from(volume.serial), 0]);
            out.resize(64, 0);
        }
        // FileFsSectorSizeInformation: aligned.
        11 => words(&mut out, &[SECTOR, SECTOR, SECTOR, SECTOR, 3, 0, 0]),
        // FileFsLabelInformation, FileFsDriverPathInformation, FileFsVolumeFlagsInformation
        2 | 9 | 10 => return Err(NtStatus::NOT_SUPPORTED),
        _ => return Err(NtStatus::INVALID_INFO_CLASS),
    }
    Ok(Information::fixed(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of MS-FSCC 2.5.
    #[test]
    fn each_class_has_the_size_of_its_structure() {
        let volume = Volume {
            label: "data".into(),
            serial: 1,
            creation_time: 2,
            unit: 4096,
            total_units: 3,
            free_units: 1,
        };
        let sizes = [
            (1, 24, 26),
            (3, 24, 24),
            (4, 8, 8),
            (5, 16, 20),
            (6, 48, 48),
            (7, 32, 32),
            (8, 64, 64),
            (11, 28, 28),
        ];
        for (number, fixed, len) in sizes {
            let information = class(number, &volume).unwrap_or_else(|status| panic!("{number}: {status}"));
            assert_eq!((information.fixed, information.bytes.len()), (fixed, len), "{number}");
        }
    }
}
