//! Buffers as the memory of a transport.

use std::io;

use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_link::transport::{File, Memory};

use crate::Buffer;

impl Memory for Buffer {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Self::new(len)
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.fill(offset, bytes)
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.read(offset, out)
    }

    fn append_to(&self, offset: u32, len: u32, to: &mut Vec<u8>) -> Result<(), OutOfRange> {
        self.append_to(offset, len, to)
    }

    fn read_file(&self, file: &dyn File, at: u64, offset: u32, len: u32) -> io::Result<usize> {
        if let Some(descriptor) = file.descriptor() {
            return self.read_from(descriptor, file.is_nowait(), at, (offset, len));
        }
        let mut bytes = vec![0; len as usize];
        let count = file.read_at(at, &mut bytes)?;
        self.fill(offset, bytes.get(..count).unwrap_or(&bytes)).map_err(io::Error::other)?;
        Ok(count)
    }

    fn write_file(&self, file: &dyn File, at: u64, offset: u32, len: u32) -> io::Result<usize> {
        if let Some(descriptor) = file.descriptor() {
            return self.write_to(descriptor, at, offset, len);
        }
        let mut bytes = Vec::new();
        self.append_to(offset, len, &mut bytes).map_err(io::Error::other)?;
        file.write_at(at, &bytes)
    }
}
