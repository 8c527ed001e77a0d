//! The messages of SMB2 (MS-SMB2 section 2), in both directions.
//!
//! Each message is a plain value: its fields, and slices of the bytes that it was read from or is to be written to.
//!
//! - `parse` reads it from an *element*: the bytes from the beginning of its SMB2 header to the end of the message, or to the next
//!   header. Nothing is copied and nothing allocated.
//! - [`write_element`] and [`Compound`] append it to a vector.
//! - The module of each command has a [`Field`] for each of its fields: its name, its place, and how it is read and rewritten in
//!   place. `read::request::CHANNEL.set(bytes, Channel::NONE)` is all that it takes.
//!
//! [`Message`] tells what a received message is, [`Elements`] cuts it, [`Request`] and [`Response`] are the bodies of all commands.
//!
//! Parts of a message are lists ([`List`], [`Records`]) or texts ([`Text`]). They hold the bytes that came, or values to be sent, so
//! that one type serves both ways.
//!
//! What is checked: that the fixed part is there, StructureSize, and that whatever an offset and a length describe lies behind the
//! fixed part and inside the element, in 64 bits. Whether a value makes sense is for the receiver: commands, flags, dialects and
//! contexts that have no name here are kept as numbers and bytes. Reserved fields are not read, and are written as zero.

pub mod access;
pub mod attributes;
pub mod body;
pub mod cancel;
pub mod change_notify;
pub mod channel;
pub mod close;
pub mod command;
pub mod compound;
pub mod compression;
pub mod create;
pub mod create_context;
mod direct_tcp;
pub mod echo;
mod error;
pub mod error_response;
pub(crate) mod field;
pub mod flush;
pub mod header;
pub mod id;
pub mod info;
pub mod ioctl;
pub(crate) mod layout;
mod list;
pub mod lock;
pub mod logoff;
mod message;
pub(crate) mod names;
pub mod negotiate;
pub mod negotiate_context;
pub mod network_interface;
pub mod notification;
pub mod oplock;
pub mod oplock_break;
mod place;
pub mod query_directory;
pub mod query_info;
pub mod rdma_transform;
pub mod read;
pub(crate) mod reader;
mod records;
mod request;
mod response;
pub mod session_setup;
pub mod set_info;
pub mod smb1;
mod status;
mod structure;
mod text;
pub mod transform;
pub mod tree_connect;
pub mod tree_disconnect;
pub mod write;
mod writer;

pub use access::AccessMask;
pub use attributes::FileAttributes;
pub use body::{Body, CommandBody};
pub use cancel::CancelRequest;
pub use change_notify::{ChangeNotifyFlags, ChangeNotifyRequest, ChangeNotifyResponse, CompletionFilter};
pub use channel::Channel;
pub use close::{CloseFlags, CloseRequest, CloseResponse};
pub use command::Command;
pub use compound::{Compound, Element, Elements, write_element};
pub use compression::{Compressed, CompressedParts, CompressionFlag, Pattern, Payload, Payloads};
pub use create::{
    CreateAction, CreateDisposition, CreateFlags, CreateOptions, CreateRequest, CreateResponse,
    ImpersonationLevel, ShareAccess,
};
pub use create_context::durable::{DurableHandleReconnect, DurableHandleRequest, DurableHandleResponse};
pub use create_context::durable_v2::{
    DurableHandleFlags, DurableHandleReconnectV2, DurableHandleRequestV2, DurableHandleResponseV2,
};
pub use create_context::lease::{
    LeaseFlags, LeaseRequest, LeaseResponse, RequestLease, RequestLeaseV2, ResponseLease, ResponseLeaseV2,
};
pub use create_context::maximal_access::{QueryMaximalAccessRequest, QueryMaximalAccessResponse};
pub use create_context::on_disk_id::QueryOnDiskIdResponse;
pub use create_context::{ContextData, CreateContext, CreateContexts};
pub use direct_tcp::KEEP_ALIVE;
pub use echo::{EchoRequest, EchoResponse};
pub use error::WireError;
pub use error_response::{ErrorContext, ErrorId, ErrorResponse};
pub use field::{Field, Number, Value};
pub use flush::{FlushRequest, FlushResponse};
pub use header::{Flags, Header, Target};
pub use id::{FileId, Guid, MessageId, SessionId, TreeId};
pub use info::{AdditionalInformation, InfoType};
pub use ioctl::{ControlCode, IoctlFlags, IoctlRequest, IoctlResponse};
pub use layout::Layout;
pub use list::{List, pack};
pub use lock::{LockElement, LockFlags, LockRequest, LockResponse};
pub use logoff::{LogoffRequest, LogoffResponse};
pub use message::Message;
pub use negotiate::{
    Capabilities, Dialect, NegotiateContexts, NegotiateRequest, NegotiateResponse, SecurityMode,
};
pub use negotiate_context::{
    Cipher, CompressionAlgorithm, CompressionFlags, ContextType, HashAlgorithm, NegotiateContext,
    RdmaTransformId, SigningAlgorithm, TransportFlags,
};
pub use network_interface::{AddressFamily, InterfaceCapabilities, NetworkInterface, NetworkInterfaces};
pub use notification::{NotificationType, ServerToClientNotification};
pub use oplock::{LeaseState, OplockLevel};
pub use oplock_break::{
    LeaseBreakAcknowledgment, LeaseBreakFlags, LeaseBreakNotification, LeaseBreakResponse, OplockBreak,
    OplockBreakAcknowledgment,
};
pub use place::Place;
pub use query_directory::{
    DirectoryInformationClass, QueryDirectoryFlags, QueryDirectoryRequest, QueryDirectoryResponse,
};
pub use query_info::{QueryInfoFlags, QueryInfoRequest, QueryInfoResponse};
pub use rdma_transform::{RdmaCryptoTransform, RdmaTransform, RdmaTransformType};
pub use read::{ReadFlags, ReadRequest, ReadResponse, ReadResponseFlags};
pub use records::{Record, RecordIter, Records};
pub use request::Request;
pub use response::Response;
#[cfg(feature = "client")]
pub(crate) use response::has_error_body;
pub use session_setup::{
    SessionFlags, SessionSecurityMode, SessionSetupFlags, SessionSetupRequest, SessionSetupResponse,
};
pub use set_info::{SetInfoRequest, SetInfoResponse};
pub use smb1::Smb1Negotiate;
pub use smbd_core::wire::{BufferDescriptorV1, Token};
pub use status::NtStatus;
pub use text::Text;
pub use transform::{Transform, TransformFlags};
pub use tree_connect::{
    ShareCapabilities, ShareFlags, ShareType, TreeConnectExtension, TreeConnectFlags, TreeConnectRequest,
    TreeConnectResponse,
};
pub use tree_disconnect::{TreeDisconnectRequest, TreeDisconnectResponse};
pub use write::{WriteFlags, WriteRequest, WriteResponse};
pub use writer::Writer;
