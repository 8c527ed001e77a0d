//! Buffers of the caller, and what a server may do with them.

use std::collections::BTreeMap;

use smbd_smb2::client::{Access, BufferId, DataPart, RegistrationId};
use smbd_smb2::wire::{BufferDescriptorV1, Token};

#[derive(Clone, Debug)]
pub struct Region {
    pub id: RegistrationId,
    pub buffer: BufferId,
    pub offset: u64,
    pub len: u32,
    /// Where in its registration.
    pub from: u32,
    pub access: Access,
}

/// Memory with registrations: each piece of a region has a token of its own.
#[derive(Debug, Default)]
pub struct Memory {
    pub buffers: BTreeMap<BufferId, Vec<u8>>,
    pub valid: BTreeMap<Token, Region>,
    /// What is registered in the place of a part of a buffer.
    pub places: BTreeMap<RegistrationId, Vec<u8>>,
    next: u32,
}

impl Memory {
    /// Registers in pieces of at most `max` bytes.
    pub fn register(&mut self, region: Region, max: u32) -> Vec<BufferDescriptorV1> {
        let (mut at, end) = (0, region.len);
        let mut descriptors = Vec::new();
        while at < end {
            self.next += 1;
            let (token, len) = (Token(self.next), max.min(end - at));
            let offset = region.offset + u64::from(at);
            self.valid.insert(token, Region { offset, len, from: at, ..region.clone() });
            descriptors.push(BufferDescriptorV1 { offset: 0x1000, token, length: len });
            at += len;
        }
        descriptors
    }

    /// Takes back what is left of a registration.
    pub fn deregister(&mut self, id: RegistrationId) -> usize {
        let before = self.valid.len();
        self.valid.retain(|_, region| region.id != id);
        before - self.valid.len()
    }

    pub fn is_registered(&self, buffer: BufferId) -> bool {
        self.valid.values().any(|region| region.buffer == buffer)
    }

    pub fn is_registered_part(&self, id: RegistrationId) -> bool {
        self.valid.values().any(|region| region.id == id)
    }

    /// A part of a buffer.
    pub fn part(&mut self, part: &DataPart) -> &mut [u8] {
        let buffer = self.buffers.get_mut(&part.buffer).expect("a buffer");
        &mut buffer[part.offset as usize..][..part.len as usize]
    }

    /// RDMA Write, into what the descriptors name.
    pub fn write(&mut self, descriptors: &[BufferDescriptorV1], mut data: &[u8]) {
        for descriptor in descriptors {
            let region = self.valid.get(&descriptor.token).expect("a valid token");
            assert_eq!(region.access, Access::RemoteWrite);
            assert_eq!(region.len, descriptor.length);
            let len = data.len().min(region.len as usize);
            let buffer = self.buffers.get_mut(&region.buffer).expect("a buffer");
            buffer[region.offset as usize..][..len].copy_from_slice(&data[..len]);
            data = &data[len..];
        }
        assert!(data.is_empty(), "more data than memory");
    }

    /// RDMA Read.
    pub fn read(&self, descriptors: &[BufferDescriptorV1]) -> Vec<u8> {
        let mut data = Vec::new();
        for descriptor in descriptors {
            let region = self.valid.get(&descriptor.token).expect("a valid token");
            assert_eq!(region.access, Access::RemoteRead);
            data.extend_from_slice(match self.places.get(&region.id) {
                Some(place) => &place[region.from as usize..][..region.len as usize],
                None => &self.buffers[&region.buffer][region.offset as usize..][..region.len as usize],
            });
        }
        data
    }
}
