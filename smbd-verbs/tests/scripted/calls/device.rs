//! The function table of a device, which C calls through inline functions.

use super::*;

/// A device, open for ever as those of librdmacm.
pub(super) fn open(events: c_int) -> usize {
    let device: &'static mut ibv_device = Box::leak(Box::new(unsafe { mem::zeroed() }));
    device.name[0] = b'x' as c_char;
    let around: &'static mut verbs_context = Box::leak(Box::new(unsafe { mem::zeroed() }));
    around.sz = size_of::<verbs_context>();
    around.query_device_ex = Some(query_device_ex);
    around.query_port = Some(query_port);
    let context = &mut around.context;
    context.device = device;
    context.async_fd = events;
    context.abi_compat = ptr::without_provenance_mut(usize::MAX);
    context.ops.alloc_mw = Some(alloc_mw);
    context.ops.dealloc_mw = Some(dealloc_mw);
    context.ops.poll_cq = Some(poll_cq);
    context.ops.req_notify_cq = Some(req_notify_cq);
    context.ops.post_send = Some(post_send);
    context.ops.post_recv = Some(post_recv);
    (&raw mut around.context).expose_provenance()
}

unsafe extern "C" fn query_device_ex(
    _: *mut ibv_context,
    _: *const ibv_query_device_ex_input,
    attributes: *mut ibv_device_attr_ex,
    _: usize,
) -> c_int {
    let known = world(|world| world.attributes);
    let attributes = unsafe { &mut (*attributes).orig_attr };
    attributes.vendor_id = known.vendor_id;
    (attributes.max_qp_wr, attributes.max_cqe) = (1024, 4096);
    (attributes.max_sge, attributes.max_sge_rd, attributes.max_mr_size) = (4, 4, 1 << 30);
    (attributes.max_qp_rd_atom, attributes.max_qp_init_rd_atom) = (16, 16);
    if known.windows {
        attributes.max_mw = 64;
        attributes.device_cap_flags = ibv_device_cap_flags::IBV_DEVICE_MEM_WINDOW_TYPE_2B.0
            | ibv_device_cap_flags::IBV_DEVICE_MEM_MGT_EXTENSIONS.0;
    }
    0
}

unsafe extern "C" fn query_port(
    _: *mut ibv_context,
    _: u8,
    attributes: *mut ibv_port_attr,
    _: usize,
) -> c_int {
    unsafe { (*attributes).link_layer = 2 };
    0
}

unsafe extern "C" fn alloc_mw(_: *mut ibv_pd, _: c_uint) -> *mut ibv_mw {
    let context = context();
    make_in("ibv_alloc_mw", "window", |window: &mut ibv_mw| {
        window.context = context;
        window.rkey = world(|world| {
            world.next_key += 0x100;
            world.next_key
        });
    })
}

unsafe extern "C" fn dealloc_mw(window: *mut ibv_mw) -> c_int {
    world(|world| world.bound.remove(&window.addr()));
    free(window);
    call("ibv_dealloc_mw")
}

unsafe extern "C" fn poll_cq(queue: *mut ibv_cq, room: c_int, out: *mut ibv_wc) -> c_int {
    // Once it fails, it fails for ever.
    if world(|world| world.failing.is_some_and(|(name, _)| name == "ibv_poll_cq")) {
        return -1;
    }
    let mut got = 0;
    while got < room {
        let next = world(|world| {
            world.completions.get_mut(&queue.addr()).and_then(|queue| queue.waiting.pop_front())
        });
        let Some(next) = next else { break };
        let place = unsafe { &mut *out.add(got as usize) };
        (place.wr_id, place.status, place.byte_len, place.wc_flags) =
            (next.ticket, next.status, next.len, next.flags);
        place.imm_data_invalidated_rkey_union.invalidated_rkey = next.key;
        got += 1;
    }
    got
}

unsafe extern "C" fn req_notify_cq(queue: *mut ibv_cq, _: c_int) -> c_int {
    world(|world| {
        world.completions.get_mut(&queue.addr()).expect("a completion queue").is_armed = true;
    });
    0
}

unsafe extern "C" fn post_send(_: *mut ibv_qp, first: *mut ibv_send_wr, bad: *mut *mut ibv_send_wr) -> c_int {
    let (mut next, mut taken) = (first, Vec::new());
    while let Some(request) = unsafe { next.as_ref() } {
        if world(|world| world.room == 0) {
            unsafe { *bad = next };
            break;
        }
        let elements = unsafe { elements(request.sg_list, request.num_sge) };
        elements.iter().for_each(|one| world(|world| world.check(one.lkey, one.addr, one.length)));
        let key = match request.opcode {
            ibv_wr_opcode::IBV_WR_RDMA_READ | ibv_wr_opcode::IBV_WR_RDMA_WRITE => unsafe {
                request.wr.rdma.rkey
            },
            ibv_wr_opcode::IBV_WR_BIND_MW => {
                let bind = unsafe { request.bind_mw_tso_union.bind_mw };
                world(|world| world.bound.insert(bind.mw.addr(), bind.rkey));
                bind.rkey
            }
            _ => unsafe { request.imm_data_invalidated_rkey_union.invalidated_rkey },
        };
        if request.opcode == ibv_wr_opcode::IBV_WR_LOCAL_INV {
            world(|world| world.bound.retain(|_, bound| *bound != key));
        }
        taken.push(Sent {
            ticket: request.wr_id,
            opcode: request.opcode,
            flags: request.send_flags,
            key,
            bytes: unsafe { bytes(elements) },
            keys: elements.iter().map(|element| element.lkey).collect(),
        });
        world(|world| world.room = world.room.saturating_sub(1));
        next = request.next;
    }
    world(|world| {
        world.sends.extend(taken.iter().cloned());
        world.calls.push(Call::PostSend(taken));
    });
    if next.is_null() { 0 } else { libc::ENOMEM }
}

unsafe extern "C" fn post_recv(_: *mut ibv_qp, first: *mut ibv_recv_wr, bad: *mut *mut ibv_recv_wr) -> c_int {
    let (mut next, mut count) = (first, 0);
    while let Some(request) = unsafe { next.as_ref() } {
        if world(|world| world.room == 0) {
            unsafe { *bad = next };
            break;
        }
        let element = unsafe { elements(request.sg_list, request.num_sge) }.first().copied();
        let (addr, len, key) = element.map_or((0, 0, 0), |one| (one.addr, one.length, one.lkey));
        world(|world| {
            if len > 0 {
                world.check(key, addr, len);
            }
            world.receives.push_back(Posted { ticket: request.wr_id, addr, len, key });
            world.room = world.room.saturating_sub(1);
        });
        count += 1;
        next = request.next;
    }
    world(|world| world.calls.push(Call::PostRecv(count)));
    if next.is_null() { 0 } else { libc::ENOMEM }
}
