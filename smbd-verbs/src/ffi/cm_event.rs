//! Events of the connection manager, copied out of librdmacm.

use std::{
    fmt,
    ptr::{self, NonNull},
    slice,
    sync::Arc,
};

use super::{
    cm::{CmId, EventChannel},
    error::{CallError, non_null, ok},
    lock,
    sys::{rdma_ack_cm_event, rdma_cm_event, rdma_cm_event_type as raw, rdma_cm_id, rdma_get_cm_event},
};

/// What happened to an id.
#[derive(Debug)]
pub(crate) struct CmEvent {
    /// What it was.
    pub(crate) kind: CmEventKind,
    /// 0, a negated error number, or on `Rejected` the transport's reason.
    pub(crate) status: i32,
    /// What the peer gave with its request, answer or refusal. Some transports append zeros.
    pub(crate) private_data: PrivateData,
    /// What the peer wants to read at once, and so the most that may be granted to it (IRD).
    pub(crate) responder_resources: u8,
    /// What the peer lets be read at once (ORD).
    pub(crate) initiator_depth: u8,
    /// The new id of a `ConnectRequest`. Dropping it refuses the request.
    pub(crate) request: Option<CmId>,
}

/// `rdma_cm_event_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CmEventKind {
    /// The device and the peer's address in its network are known.
    AddrResolved,
    /// They could not be found.
    AddrError,
    /// The way to the peer is known.
    RouteResolved,
    /// It could not be found.
    RouteError,
    /// A peer wants a connection.
    ConnectRequest,
    /// The connection failed on this side.
    ConnectError,
    /// The peer did not answer.
    Unreachable,
    /// The peer refused.
    Rejected,
    /// The connection is there.
    Established,
    /// The connection is gone.
    Disconnected,
    /// The device goes away.
    DeviceRemoval,
    /// The address moved to another device.
    AddrChange,
    /// The queue pair number may be used again.
    TimewaitExit,
    /// Any other.
    Other(u32),
}

impl CmEventKind {
    const fn from_raw(kind: u32) -> Self {
        match kind {
            raw::RDMA_CM_EVENT_ADDR_RESOLVED => Self::AddrResolved,
            raw::RDMA_CM_EVENT_ADDR_ERROR => Self::AddrError,
            raw::RDMA_CM_EVENT_ROUTE_RESOLVED => Self::RouteResolved,
            raw::RDMA_CM_EVENT_ROUTE_ERROR => Self::RouteError,
            raw::RDMA_CM_EVENT_CONNECT_REQUEST => Self::ConnectRequest,
            raw::RDMA_CM_EVENT_CONNECT_ERROR => Self::ConnectError,
            raw::RDMA_CM_EVENT_UNREACHABLE => Self::Unreachable,
            raw::RDMA_CM_EVENT_REJECTED => Self::Rejected,
            raw::RDMA_CM_EVENT_ESTABLISHED => Self::Established,
            raw::RDMA_CM_EVENT_DISCONNECTED => Self::Disconnected,
            raw::RDMA_CM_EVENT_DEVICE_REMOVAL => Self::DeviceRemoval,
            raw::RDMA_CM_EVENT_ADDR_CHANGE => Self::AddrChange,
            raw::RDMA_CM_EVENT_TIMEWAIT_EXIT => Self::TimewaitExit,
            other => Self::Other(other),
        }
    }
}

/// The private data of an event, copied.
#[derive(Clone, Copy)]
pub(crate) struct PrivateData {
    bytes: [u8; 256],
    len: u8,
}

impl Default for PrivateData {
    fn default() -> Self {
        Self { bytes: [0; 256], len: 0 }
    }
}

impl PrivateData {
    fn copy(bytes: &[u8]) -> Self {
        let mut copied = Self { bytes: [0; 256], len: u8::try_from(bytes.len()).unwrap_or(u8::MAX) };
        let len = usize::from(copied.len);
        copied.bytes[..len].copy_from_slice(&bytes[..len]);
        copied
    }

    /// The bytes that came.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for PrivateData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().fmt(f)
    }
}

impl EventChannel {
    /// The next event, acknowledged; `None` if there is none now.
    pub(crate) fn next(self: &Arc<Self>) -> Result<Option<CmEvent>, CallError> {
        let _state = lock(&self.state);
        let mut event: *mut rdma_cm_event = ptr::null_mut();
        // SAFETY: the channel is open; the event is written if 0 is returned.
        match ok("rdma_get_cm_event", unsafe { rdma_get_cm_event(self.channel.as_ptr(), &raw mut event) }) {
            Err(error) if error.errno() == libc::EAGAIN => return Ok(None),
            result => result?,
        }
        let event = non_null("rdma_get_cm_event", event)?;
        // SAFETY: the event was just got, and is read before it is acknowledged.
        let (copied, request) = unsafe { CmEvent::copy(event) };
        // SAFETY: it was got above and is acknowledged once; nothing points to it any more.
        ok("rdma_ack_cm_event", unsafe { rdma_ack_cm_event(event.as_ptr()) })?;
        // A new id belongs to nobody until here.
        let request = request.map(|id| CmId::new(id, self));
        Ok(Some(CmEvent { request, ..copied }))
    }
}

impl CmEvent {
    /// Copies an event, without the new id, which is returned beside it.
    ///
    /// # Safety
    /// `event` came from `rdma_get_cm_event` and was not acknowledged. The new id is the caller's to destroy.
    unsafe fn copy(event: NonNull<rdma_cm_event>) -> (Self, Option<NonNull<rdma_cm_id>>) {
        let event = event.as_ptr();
        // SAFETY: the event can be read (the caller). Its kind is a number in the bindings as it is in C.
        let (kind, status) = unsafe { (CmEventKind::from_raw((*event).event), (*event).status) };
        // SAFETY: the id is of port space TCP, for which `conn` is the part in use; librdmacm zeroes it first.
        let conn = unsafe { &raw const (*event).param.conn };
        // SAFETY: as above.
        let (data, len) = unsafe { ((*conn).private_data.cast::<u8>(), (*conn).private_data_len) };
        let bytes = if data.is_null() {
            &[]
        } else {
            // SAFETY: they are there until the event is acknowledged, and nobody writes them.
            unsafe { slice::from_raw_parts(data, usize::from(len)) }
        };
        let private_data = PrivateData::copy(bytes);
        // SAFETY: as above.
        let (responder_resources, initiator_depth) =
            unsafe { ((*conn).responder_resources, (*conn).initiator_depth) };
        let new = match kind {
            // SAFETY: the event can be read; of this kind it carries an id that nobody else has.
            CmEventKind::ConnectRequest => NonNull::new(unsafe { (*event).id }),
            _ => None,
        };
        let copied = Self { kind, status, private_data, responder_resources, initiator_depth, request: None };
        (copied, new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_data_keeps_what_a_length_byte_can_say() {
        assert_eq!(PrivateData::copy(&[]).as_bytes(), []);
        assert_eq!(PrivateData::copy(&[7; 255]).as_bytes(), [7; 255]);
        assert_eq!(PrivateData::copy(&[7; 300]).as_bytes(), [7; 255]);
    }

    #[test]
    fn an_event_of_a_newer_library_is_kept_as_a_number() {
        assert_eq!(CmEventKind::from_raw(9), CmEventKind::Established);
        assert_eq!(CmEventKind::from_raw(5), CmEventKind::Other(5));
        assert_eq!(CmEventKind::from_raw(4711), CmEventKind::Other(4711));
    }
}
