//! `rdma/rdma_cma.h`.

use std::ffi::{c_int, c_uint, c_void};

use libc::sockaddr_storage;

use super::{ibv_comp_channel, ibv_context, ibv_cq, ibv_pd, ibv_qp, ibv_srq};

#[repr(C)]
pub struct rdma_event_channel {
    pub fd: c_int,
}

#[repr(C)]
pub struct rdma_addr {
    pub src_addr_union: sockaddr_storage,
    pub dst_addr_union: sockaddr_storage,
    addr: [u64; 5],
}

#[repr(C)]
pub struct rdma_route {
    pub addr: rdma_addr,
    path_rec: *mut c_void,
    num_paths: c_int,
}

#[repr(C)]
pub struct rdma_cm_id {
    pub verbs: *mut ibv_context,
    pub channel: *mut rdma_event_channel,
    context: *mut c_void,
    pub qp: *mut ibv_qp,
    pub route: rdma_route,
    ps: c_uint,
    pub port_num: u8,
    event: *mut rdma_cm_event,
    send_cq_channel: *mut ibv_comp_channel,
    send_cq: *mut ibv_cq,
    recv_cq_channel: *mut ibv_comp_channel,
    recv_cq: *mut ibv_cq,
    srq: *mut ibv_srq,
    pd: *mut ibv_pd,
    qp_type: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rdma_conn_param {
    pub private_data: *const c_void,
    pub private_data_len: u8,
    pub responder_resources: u8,
    pub initiator_depth: u8,
    pub flow_control: u8,
    pub retry_count: u8,
    pub rnr_retry_count: u8,
    pub srq: u8,
    pub qp_num: u32,
}

#[repr(C)]
pub union param_t {
    pub conn: rdma_conn_param,
    ud: [u64; 7],
}

#[repr(C)]
pub struct rdma_cm_event {
    pub id: *mut rdma_cm_id,
    pub listen_id: *mut rdma_cm_id,
    pub event: c_uint,
    pub status: c_int,
    pub param: param_t,
}
