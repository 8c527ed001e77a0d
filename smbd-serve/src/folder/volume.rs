//! The volume of a folder.

use rustix::fs::fstatvfs;
use smbd_smb2::server::Volume;

use super::attributes::attributes;
use super::{Folder, beneath};
use crate::brief::may_wait;

/// Bytes of a sector, of which a unit of allocation has several.
const SECTOR: u64 = 512;

/// What is known of the volume.
pub(super) fn volume(folder: &Folder) -> Volume {
    let born =
        beneath::stat(&folder.root).map_or(0, |stat| attributes(&stat, folder.key, false).creation_time);
    let (mut unit, mut total, mut free, mut serial) = (SECTOR, 0, 0, 0);
    may_wait();
    if let Ok(known) = fstatvfs(&folder.root) {
        // A unit consists of sectors, and its length is told in 32 bits.
        let units = known.f_frsize.max(1);
        let fits = units.is_multiple_of(SECTOR) && u32::try_from(units).is_ok();
        unit = if fits { units } else { SECTOR };
        let scaled = |blocks: u64| u64::try_from(u128::from(blocks) * u128::from(units) / u128::from(unit));
        total = scaled(known.f_blocks).unwrap_or(u64::MAX);
        free = scaled(known.f_bavail).unwrap_or(u64::MAX);
        serial = known.f_fsid;
    }
    Volume {
        label: folder.label.to_string(),
        serial: (serial ^ (serial >> 32)) as u32,
        creation_time: born,
        unit: u32::try_from(unit).unwrap_or(4096),
        total_units: total,
        free_units: free,
    }
}
