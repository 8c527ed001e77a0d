//! The extended verbs, which C calls through inline functions. The inline functions of the bindings never find them on
//! a 64-bit machine, because they compare the marker with 32 bits of ones.

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

#[cfg(test)]
mod tests {
    use std::ffi::c_int;

    use super::*;

    unsafe extern "C" fn refuse(_: *mut ibv_cq, attributes: *mut ibv_modify_cq_attr) -> c_int {
        // SAFETY: `moderate_cq` gives attributes that live during the call.
        let moderate = unsafe { (*attributes).moderate };
        c_int::from(moderate.cq_count) * 100 + c_int::from(moderate.cq_period)
    }

    /// What `moderate_cq` makes of a context with this mark and size.
    fn moderate(mark: usize, size: usize) -> i32 {
        // SAFETY: integers and pointers and optional functions; all may be zero.
        let (mut extended, mut queue) = unsafe { (mem::zeroed::<verbs_context>(), mem::zeroed::<ibv_cq>()) };
        extended.modify_cq = Some(refuse);
        extended.sz = size;
        extended.context.abi_compat = std::ptr::without_provenance_mut(mark);
        let base = &raw mut extended;
        // SAFETY: the last field of the same structure, reached from its beginning.
        queue.context = unsafe { &raw mut (*base).context };
        // SAFETY: the queue exists as far as the call looks: it has a context.
        unsafe { moderate_cq(NonNull::from(&mut queue), 3, 7) }.unwrap_err().errno()
    }

    #[test]
    fn a_function_of_the_extended_context_is_found() {
        assert_eq!(moderate(usize::MAX, size_of::<verbs_context>()), 307);
    }

    #[test]
    fn a_plain_or_an_older_context_has_none() {
        assert_eq!(moderate(0, size_of::<verbs_context>()), libc::EOPNOTSUPP);
        assert_eq!(moderate(u32::MAX as usize, size_of::<verbs_context>()), libc::EOPNOTSUPP);
        // An older library has only what is near the end.
        let from_modify_cq = size_of::<verbs_context>() - offset_of!(verbs_context, modify_cq);
        assert_eq!(moderate(usize::MAX, from_modify_cq), 307);
        assert_eq!(moderate(usize::MAX, from_modify_cq - 1), libc::EOPNOTSUPP);
    }
}
