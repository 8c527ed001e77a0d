//! SMB2 ([MS-SMB2]) beside SMB Direct: its messages, and a gateway.
//!
//! [`wire`] reads messages in place, builds them and rewrites single fields, for clients, servers and whatever stands between them.
//! [`relay`] is what stands between a client over SMB Direct and a server over direct TCP.
//! `security` (a feature) has signatures, encryption, and NTLM and SPNEGO for both sides.
//! `client` (a feature) is a client: sessions, tree connects, operations on files, and RDMA channels.
//! `server` (a feature) is a server with RDMA channels.
//! `compression` (a feature) compresses and decompresses messages.
//!
//! All are `no_std` with `alloc`, do no I/O and contain no unsafe code. Nothing that a peer sends makes them panic or loop. [`wire`]
//! allocates nothing for it, [`relay`], `client` and `server` no more than their limits say, `security` a few times the length of a
//! token.
//!
#![cfg_attr(all(feature = "client", feature = "server"), doc = include_str!("client_and_server.md"))]
//!
//! # A NEGOTIATE and its answer
//!
//! ```
//! use smbd_smb2::wire::{
//!     Cipher, Dialect, Elements, Guid, HashAlgorithm, Header, List, NegotiateContext, NegotiateRequest, NegotiateResponse,
//!     NtStatus, Records, Response, SecurityMode, WireError, write_element,
//! };
//!
//! /// What a server might answer.
//! fn answer(request: &[u8]) -> Result<Vec<u8>, WireError> {
//!     let header = Header::parse(request)?;
//!     let offered = NegotiateRequest::parse(request)?;
//!     let response = NegotiateResponse {
//!         dialect: offered.dialects.iter().max().unwrap_or_default(),
//!         security_mode: SecurityMode::SIGNING_ENABLED,
//!         max_read_size: 8 << 20,
//!         ..NegotiateResponse::default()
//!     };
//!     let mut message = Vec::new();
//!     write_element(&mut message, &header.response(NtStatus::SUCCESS), &response)?;
//!     Ok(message)
//! }
//!
//! let contexts = [
//!     NegotiateContext::PreauthIntegrity {
//!         hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
//!         salt: &[0x5a; 32],
//!     },
//!     NegotiateContext::Encryption(List::from(&[Cipher::AES_128_GCM, Cipher::AES_128_CCM])),
//! ];
//! let request = NegotiateRequest {
//!     client_guid: Guid([7; 16]),
//!     dialects: List::from(&Dialect::ALL),
//!     contexts: Records::from(&contexts),
//!     ..NegotiateRequest::default()
//! };
//! let mut message = Vec::new();
//! write_element(&mut message, &Header::request::<NegotiateRequest>(0), &request)?;
//!
//! let received = answer(&message)?;
//! for element in Elements::new(&received) {
//!     let element = element?;
//!     match Response::parse(element.bytes)? {
//!         Response::Negotiate(response) => assert_eq!(response.dialect, Dialect::SMB_3_1_1),
//!         _ => println!("{}: {}", element.header.command, element.header.status),
//!     }
//! }
//! # Ok::<(), WireError>(())
//! ```
//!
//! # A READ whose data goes by RDMA
//!
//! What stands between a client and a server takes the channel out of a request, and leaves every other byte as it is.
//!
//! ```
//! use smbd_smb2::wire::{
//!     BufferDescriptorV1, Channel, FileId, Header, Message, ReadRequest, Request, Token, WireError, pack, read,
//!     write_element,
//! };
//!
//! # let file_id = FileId { persistent: 1, volatile: 2 };
//! # let info = pack(&[BufferDescriptorV1 { offset: 0x7000, token: Token(5), length: 65536 }]);
//! # let request = ReadRequest {
//! #     channel: Channel::RDMA_V1_INVALIDATE,
//! #     channel_info: &info,
//! #     length: 65536,
//! #     file_id,
//! #     ..ReadRequest::default()
//! # };
//! # let mut message = Vec::new();
//! # write_element(&mut message, &Header::request::<ReadRequest>(9), &request)?;
//! let Message::Smb2(elements) = Message::parse(&message)? else { panic!("not SMB2") };
//! let mut ranges = Vec::new();
//! for element in elements {
//!     let element = element?;
//!     if let Request::Read(read) = Request::parse(element.bytes)? {
//!         let total: u64 = read.descriptors()?.iter().map(|buffer| u64::from(buffer.length)).sum();
//!         assert_eq!((read.channel, total), (Channel::RDMA_V1_INVALIDATE, 65536));
//!         ranges.push(element.range());
//!     }
//! }
//! for range in ranges {
//!     let element = &mut message[range];
//!     read::request::CHANNEL.set(element, Channel::NONE)?;
//!     read::request::REMAINING_BYTES.set(element, 0)?;
//!     read::request::READ_CHANNEL_INFO_OFFSET.set(element, 0)?;
//!     read::request::READ_CHANNEL_INFO_LENGTH.set(element, 0)?;
//!     assert_eq!(ReadRequest::parse(element)?.channel_info, b"");
//! }
//! # Ok::<(), WireError>(())
//! ```
//!
//! [MS-SMB2]: https://learn.microsoft.com/openspecs/windows_protocols/ms-smb2/
#![no_std]
#![deny(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::todo,
    clippy::unimplemented,
    clippy::unreachable,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        clippy::wildcard_enum_match_arm,
        reason = "a test that panics has failed"
    )
)]
extern crate alloc;

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "compression")]
pub mod compress;
#[cfg(any(feature = "client", feature = "server"))]
mod cover;
pub mod mapped;
pub mod relay;
#[cfg(feature = "security")]
pub mod security;
#[cfg(feature = "server")]
pub mod server;
mod side;
pub mod wire;
