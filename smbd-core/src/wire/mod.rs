//! The messages of MS-SMBD section 2, and the IRD/ORD header of section 6.
//!
//! Each message has the same parts, in a module of its own:
//!
//! - `field`: the byte range of every field,
//! - `LAYOUT`: the fields with the names of the specification, for dissectors and for error messages,
//! - a view that checks the length once and then reads fields in place,
//! - a plain value with `parse` and `encode`.
//!
//! Only lengths are checked here. The connection checks values that are well-formed but forbidden (no credits
//! requested, a data offset inside the header), because it knows what has to follow. Bytes behind a message are allowed
//! (2.2): no length has to be exact.

pub mod data_transfer;
pub mod descriptor;
mod error;
mod field;
pub mod ird_ord;
mod layout;
pub mod negotiate_request;
pub mod negotiate_response;
pub mod status;
mod words;

pub use data_transfer::{DATA_OFFSET, DataTransfer, DataTransferView, Flags, HEADER_LEN_PADDED};
pub use descriptor::{BufferDescriptorV1, BufferDescriptors, Token, encode_all};
pub use error::WireError;
pub use field::Field;
pub use ird_ord::{ByteOrder, IrdOrd};
pub use layout::Layout;
pub use negotiate_request::{NegotiateRequest, NegotiateRequestView};
pub use negotiate_response::{NegotiateResponse, NegotiateResponseView};
pub use status::NtStatus;

/// Version 1.0, the only version of the protocol (1.7).
pub const PROTOCOL_VERSION: u16 = 0x0100;
