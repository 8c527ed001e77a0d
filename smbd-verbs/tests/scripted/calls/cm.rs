//! librdmacm.

use super::*;

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_get_devices(count: *mut c_int) -> *mut *mut ibv_context {
    unsafe { *count = 1 };
    // Kept for ever.
    Box::leak(Box::new([context()])).as_mut_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_free_devices(_: *mut *mut ibv_context) {}

/// An event channel.
#[repr(C)]
struct Channel {
    raw: rdma_event_channel,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_create_event_channel() -> *mut rdma_event_channel {
    let queue = Queue::new();
    let channel = make("event channel", |channel: &mut Channel| channel.raw.fd = queue.fd());
    world(|world| world.channels.insert(channel.addr(), queue));
    channel.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_destroy_event_channel(channel: *mut rdma_event_channel) {
    world(|world| {
        if world.ids.values().any(|of| *of == channel.addr()) {
            world.wrong("an event channel ends before its id");
        }
        world.channels.remove(&channel.addr());
    });
    free(channel.cast::<Channel>());
}

/// An event with the memory that it points to.
#[repr(C)]
struct Event {
    raw: rdma_cm_event,
    channel: usize,
    private_data: Vec<u8>,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_get_cm_event(
    channel: *mut rdma_event_channel,
    event: *mut *mut rdma_cm_event,
) -> c_int {
    let taken = world(|world| world.channels.get_mut(&channel.addr()).and_then(Queue::take));
    let Some(Happened { kind, status, private_data, id }) = taken else { return fail(libc::EAGAIN) };
    let mut made = Box::new(Event { raw: unsafe { mem::zeroed() }, channel: channel.addr(), private_data });
    (made.raw.event, made.raw.status) = (kind, status);
    made.raw.id = ptr::with_exposed_provenance_mut(id);
    let conn = unsafe { &mut made.raw.param.conn };
    (conn.responder_resources, conn.initiator_depth) = (16, 16);
    conn.private_data = made.private_data.as_ptr().cast();
    conn.private_data_len = made.private_data.len() as u8;
    unsafe { *event = Box::into_raw(made).cast() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_ack_cm_event(event: *mut rdma_cm_event) -> c_int {
    let event = unsafe { Box::from_raw(event.cast::<Event>()) };
    world(|world| world.channels.get_mut(&event.channel).expect("an event channel").taken -= 1);
    0
}

/// An id with a device, on this event channel.
pub(crate) fn create_id(channel: usize) -> *mut rdma_cm_id {
    let verbs = context();
    let id = make("id", |id: &mut rdma_cm_id| (id.verbs, id.port_num) = (verbs, 1));
    world(|world| {
        world.newest_id = id.expose_provenance();
        world.ids.insert(id.addr(), channel);
    });
    id
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_create_id(
    channel: *mut rdma_event_channel,
    id: *mut *mut rdma_cm_id,
    _: *mut c_void,
    _: c_uint,
) -> c_int {
    unsafe { *id = create_id(channel.addr()) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_destroy_id(id: *mut rdma_cm_id) -> c_int {
    world(|world| {
        if !unsafe { (*id).qp }.is_null() {
            world.wrong("an id ends before its queue pair");
        }
        let channel = world.ids.remove(&id.addr()).unwrap_or_default();
        if world.channels.get(&channel).is_some_and(|channel| channel.taken > 0) {
            world.wrong("the end of an id waits for ever for an acknowledgement");
        }
    });
    free(id);
    call("rdma_destroy_id")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_migrate_id(id: *mut rdma_cm_id, channel: *mut rdma_event_channel) -> c_int {
    world(|world| world.ids.insert(id.addr(), channel.addr()));
    call("rdma_migrate_id")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_set_option(
    _: *mut rdma_cm_id,
    _: c_int,
    _: c_int,
    _: *mut c_void,
    _: usize,
) -> c_int {
    call("rdma_set_option")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_bind_addr(_: *mut rdma_cm_id, _: *mut sockaddr) -> c_int {
    call("rdma_bind_addr")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_listen(_: *mut rdma_cm_id, _: c_int) -> c_int {
    call("rdma_listen")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_resolve_addr(
    _: *mut rdma_cm_id,
    _: *mut sockaddr,
    _: *mut sockaddr,
    _: c_int,
) -> c_int {
    call("rdma_resolve_addr")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_resolve_route(_: *mut rdma_cm_id, _: c_int) -> c_int {
    call("rdma_resolve_route")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_create_qp(id: *mut rdma_cm_id, _: *mut ibv_pd, _: *mut ibv_qp_init_attr) -> c_int {
    let of = context();
    let queue = make_in("rdma_create_qp", "queue pair", |queue: &mut ibv_qp| queue.context = of);
    unsafe { (*id).qp = queue };
    if queue.is_null() { -1 } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_destroy_qp(id: *mut rdma_cm_id) {
    world(|world| {
        if !world.bound.is_empty() {
            world.wrong("a queue pair ends before its windows");
        }
        world.calls.push(Call::Named("rdma_destroy_qp"));
    });
    free(unsafe { (*id).qp });
    unsafe { (*id).qp = ptr::null_mut() };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_connect(_: *mut rdma_cm_id, _: *mut rdma_conn_param) -> c_int {
    call("rdma_connect")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_accept(_: *mut rdma_cm_id, _: *mut rdma_conn_param) -> c_int {
    call("rdma_accept")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_reject(_: *mut rdma_cm_id, _: *const c_void, _: u8) -> c_int {
    call("rdma_reject")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_notify(_: *mut rdma_cm_id, _: u32) -> c_int {
    call("rdma_notify")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_disconnect(_: *mut rdma_cm_id) -> c_int {
    call("rdma_disconnect")
}
