//! The inline functions of C, those of `rdma-sys` if it is there and those written out by hand.

use std::{
    ffi::{c_int, c_uint},
    mem, ptr,
};

use super::declared;

/// A device whose calls say what they were given, for a module of declarations.
macro_rules! device {
    ($name:ident of $of:ident) => {
        mod $name {
            use super::*;
            use $of::{ibv_context, ibv_cq, ibv_mw, ibv_pd, ibv_qp, ibv_recv_wr, ibv_send_wr, ibv_wc};

            unsafe extern "C" fn alloc_mw(pd: *mut ibv_pd, kind: c_uint) -> *mut ibv_mw {
                pd.wrapping_byte_add(kind as usize).cast()
            }
            unsafe extern "C" fn dealloc_mw(mw: *mut ibv_mw) -> c_int {
                // SAFETY: it is the window of the test.
                unsafe { (*mw).rkey as c_int }
            }
            unsafe extern "C" fn poll_cq(_: *mut ibv_cq, entries: c_int, wc: *mut ibv_wc) -> c_int {
                // SAFETY: it is the completion of the test.
                unsafe { (*wc).wr_id = 11 };
                entries + 1
            }
            unsafe extern "C" fn req_notify_cq(_: *mut ibv_cq, solicited_only: c_int) -> c_int {
                solicited_only + 2
            }
            unsafe extern "C" fn post_send(
                _: *mut ibv_qp,
                wr: *mut ibv_send_wr,
                bad: *mut *mut ibv_send_wr,
            ) -> c_int {
                // SAFETY: it is the place of the test.
                unsafe { *bad = wr };
                3
            }
            unsafe extern "C" fn post_recv(
                _: *mut ibv_qp,
                wr: *mut ibv_recv_wr,
                bad: *mut *mut ibv_recv_wr,
            ) -> c_int {
                // SAFETY: it is the place of the test.
                unsafe { *bad = wr };
                4
            }

            /// A context without calls. It stays where it is.
            pub(super) fn without_calls() -> Box<ibv_context> {
                // SAFETY: integers, pointers and optional functions; all may be zero.
                Box::new(unsafe { mem::zeroed() })
            }

            fn with_calls() -> Box<ibv_context> {
                let mut context = without_calls();
                context.ops.alloc_mw = Some(alloc_mw);
                context.ops.dealloc_mw = Some(dealloc_mw);
                context.ops.poll_cq = Some(poll_cq);
                context.ops.req_notify_cq = Some(req_notify_cq);
                context.ops.post_send = Some(post_send);
                context.ops.post_recv = Some(post_recv);
                context
            }

            #[test]
            fn an_inline_function_calls_what_the_device_has_in_its_place() {
                let mut context = with_calls();
                // SAFETY: integers, pointers, optional functions and unions of them; all may be zero.
                let (mut pd, mut mw, mut cq, mut qp) = unsafe {
                    (
                        mem::zeroed::<ibv_pd>(),
                        mem::zeroed::<ibv_mw>(),
                        mem::zeroed::<ibv_cq>(),
                        mem::zeroed::<ibv_qp>(),
                    )
                };
                let context = &raw mut *context;
                (pd.context, mw.context, cq.context, qp.context) = (context, context, context, context);
                mw.rkey = 77;
                let (pd, cq, qp) = (&raw mut pd, &raw mut cq, &raw mut qp);
                // SAFETY: as above.
                let (mut send, mut recv, mut wc) = unsafe {
                    (mem::zeroed::<ibv_send_wr>(), mem::zeroed::<ibv_recv_wr>(), mem::zeroed::<ibv_wc>())
                };
                let (mut bad_send, mut bad_recv) = (ptr::null_mut(), ptr::null_mut());
                // SAFETY: all of it lives in this test, and the calls are those above.
                unsafe {
                    assert_eq!($of::ibv_alloc_mw(pd, 2), Some(pd.wrapping_byte_add(2).cast()));
                    assert_eq!($of::ibv_dealloc_mw(&raw mut mw), 77);
                    assert_eq!(($of::ibv_poll_cq(cq, 5, &raw mut wc), wc.wr_id), (6, 11));
                    assert_eq!($of::ibv_req_notify_cq(cq, 1), 3);
                    assert_eq!($of::ibv_post_send(qp, &raw mut send, &raw mut bad_send), 3);
                    assert_eq!($of::ibv_post_recv(qp, &raw mut recv, &raw mut bad_recv), 4);
                }
                assert_eq!((bad_send, bad_recv), (&raw mut send, &raw mut recv));
            }
        }
    };
}
device!(written_out of declared);
#[cfg(feature = "rdma-sys")]
device!(bindings of rdma_sys);

#[test]
fn a_call_that_a_device_does_not_have_is_refused() {
    use declared::*;
    let mut context = written_out::without_calls();
    // SAFETY: integers, pointers, optional functions and unions of them; all may be zero.
    let (mut pd, mut mw, mut cq, mut qp, mut send, mut recv) = unsafe {
        (
            mem::zeroed::<ibv_pd>(),
            mem::zeroed::<ibv_mw>(),
            mem::zeroed::<ibv_cq>(),
            mem::zeroed::<ibv_qp>(),
            mem::zeroed::<ibv_send_wr>(),
            mem::zeroed::<ibv_recv_wr>(),
        )
    };
    let context = &raw mut *context;
    (pd.context, mw.context, cq.context, qp.context) = (context, context, context, context);
    let (mut bad_send, mut bad_recv) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: all of it lives in this test.
    unsafe {
        assert_eq!(ibv_alloc_mw(&raw mut pd, 2), None);
        assert_eq!(ibv_dealloc_mw(&raw mut mw), libc::EOPNOTSUPP);
        assert_eq!(ibv_poll_cq(&raw mut cq, 1, ptr::null_mut()), -1);
        assert_eq!(ibv_req_notify_cq(&raw mut cq, 0), libc::EOPNOTSUPP);
        assert_eq!(ibv_post_send(&raw mut qp, &raw mut send, &raw mut bad_send), libc::EOPNOTSUPP);
        assert_eq!(ibv_post_recv(&raw mut qp, &raw mut recv, &raw mut bad_recv), libc::EOPNOTSUPP);
    }
    assert_eq!((bad_send, bad_recv), (&raw mut send, &raw mut recv));
}
