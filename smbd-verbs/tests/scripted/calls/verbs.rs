//! libibverbs.

use super::*;

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_get_device_name(device: *mut ibv_device) -> *const c_char {
    unsafe { (&raw const (*device).name).cast() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_query_device(_: *mut ibv_context, _: *mut ibv_device_attr) -> c_int {
    libc::EOPNOTSUPP
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_query_port(_: *mut ibv_context, _: u8, _: *mut _compat_ibv_port_attr) -> c_int {
    libc::EOPNOTSUPP
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_get_async_event(_: *mut ibv_context, event: *mut ibv_async_event) -> c_int {
    match world(|world| world.async_events.take()) {
        Some(kind) => {
            unsafe { (*event).event_type = kind };
            0
        }
        None => fail(libc::EAGAIN),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_ack_async_event(_: *mut ibv_async_event) {
    world(|world| world.async_events.taken -= 1);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_alloc_pd(of: *mut ibv_context) -> *mut ibv_pd {
    make_in("ibv_alloc_pd", "domain", |domain: &mut ibv_pd| domain.context = of)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_dealloc_pd(domain: *mut ibv_pd) -> c_int {
    world(|world| {
        for kind in ["region", "window", "queue pair"] {
            if world.has(kind) {
                world.wrong(format!("a domain ends before its {kind}"));
            }
        }
    });
    free(domain);
    call("ibv_dealloc_pd")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_reg_mr_iova2(
    domain: *mut ibv_pd,
    addr: *mut c_void,
    length: usize,
    iova: u64,
    _: c_uint,
) -> *mut ibv_mr {
    // The device reaches the memory by its address.
    let start = addr.expose_provenance();
    assert_eq!(start as u64, iova, "addresses are those of the process");
    make_in("ibv_reg_mr", "region", |region: &mut ibv_mr| {
        region.context = unsafe { (*domain).context };
        region.pd = domain;
        let key = world(|world| {
            world.next_key += 0x100;
            world.regions.insert(world.next_key, (iova, length as u64));
            world.next_key
        });
        (region.lkey, region.rkey) = (key, key);
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_dereg_mr(region: *mut ibv_mr) -> c_int {
    let key = unsafe { (*region).lkey };
    world(|world| {
        if world.uses(key) {
            world.wrong("a registration ends while the device uses its memory");
        }
        world.regions.remove(&key);
    });
    free(region);
    call("ibv_dereg_mr")
}

/// As `ibv_comp_channel` begins.
#[repr(C)]
struct Bell {
    context: *mut ibv_context,
    fd: c_int,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_create_comp_channel(of: *mut ibv_context) -> *mut ibv_comp_channel {
    let queue = Queue::new();
    let bell = make_in("ibv_create_comp_channel", "completion channel", |bell: &mut Bell| {
        (bell.context, bell.fd) = (of, queue.fd());
    });
    world(|world| world.bells.insert(bell.addr(), queue));
    bell.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_destroy_comp_channel(channel: *mut ibv_comp_channel) -> c_int {
    world(|world| {
        if world.has("completion queue") {
            world.wrong("a completion channel ends before its queue");
        }
        world.bells.remove(&channel.addr());
    });
    free(channel.cast::<Bell>());
    call("ibv_destroy_comp_channel")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_create_cq(
    of: *mut ibv_context,
    _: c_int,
    _: *mut c_void,
    channel: *mut ibv_comp_channel,
    _: c_int,
) -> *mut ibv_cq {
    let queue = make_in("ibv_create_cq", "completion queue", |queue: &mut ibv_cq| queue.context = of);
    world(|world| {
        world.newest_completions = queue.addr();
        world
            .completions
            .insert(queue.addr(), Completions { channel: channel.addr(), ..Completions::default() });
    });
    queue
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_destroy_cq(queue: *mut ibv_cq) -> c_int {
    world(|world| {
        if world.has("queue pair") {
            world.wrong("a completion queue ends before its queue pair");
        }
        let channel = world.completions.remove(&queue.addr()).map_or(0, |queue| queue.channel);
        if world.bells.get(&channel).is_some_and(|bell| bell.taken > 0) {
            world.wrong("the end of a completion queue waits for ever for an acknowledgement");
        }
    });
    free(queue);
    call("ibv_destroy_cq")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_get_cq_event(
    channel: *mut ibv_comp_channel,
    queue: *mut *mut ibv_cq,
    context: *mut *mut c_void,
) -> c_int {
    let taken = world(|world| world.bells.get_mut(&channel.addr()).and_then(Queue::take));
    if taken.is_none() {
        return fail(libc::EAGAIN);
    }
    unsafe { (*queue, *context) = (ptr::null_mut(), ptr::null_mut()) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_ack_cq_events(queue: *mut ibv_cq, count: c_uint) {
    world(|world| {
        let channel = world.completions.get(&queue.addr()).expect("a completion queue").channel;
        world.bells.get_mut(&channel).expect("a completion channel").taken -= count as usize;
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_modify_qp(_: *mut ibv_qp, attributes: *mut ibv_qp_attr, _: c_int) -> c_int {
    assert_eq!(unsafe { (*attributes).qp_state }, ibv_qp_state::IBV_QPS_ERR);
    if call("ibv_modify_qp") == 0 { 0 } else { libc::EINVAL }
}
