//! Memory that both sides have, where a process sees it.
#![expect(unsafe_code, reason = "mmap, and copies to and from what it maps; each block has its own reason")]

use std::io;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::{PoisonError, RwLock};

use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A part of a file in memory that is mapped. No reference to its bytes is ever made: a device changes them.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
    /// Copies of this process exclude each other. What a device does is outside.
    copies: RwLock<()>,
}

// SAFETY: the mapping belongs to this value alone, and no thread is special to it.
unsafe impl Send for Mapping {}
// SAFETY: threads touch the bytes under `copies` only.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes, from byte `at` on, a multiple of the page size, of a file that is sealed against shrinking: memory that goes away
    /// ends a process that touches it.
    ///
    /// # Errors
    /// `InvalidInput`: the file is not sealed like that, or has not so many bytes. Others are those of the system.
    pub fn new(file: impl AsFd, at: u64, len: usize) -> io::Result<Self> {
        let size = u64::try_from(fstat(&file)?.st_size).unwrap_or(0);
        let is_inside = at.checked_add(len as u64).is_some_and(|end| end <= size);
        if !is_inside || len == 0 || !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            let why =
                format!("{len} bytes from {at} of a file of {size} that has to be sealed against shrinking");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the system chooses an address at which nothing is, so no memory of this process changes. The file keeps its pages: it is
        // sealed.
        let start = unsafe { mmap(ptr::null_mut(), len, rights, flags, file, at)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len, copies: RwLock::new(()) })
    }

    /// Where it is. The memory is there as long as this value.
    #[must_use]
    pub const fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Copies bytes to it, from byte `at` on. Those that do not fit are left out.
    pub fn fill(&self, at: usize, bytes: &[u8]) {
        let (start, len) = self.inside(at, bytes.len());
        let _alone = self.copies.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: so many bytes are mapped there, and no other thread copies. `bytes` is not part of them: nobody has a reference to those.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), start.as_ptr(), len) };
    }

    /// Copies `len` bytes, from byte `at` on, to the end of `to`, as many as there are.
    pub fn read(&self, at: usize, len: usize, to: &mut Vec<u8>) {
        let (start, len) = self.inside(at, len);
        to.reserve(len);
        let end = to.spare_capacity_mut().as_mut_ptr().cast();
        let _no_writer = self.copies.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: so many bytes are mapped there, and no other thread writes them; `to` has room for them, and is not part of them. They
        // are written when its length says that they are there.
        unsafe {
            ptr::copy_nonoverlapping(start.as_ptr(), end, len);
            to.set_len(to.len().saturating_add(len));
        }
    }

    /// Where byte `at` is, and how many bytes there are from there on, `len` at most.
    fn inside(&self, at: usize, len: usize) -> (NonNull<u8>, usize) {
        let at = at.min(self.len);
        // SAFETY: not behind the end of what is mapped.
        let start = unsafe { self.start.add(at) };
        (start, len.min(self.len.saturating_sub(at)))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and unmapped once.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::ErrorKind;
    use std::os::unix::fs::FileExt;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
    use rustix::io::Errno;

    use super::Mapping;
    use crate::socket::memory;

    #[test]
    fn bytes_are_those_of_the_file_from_the_place_that_is_mapped() {
        let file = memory(3 * 4096).unwrap();
        let mapping = Mapping::new(&file, 4096, 8192).unwrap();
        mapping.fill(0, &[7; 5000]);
        mapping.fill(6, &[9; 2]);
        let file = File::from(file);
        let mut all = vec![0; 3 * 4096];
        file.read_exact_at(&mut all, 0).unwrap();
        let expected = |at| match at {
            4102..4104 => 9,
            4096..9096 => 7,
            _ => 0,
        };
        assert!((0..).zip(&all).all(|(at, byte)| *byte == expected(at)));
        file.write_all_at(&[8; 2], 4097).unwrap();
        let mut begin = vec![1, 2];
        mapping.read(0, 4, &mut begin);
        mapping.read(5, 2, &mut begin);
        assert_eq!(begin, [1, 2, 7, 8, 8, 7, 7, 9]);
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let file = memory(8192).unwrap();
        let mapping = Mapping::new(&file, 0, 4096).unwrap();
        mapping.fill(0, &[7; 5000]);
        mapping.fill(4094, &[8; 3]);
        mapping.fill(4096, &[9]);
        mapping.fill(usize::MAX, &[9]);
        let mut all = Vec::new();
        mapping.read(0, 5000, &mut all);
        assert_eq!((all.len(), &all[4092..]), (4096, &[7, 7, 8, 8][..]));
        for at in [4096, 4097, usize::MAX] {
            mapping.read(at, 5, &mut all);
            assert_eq!(all.len(), 4096);
        }
        mapping.read(4095, usize::MAX, &mut all);
        assert_eq!(all.len(), 4097);
        let file = File::from(file);
        let mut behind = [1];
        file.read_exact_at(&mut behind, 4096).unwrap();
        assert_eq!(behind, [0]);
    }

    #[test]
    fn memory_is_not_made_shorter_or_longer_by_whoever_gets_it_and_keeps_its_seals() {
        let file = memory(8192).unwrap();
        for len in [0, 4096, 8191, 8193, 1 << 20] {
            assert_eq!(ftruncate(&file, len), Err(Errno::PERM), "{len}");
        }
        assert_eq!(fcntl_add_seals(&file, SealFlags::WRITE), Err(Errno::PERM));
        assert_eq!(fstat(&file).unwrap().st_size, 8192);
    }

    #[test]
    fn a_file_that_could_become_shorter_is_not_mapped_nor_what_is_behind_its_end() {
        let open = memfd_create("open", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&open, 8192).unwrap();
        let sealed = memory(8192).unwrap();
        for (file, at, len) in
            [(&open, 0, 4096), (&sealed, 4096, 4097), (&sealed, u64::MAX, 4096), (&sealed, 0, 0)]
        {
            assert_eq!(
                Mapping::new(file, at, len).unwrap_err().kind(),
                ErrorKind::InvalidInput,
                "{at} {len}"
            );
        }
    }
}
