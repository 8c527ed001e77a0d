//! Reads and writes that go by RDMA, many of them: a mount that has lost a registration or credits does not get through.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use smbd_tools::exercise::pattern;

use super::sizes::equal;
use crate::case::Failure;
use crate::cifs::Mounted;

/// Reads and writes of 4096 bytes and more, each of them by RDMA.
pub(super) fn goes_on(mounted: &Mounted, count: u64) -> Result<(), Failure> {
    const LENGTH: usize = 1 << 20;
    let path = mounted.file("goes-on");
    fs::write(&path, pattern(1, LENGTH))?;
    let mut model = pattern(1, LENGTH).to_vec();
    let file = File::options().read(true).write(true).open(&path)?;
    let mut seen = vec![0; 8192];
    for number in 0..count {
        // 4099 is prime: each place comes in its turn.
        let offset = (number as usize * 4099) % (LENGTH - seen.len());
        let len = 4096 + number as usize % 4096;
        let place = offset..offset + len;
        if number % 5 == 0 {
            model[place.clone()].copy_from_slice(&pattern(number, len));
            file.write_all_at(&model[place], offset as u64)?;
        } else {
            file.read_exact_at(&mut seen[..len], offset as u64)?;
            equal(&format!("operation {number}"), &seen[..len], &model[place])?;
        }
    }
    drop(file);
    equal("all of it", &fs::read(&path)?, &model)
}
