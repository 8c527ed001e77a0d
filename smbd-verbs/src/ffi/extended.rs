//! The extended verbs that C reaches through inline functions. Those of the bindings never find them on a 64-bit
//! machine: they compare the mark with 32 bits of ones.

use std::{
    mem::{self, offset_of},
    ptr::NonNull,
};

use super::{
    error::{CallError, ok_or_errno},
    sys::{
        _compat_ibv_port_attr, ibv_context, ibv_cq, ibv_cq_attr_mask, ibv_device_attr, ibv_device_attr_ex,
        ibv_moderate_cq, ibv_modify_cq_attr, ibv_port_attr, ibv_query_device, ibv_query_port, verbs_context,
    },
};

/// The extended context around `context`, if the library made one that has the field at `field`.
///
/// # Safety
/// `context` was opened by libibverbs and is open.
unsafe fn verbs_context(context: NonNull<ibv_context>, field: usize) -> Option<NonNull<verbs_context>> {
    // SAFETY: the caller says it is an open context.
    let mark = unsafe { (*context.as_ptr()).abi_compat };
    if mark.addr() != usize::MAX {
        return None;
    }
    // SAFETY: the mark says that this context is the last field of a `verbs_context`.
    let extended = unsafe { context.byte_sub(offset_of!(verbs_context, context)).cast::<verbs_context>() };
    // SAFETY: `sz` is near the end, in every version of the structure, which grows at its beginning.
    let size = unsafe { (&raw const (*extended.as_ptr()).sz).read() };
    (size >= size_of::<verbs_context>() - field).then_some(extended)
}

/// A function of the extended context, if the library and the provider have it.
macro_rules! extended {
    ($context:expr, $field:ident) => {
        verbs_context($context, offset_of!(verbs_context, $field))
            .and_then(|extended| (&raw const (*extended.as_ptr()).$field).read())
    };
}

/// # Safety
/// `context` was opened by libibverbs and is open.
pub(super) unsafe fn query_port(context: NonNull<ibv_context>, port: u8) -> Result<ibv_port_attr, CallError> {
    // SAFETY: plain integers; all of them may be zero.
    let mut attributes: ibv_port_attr = unsafe { mem::zeroed() };
    // SAFETY: the context is open (the caller); the function was found in it and gets the size it may write.
    let returned = unsafe {
        match extended!(context, query_port) {
            Some(query) => query(context.as_ptr(), port, &raw mut attributes, size_of::<ibv_port_attr>()),
            // The old symbol writes the beginning of the same structure.
            None => {
                ibv_query_port(context.as_ptr(), port, (&raw mut attributes).cast::<_compat_ibv_port_attr>())
            }
        }
    };
    ok_or_errno("ibv_query_port", returned).map(|()| attributes)
}

/// # Safety
/// `context` was opened by libibverbs and is open.
pub(super) unsafe fn query_device(context: NonNull<ibv_context>) -> Result<ibv_device_attr, CallError> {
    // SAFETY: plain integers; all of them may be zero.
    let mut attributes: ibv_device_attr_ex = unsafe { mem::zeroed() };
    // SAFETY: the context is open (the caller); the function was found in it and gets the size it may write.
    let returned = unsafe {
        extended!(context, query_device_ex).map(|query| {
            query(context.as_ptr(), std::ptr::null(), &raw mut attributes, size_of::<ibv_device_attr_ex>())
        })
    };
    if returned == Some(0) {
        return Ok(attributes.orig_attr);
    }
    // SAFETY: as above; it writes an `ibv_device_attr`.
    let returned = unsafe { ibv_query_device(context.as_ptr(), &raw mut attributes.orig_attr) };
    ok_or_errno("ibv_query_device", returned).map(|()| attributes.orig_attr)
}

/// Has `cq` raise an event only for `count` completions, or `period` microseconds after one.
///
/// # Safety
/// `cq` is a completion queue that exists.
pub(super) unsafe fn moderate_cq(cq: NonNull<ibv_cq>, count: u16, period: u16) -> Result<(), CallError> {
    let mut attributes = ibv_modify_cq_attr {
        attr_mask: ibv_cq_attr_mask::IBV_CQ_ATTR_MODERATE.0,
        moderate: ibv_moderate_cq { cq_count: count, cq_period: period },
    };
    // SAFETY: a queue that exists (the caller) has an open context; the function was found in it.
    let returned = unsafe {
        let context = NonNull::new((*cq.as_ptr()).context);
        context
            .and_then(|context| extended!(context, modify_cq))
            .map_or(libc::EOPNOTSUPP, |modify| modify(cq.as_ptr(), &raw mut attributes))
    };
    ok_or_errno("ibv_modify_cq", returned)
}
