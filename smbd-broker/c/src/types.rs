//! The structures of the header.

use std::ffi::{c_char, c_void};

use libc::iovec;

/// A message has come: `smbd_broker_recvmsg` takes it.
pub const SMBD_BROKER_MESSAGE: u32 = 1;
/// Messages were handed to the transport: there is room for others.
pub const SMBD_BROKER_SENT: u32 = 2;
/// A transfer has ended. Its slots are the caller's again.
pub const SMBD_BROKER_RDMA_DONE: u32 = 3;

/// The message is the client's, and nobody has answered it.
pub const SMBD_BROKER_NEW: u32 = 0;
/// The message is the client's, and somebody else has taken it: it belongs to the hash of the past, and is not answered.
pub const SMBD_BROKER_PAST_REQUEST: u32 = 1;
/// The message was sent to the client by somebody else.
pub const SMBD_BROKER_PAST_RESPONSE: u32 = 2;

/// Of a message that is sent: `remote_token` is invalidated when it arrives.
pub const SMBD_BROKER_REMOTE_INVALIDATE: u32 = 1;

/// The most characters of a client's address, with the end.
pub const SMBD_BROKER_PEER_LENGTH: usize = 128;

/// A connection that has come.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Newcomer {
    /// Its number, which no other connection of the broker has.
    pub connection: u64,
    /// Why it came here: 1 its session, 2 its client, 3 no rule matched.
    pub rule: u32,
    /// Not 0: NEGOTIATE was answered. Request and response come first, as messages of the past.
    pub is_negotiated: u32,
    /// The longest message that can be sent, in bytes.
    pub max_fragmented_send_size: u32,
    /// The longest transfer, in bytes.
    pub max_read_write_size: u32,
    /// The address of the client.
    pub peer: [c_char; SMBD_BROKER_PEER_LENGTH],
}

/// How connections are configured that come from now on. Names are those of the kernel's `smbdirect_socket_parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SocketParameters {
    /// ReceiveCreditMax.
    pub recv_credit_max: u16,
    /// SendCreditTarget.
    pub send_credit_target: u16,
    /// MaxSendSize, in bytes.
    pub max_send_size: u32,
    /// MaxReceiveSize, in bytes.
    pub max_recv_size: u32,
    /// MaxFragmentedSize, in bytes: the longest message that is received.
    pub max_fragmented_recv_size: u32,
    /// MaxReadWriteSize, in bytes.
    pub max_read_write_size: u32,
    /// KeepaliveInterval, in milliseconds.
    pub keepalive_interval_msec: u32,
}

/// What has happened on a connection.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Event {
    /// `SMBD_BROKER_MESSAGE`, `SMBD_BROKER_SENT` or `SMBD_BROKER_RDMA_DONE`.
    pub kind: u32,
    /// Of a message: `SMBD_BROKER_NEW`, `SMBD_BROKER_PAST_REQUEST` or `SMBD_BROKER_PAST_RESPONSE`.
    pub age: u32,
    /// Of a message: its bytes.
    pub length: u32,
    /// Of a transfer: not 0 if all bytes were moved.
    pub is_success: u32,
    /// Of a transfer: its tag.
    pub tag: u64,
}

/// A message that is sent or received.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MessageHeader {
    /// Its memory, in pieces.
    pub msg_iov: *mut iovec,
    /// How many pieces.
    pub msg_iovlen: usize,
    /// Of a message that is sent: `SMBD_BROKER_REMOTE_INVALIDATE` or 0.
    pub msg_flags: u32,
    /// Of a message that is sent: the token that is invalidated when it arrives.
    pub remote_token: u32,
    /// Of a message that was received: as in an event.
    pub age: u32,
    /// Of a message that was received, or does not fit into `msg_iov`: its bytes.
    pub length: u32,
}

/// What is moved by RDMA: slots, one behind the other, and the client's memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// The slots: each from its beginning on, as `smbd_broker_take_slots` has given it, with as many bytes as are to be moved.
    pub slots: *const iovec,
    /// How many slots, 1 to 64.
    pub slots_count: usize,
    /// Where in the client's memory the bytes begin.
    pub offset: u64,
    /// Buffer descriptors as they are in a request of SMB2 (MS-SMBD 2.2.3.1), 16 bytes each.
    pub descriptors: *const c_void,
    /// Bytes of all descriptors.
    pub descriptors_length: usize,
}
