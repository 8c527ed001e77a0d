//! Create contexts (2.2.13.2, 2.2.14.2): a name and data. The common ones have types: [`CreateContexts::read`] reads them,
//! [`ContextData::to_bytes`] makes their data.
//!
//! ```
//! use smbd_smb2::wire::{ContextData, CreateContext, CreateContexts, DurableHandleRequestV2, Guid, Records};
//!
//! let durable = DurableHandleRequestV2 { create_guid: Guid([7; 16]), ..DurableHandleRequestV2::default() };
//! let data = durable.to_bytes();
//! let contexts = [CreateContext::of::<DurableHandleRequestV2>(&data)];
//!
//! let contexts: CreateContexts<'_> = Records::from(&contexts);
//! assert_eq!(contexts.read()?, Some(durable));
//! # Ok::<(), smbd_smb2::wire::WireError>(())
//! ```

mod data;
pub mod durable;
pub mod durable_v2;
pub mod lease;
pub mod maximal_access;
pub mod on_disk_id;

pub use data::ContextData;

use super::error::WireError;
use super::field::Field;
use super::layout::layout;
use super::reader;
use super::records::{Record, Records};
use super::writer::{Empty, Writer};

/// Create contexts of a message.
pub type CreateContexts<'a> = Records<'a, CreateContext<'a>>;

/// A create context (2.2.13.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateContext<'a> {
    /// Its name: four letters, or 16 bytes.
    pub name: &'a [u8],
    /// Its data.
    pub data: &'a [u8],
}

impl<'a> CreateContext<'a> {
    /// A context with data of a type, which [`ContextData::to_bytes`] made.
    #[must_use]
    pub const fn of<T: ContextData>(data: &'a [u8]) -> Self {
        Self { name: T::NAME, data }
    }

    /// SMB2_CREATE_EA_BUFFER: extended attributes.
    pub const EA_BUFFER: &'static [u8] = b"ExtA";
    /// SMB2_CREATE_SD_BUFFER: a security descriptor.
    pub const SD_BUFFER: &'static [u8] = b"SecD";
    /// SMB2_CREATE_DURABLE_HANDLE_REQUEST and its response.
    pub const DURABLE_HANDLE_REQUEST: &'static [u8] = b"DHnQ";
    /// SMB2_CREATE_DURABLE_HANDLE_RECONNECT.
    pub const DURABLE_HANDLE_RECONNECT: &'static [u8] = b"DHnC";
    /// SMB2_CREATE_ALLOCATION_SIZE.
    pub const ALLOCATION_SIZE: &'static [u8] = b"AlSi";
    /// SMB2_CREATE_QUERY_MAXIMAL_ACCESS_REQUEST and its response.
    pub const QUERY_MAXIMAL_ACCESS: &'static [u8] = b"MxAc";
    /// SMB2_CREATE_TIMEWARP_TOKEN.
    pub const TIMEWARP_TOKEN: &'static [u8] = b"TWrp";
    /// SMB2_CREATE_QUERY_ON_DISK_ID and its response.
    pub const QUERY_ON_DISK_ID: &'static [u8] = b"QFid";
    /// SMB2_CREATE_REQUEST_LEASE and SMB2_CREATE_REQUEST_LEASE_V2, which differ in length, and their responses.
    pub const LEASE: &'static [u8] = b"RqLs";
    /// SMB2_CREATE_DURABLE_HANDLE_REQUEST_V2 and its response.
    pub const DURABLE_HANDLE_REQUEST_V2: &'static [u8] = b"DH2Q";
    /// SMB2_CREATE_DURABLE_HANDLE_RECONNECT_V2.
    pub const DURABLE_HANDLE_RECONNECT_V2: &'static [u8] = b"DH2C";
    /// SMB2_CREATE_APP_INSTANCE_ID.
    pub const APP_INSTANCE_ID: &'static [u8] =
        &[0x45, 0xBC, 0xA6, 0x6A, 0xEF, 0xA7, 0xF7, 0x4A, 0x90, 0x08, 0xFA, 0x46, 0x2E, 0x14, 0x4D, 0x74];
    /// SMB2_CREATE_APP_INSTANCE_VERSION.
    pub const APP_INSTANCE_VERSION: &'static [u8] =
        &[0xB9, 0x82, 0xD0, 0xB7, 0x3B, 0x56, 0x07, 0x4F, 0xA0, 0x7B, 0x52, 0x4A, 0x81, 0x16, 0xA0, 0x10];
    /// SVHDX_OPEN_DEVICE_CONTEXT.
    pub const SVHDX_OPEN_DEVICE: &'static [u8] =
        &[0x9C, 0xCB, 0xCF, 0x9E, 0x04, 0xC1, 0xE6, 0x43, 0x98, 0x0E, 0x15, 0x8D, 0xA1, 0xF6, 0xEC, 0x83];
}

layout! {
    /// Fields of a context (2.2.13.2), from its beginning.
    pub mod field: "SMB2_CREATE_CONTEXT", "2.2.13.2", from 0;
    NEXT: u32 = "Next" at 0;
    NAME_OFFSET: u16 = "NameOffset" at 4;
    NAME_LENGTH: u16 = "NameLength" at 6;
    RESERVED: u16 = "Reserved" at 8;
    DATA_OFFSET: u16 = "DataOffset" at 10;
    DATA_LENGTH: u32 = "DataLength" at 12;
}

const NAME: (&Field<u16>, &Field<u16>) = (&field::NAME_OFFSET, &field::NAME_LENGTH);
const DATA: (&Field<u16>, &Field<u32>) = (&field::DATA_OFFSET, &field::DATA_LENGTH);

impl<'a> Record<'a> for CreateContext<'a> {
    fn read(bytes: &'a [u8]) -> Result<(Self, Option<&'a [u8]>), WireError> {
        field::LAYOUT.check(bytes)?;
        // A context ends where the next one begins.
        let (own, rest) = match u64::from(field::NEXT.get(bytes)?) {
            0 => (bytes, None),
            next => {
                let rest = reader::tail(bytes, &field::NEXT, field::LAYOUT.end() as u64)?;
                (reader::range(bytes, &field::NEXT, 0, next)?, Some(rest))
            }
        };
        let name = reader::part(own, NAME, &field::LAYOUT)?;
        let data = reader::part(own, DATA, &field::LAYOUT)?;
        Ok((Self { name, data }, rest))
    }

    fn put(&self, out: &mut Writer<'_>, is_last: bool) -> Result<(), WireError> {
        let mut context = out.nested();
        context.begin(&field::LAYOUT);
        context.part(NAME, 8, Empty::Zero, &self.name)?;
        context.part(DATA, 8, Empty::Zero, &self.data)?;
        if !is_last {
            context.align(8);
            context.set_size(&field::NEXT, context.len())?;
        }
        Ok(())
    }
}

impl<'a> CreateContexts<'a> {
    /// The data of the first context with this name.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<&'a [u8]> {
        let mut contexts = self.iter().filter_map(Result::ok);
        contexts.find(|context| context.name == name).map(|context| context.data)
    }

    /// The first context of a type that has a form of its own; `None` if there is none.
    ///
    /// # Errors
    /// Its data are shorter or longer than the structure.
    pub fn read<T: ContextData>(&self) -> Result<Option<T>, WireError> {
        self.find(T::NAME).map(T::parse).transpose()
    }
}

impl<'a> From<&'a [u8]> for CreateContexts<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Records::linked(bytes)
    }
}
