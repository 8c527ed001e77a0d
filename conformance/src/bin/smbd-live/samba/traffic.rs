//! Reads and writes that go by RDMA, many of them: a mount that has lost a registration or credits does not get through.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use smbd_tools::exercise::pattern;

use super::service::await_that;
use super::sizes::equal;
use crate::case::Failure;
use crate::cifs::Mounted;

/// Reads and writes of 4096 bytes and more, each of them by RDMA.
pub(super) fn goes_on(mounted: &Mounted, count: u64) -> Result<(), Failure> {
    const LENGTH: usize = 1 << 20;
    let path = mounted.file("goes-on");
    again(|| fs::write(&path, pattern(1, LENGTH)))?;
    let mut model = pattern(1, LENGTH).to_vec();
    let file = again(|| File::options().read(true).write(true).open(&path))?;
    let mut seen = vec![0; 8192];
    for number in 0..count {
        // 4099 is prime: each place comes in its turn.
        let offset = (number as usize * 4099) % (LENGTH - seen.len());
        let len = 4096 + number as usize % 4096;
        let place = offset..offset + len;
        if number % 5 == 0 {
            model[place.clone()].copy_from_slice(&pattern(number, len));
            again(|| file.write_all_at(&model[place.clone()], offset as u64))?;
        } else {
            again(|| file.read_exact_at(&mut seen[..len], offset as u64))?;
            equal(&format!("operation {number}"), &seen[..len], &model[place])?;
        }
    }
    drop(file);
    equal("all of it", &again(|| fs::read(&path))?, &model)
}

/// What a call comes to that the client does not want repeated: while cifs of 7.3 connects again, a program may get EAGAIN.
pub(super) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> Result<T, Failure> {
    let mut value = None;
    await_that("a call that need not be repeated", || match call() {
        Ok(came) => {
            value = Some(came);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error.into()),
    })?;
    value.ok_or_else(|| "it came to nothing".into())
}
