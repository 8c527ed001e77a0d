//! Ids of librdmacm, and the event channels of their events.

use std::{
    fmt,
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd},
    ptr::{self, NonNull},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use libc::c_int;

use super::{
    addr::{self, RawAddr},
    consts::{
        RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, RDMA_OPTION_ID_AFONLY, RDMA_OPTION_ID_REUSEADDR,
        RDMA_OPTION_ID_TOS,
    },
    device::Device,
    error::{CallError, non_null, ok},
    lock, set_nonblocking,
    sys::{
        ibv_event_type, rdma_accept, rdma_bind_addr, rdma_cm_id, rdma_conn_param, rdma_connect,
        rdma_create_event_channel, rdma_create_id, rdma_destroy_event_channel, rdma_destroy_id,
        rdma_disconnect, rdma_event_channel, rdma_listen, rdma_migrate_id, rdma_notify, rdma_port_space,
        rdma_reject, rdma_resolve_addr, rdma_resolve_route, rdma_set_option,
    },
};

/// Where the events of its ids come from. They keep it open.
pub(crate) struct EventChannel {
    pub(super) channel: NonNull<rdma_event_channel>,
    /// Held while an event is taken, which changes the id that it is about and its queue pair, and by whatever else
    /// reads or changes those. Never held over a call that can wait for the network.
    // Shared: locked by calls and events of the connection manager, which has none while a connection is established.
    pub(super) state: Mutex<()>,
}

// SAFETY: librdmacm has no state of a thread, and taking events excludes by `state` what it must not meet.
unsafe impl Send for EventChannel {}
// SAFETY: as above.
unsafe impl Sync for EventChannel {}

impl EventChannel {
    /// A channel whose events are taken without waiting.
    pub(crate) fn open() -> Result<Arc<Self>, CallError> {
        // SAFETY: takes nothing; returns a channel or null.
        let channel = non_null("rdma_create_event_channel", unsafe { rdma_create_event_channel() })?;
        let channel = Self { channel, state: Mutex::new(()) };
        // SAFETY: the channel was just made and is open.
        set_nonblocking(unsafe { (*channel.channel.as_ptr()).fd })?;
        Ok(Arc::new(channel))
    }
}

impl AsFd for EventChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel, and its descriptor, are open as long as `self` lives.
        unsafe { BorrowedFd::borrow_raw((*self.channel.as_ptr()).fd) }
    }
}

impl Drop for EventChannel {
    fn drop(&mut self) {
        // SAFETY: made by `rdma_create_event_channel` and destroyed once. Every id holds the channel, so none is left.
        unsafe { rdma_destroy_event_channel(self.channel.as_ptr()) };
    }
}

impl fmt::Debug for EventChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventChannel").field("fd", &self.as_fd()).finish()
    }
}

/// What both sides tell each other when they connect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnParams<'a> {
    /// Bytes for the peer. How many fit is the transport's: 56 in a request and 196 in an answer on InfiniBand.
    pub(crate) private_data: &'a [u8],
    /// RDMA Reads of the peer that may be in progress (IRD).
    pub(crate) responder_resources: u8,
    /// Own RDMA Reads that may be in progress (ORD).
    pub(crate) initiator_depth: u8,
    /// How often a lost packet is sent again, up to 7.
    pub(crate) retry_count: u8,
    /// How often a message without a receive is sent again, up to 7, where 7 is for ever.
    pub(crate) rnr_retry_count: u8,
}

impl ConnParams<'_> {
    fn to_raw(self, call: &'static str) -> Result<rdma_conn_param, CallError> {
        Ok(rdma_conn_param {
            private_data: self.private_data.as_ptr().cast(),
            private_data_len: short_len(call, self.private_data)?,
            responder_resources: self.responder_resources,
            initiator_depth: self.initiator_depth,
            flow_control: 0,
            retry_count: self.retry_count,
            rnr_retry_count: self.rnr_retry_count,
            srq: 0,
            qp_num: 0,
        })
    }
}

fn short_len(call: &'static str, bytes: &[u8]) -> Result<u8, CallError> {
    u8::try_from(bytes.len()).map_err(|_| CallError::new(call, libc::EINVAL))
}

fn milliseconds(duration: Duration) -> c_int {
    c_int::try_from(duration.as_millis()).unwrap_or(c_int::MAX)
}

/// A connection, or the wish for one, or a listener. Dropping it destroys it: a request that was not answered is
/// refused, a connection ends.
pub(crate) struct CmId {
    id: NonNull<rdma_cm_id>,
    /// Held during every call on the id, before the lock of the channel.
    // Shared: as the state of the channel.
    calls: Mutex<()>,
    channel: Arc<EventChannel>,
}

// SAFETY: librdmacm has no state of a thread, and no two calls on the id are made at once.
unsafe impl Send for CmId {}
// SAFETY: as above; the fields of C's structure are read under the lock under which they change.
unsafe impl Sync for CmId {}

/// Keeps out every other call on an id, and the events of its channel.
pub(super) struct Exclusive<'a> {
    _calls: MutexGuard<'a, ()>,
    _state: MutexGuard<'a, ()>,
}

impl CmId {
    /// An id for a reliable connection (port space TCP).
    pub(crate) fn create(channel: &Arc<EventChannel>) -> Result<Self, CallError> {
        let mut id = ptr::null_mut();
        // SAFETY: the channel is open; the id is written if 0 is returned.
        let returned = unsafe {
            rdma_create_id(
                channel.channel.as_ptr(),
                &raw mut id,
                ptr::null_mut(),
                rdma_port_space::RDMA_PS_TCP,
            )
        };
        ok("rdma_create_id", returned)?;
        Ok(Self::new(non_null("rdma_create_id", id)?, channel))
    }

    pub(super) fn new(id: NonNull<rdma_cm_id>, channel: &Arc<EventChannel>) -> Self {
        Self { id, calls: Mutex::new(()), channel: Arc::clone(channel) }
    }

    /// The id, for a call that changes its fields or its queue pair.
    pub(super) fn exclusive(&self) -> (NonNull<rdma_cm_id>, Exclusive<'_>) {
        let calls = lock(&self.calls);
        (self.id, Exclusive { _calls: calls, _state: lock(&self.channel.state) })
    }

    /// Makes one call on the id, alone.
    fn call(&self, name: &'static str, call: impl FnOnce(*mut rdma_cm_id) -> c_int) -> Result<(), CallError> {
        let (id, _alone) = self.exclusive();
        ok(name, call(id.as_ptr()))
    }

    /// An error if the id has no device yet: some calls of C fall over that.
    fn check_device(&self, name: &'static str) -> Result<(), CallError> {
        let _state = lock(&self.channel.state);
        // SAFETY: the id exists, and nobody changes its fields. Once it has a device it keeps it.
        let none = unsafe { (*self.id.as_ptr()).verbs }.is_null();
        if none { Err(CallError::new(name, libc::ENODEV)) } else { Ok(()) }
    }

    /// Binds to a local address, and to its device if the address has one.
    pub(crate) fn bind(&self, address: SocketAddr) -> Result<(), CallError> {
        let mut address = RawAddr::new(address);
        // SAFETY: the id exists, alone in its call; the address is read during the call.
        self.call("rdma_bind_addr", |id| unsafe { rdma_bind_addr(id, address.as_mut_ptr()) })
    }

    /// Takes connection requests from now on, of which `backlog` may wait.
    pub(crate) fn listen(&self, backlog: u32) -> Result<(), CallError> {
        let backlog = c_int::try_from(backlog).unwrap_or(c_int::MAX);
        // SAFETY: the id exists, alone in its call.
        self.call("rdma_listen", |id| unsafe { rdma_listen(id, backlog) })
    }

    /// Finds the device that reaches `destination`; answered by an event.
    pub(crate) fn resolve_addr(
        &self,
        source: Option<SocketAddr>,
        destination: SocketAddr,
        timeout: Duration,
    ) -> Result<(), CallError> {
        let mut source = source.map(RawAddr::new);
        let source = source.as_mut().map_or(ptr::null_mut(), RawAddr::as_mut_ptr);
        let mut destination = RawAddr::new(destination);
        // SAFETY: the id exists, alone in its call; both addresses are read during the call, and the first may be null.
        self.call("rdma_resolve_addr", |id| unsafe {
            rdma_resolve_addr(id, source, destination.as_mut_ptr(), milliseconds(timeout))
        })
    }

    /// Finds the way to the peer; answered by an event.
    pub(crate) fn resolve_route(&self, timeout: Duration) -> Result<(), CallError> {
        self.check_device("rdma_resolve_route")?;
        // SAFETY: the id exists, alone in its call, and has a device.
        self.call("rdma_resolve_route", |id| unsafe { rdma_resolve_route(id, milliseconds(timeout)) })
    }

    /// Asks the peer for a connection; answered by an event. On iWARP it can wait until the peer's TCP has answered, or
    /// does not: events of the channel can be taken in the meantime, but all else that needs the id waits too.
    pub(crate) fn connect(&self, params: &ConnParams<'_>) -> Result<(), CallError> {
        let mut params = params.to_raw("rdma_connect")?;
        self.check_device("rdma_connect")?;
        let _calls = lock(&self.calls);
        // SAFETY: the id exists, alone in its call, and has a device; parameters and private data are copied before the
        // call can wait. Its queue pair, if it has one, is destroyed under the same lock.
        ok("rdma_connect", unsafe { rdma_connect(self.id.as_ptr(), &raw mut params) })
    }

    /// Accepts the peer's request; answered by an event.
    pub(crate) fn accept(&self, params: &ConnParams<'_>) -> Result<(), CallError> {
        let mut params = params.to_raw("rdma_accept")?;
        self.check_device("rdma_accept")?;
        // SAFETY: the id exists, alone in its call, and has a device; parameters and private data are copied in it.
        self.call("rdma_accept", |id| unsafe { rdma_accept(id, &raw mut params) })
    }

    /// Refuses the peer's request, with a reason for it.
    pub(crate) fn reject(&self, private_data: &[u8]) -> Result<(), CallError> {
        let len = short_len("rdma_reject", private_data)?;
        // SAFETY: the id exists, alone in its call; the private data are copied in it.
        self.call("rdma_reject", |id| unsafe { rdma_reject(id, private_data.as_ptr().cast(), len) })
    }

    /// Ends the connection and flushes the queue pair.
    pub(crate) fn disconnect(&self) -> Result<(), CallError> {
        self.check_device("rdma_disconnect")?;
        // SAFETY: the id exists, alone in its call, and has a device.
        self.call("rdma_disconnect", |id| unsafe { rdma_disconnect(id) })
    }

    /// Tells the connection manager that a message came, which stands for an acknowledgement that was lost.
    pub(crate) fn notify_established(&self) -> Result<(), CallError> {
        // SAFETY: the id exists, alone in its call.
        self.call("rdma_notify", |id| unsafe { rdma_notify(id, ibv_event_type::IBV_EVENT_COMM_EST) })
    }

    /// Has events of this id come through `channel` from now on, also those that wait.
    pub(crate) fn migrate(&mut self, channel: &Arc<EventChannel>) -> Result<(), CallError> {
        if Arc::ptr_eq(&self.channel, channel) {
            return Ok(());
        }
        {
            // Two locks are always taken in the order of their addresses.
            let (first, second) = if Arc::as_ptr(&self.channel) < Arc::as_ptr(channel) {
                (&self.channel, channel)
            } else {
                (channel, &self.channel)
            };
            let (_first, _second) = (lock(&first.state), lock(&second.state));
            // SAFETY: id and channel exist, and neither is in another call. It waits for events that were taken and
            // not acknowledged; there is none while the lock of the old channel is held.
            ok("rdma_migrate_id", unsafe { rdma_migrate_id(self.id.as_ptr(), channel.channel.as_ptr()) })?;
        }
        self.channel = Arc::clone(channel);
        Ok(())
    }

    /// The local address, once bound or resolved.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        let (id, _state) = (self.id, lock(&self.channel.state));
        // SAFETY: the id exists, and nobody changes its fields; they have room for every family.
        unsafe { addr::read((&raw const (*id.as_ptr()).route.addr.src_addr_union).cast()) }
    }

    /// The peer's address, once known.
    pub(crate) fn peer_addr(&self) -> Option<SocketAddr> {
        let (id, _state) = (self.id, lock(&self.channel.state));
        // SAFETY: the id exists, and nobody changes its fields; they have room for every family.
        unsafe { addr::read((&raw const (*id.as_ptr()).route.addr.dst_addr_union).cast()) }
    }

    /// The device, once bound to one or resolved.
    pub(crate) fn device(&self) -> Option<Device> {
        let (id, _state) = (self.id, lock(&self.channel.state));
        // SAFETY: the id exists, keeps its device open, and nobody changes its fields.
        unsafe { NonNull::new((*id.as_ptr()).verbs).and_then(|context| Device::keep(context)) }
    }

    /// The port of the device, from 1 on.
    pub(crate) fn port_number(&self) -> u8 {
        let (id, _state) = (self.id, lock(&self.channel.state));
        // SAFETY: the id exists, and nobody changes its fields.
        unsafe { (*id.as_ptr()).port_num }
    }

    /// Whether the address may be in use by connections that are going away.
    pub(crate) fn set_reuse_address(&self, on: bool) -> Result<(), CallError> {
        self.set_option(RDMA_OPTION_ID_REUSEADDR, c_int::from(on))
    }

    /// Whether an IPv6 listener keeps off IPv4.
    pub(crate) fn set_v6_only(&self, on: bool) -> Result<(), CallError> {
        self.set_option(RDMA_OPTION_ID_AFONLY, c_int::from(on))
    }

    /// The traffic class of the connection (the TOS byte).
    pub(crate) fn set_type_of_service(&self, value: u8) -> Result<(), CallError> {
        self.set_option(RDMA_OPTION_ID_TOS, value)
    }

    /// How long the device waits for an acknowledgement: 4.096 microseconds times 2 to the power of `value`.
    pub(crate) fn set_ack_timeout(&self, value: u8) -> Result<(), CallError> {
        self.set_option(RDMA_OPTION_ID_ACK_TIMEOUT, value)
    }

    fn set_option<T: Copy>(&self, name: c_int, mut value: T) -> Result<(), CallError> {
        // SAFETY: the id exists, alone in its call; the value is read during the call, with its size.
        self.call("rdma_set_option", |id| unsafe {
            rdma_set_option(id, RDMA_OPTION_ID, name, (&raw mut value).cast(), size_of::<T>())
        })
    }
}

impl Drop for CmId {
    fn drop(&mut self) {
        let (id, _alone) = self.exclusive();
        // SAFETY: nobody else has the id any more; its queue pair, which would hold it, is gone. It waits for events
        // that were taken and not acknowledged; there is none while the lock of the channel is held. An error leaves
        // nothing to do.
        unsafe { rdma_destroy_id(id.as_ptr()) };
    }
}

impl fmt::Debug for CmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CmId")
            .field("local", &self.local_addr())
            .field("peer", &self.peer_addr())
            .finish_non_exhaustive()
    }
}
