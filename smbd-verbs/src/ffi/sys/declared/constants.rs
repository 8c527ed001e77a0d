//! Enumerations.

use std::ffi::c_uint;

macro_rules! numbers {
    ($($module:ident { $($name:ident = $value:expr),* $(,)? })*) => {
        $(pub mod $module {
            pub type Type = u32;
            $(pub const $name: Type = $value;)*
        })*
    };
}
numbers! {
    ibv_wc_status { IBV_WC_SUCCESS = 0 }
    ibv_transport_type { IBV_TRANSPORT_IWARP = 1 }
    ibv_mw_type { IBV_MW_TYPE_2 = 2 }
    ibv_qp_type { IBV_QPT_RC = 2 }
    ibv_qp_state { IBV_QPS_ERR = 6 }
    ibv_wr_opcode {
        IBV_WR_RDMA_WRITE = 0,
        IBV_WR_SEND = 2,
        IBV_WR_RDMA_READ = 4,
        IBV_WR_LOCAL_INV = 7,
        IBV_WR_BIND_MW = 8,
        IBV_WR_SEND_WITH_INV = 9,
    }
    rdma_port_space { RDMA_PS_TCP = 0x106 }
    rdma_cm_event_type {
        RDMA_CM_EVENT_ADDR_RESOLVED = 0,
        RDMA_CM_EVENT_ADDR_ERROR = 1,
        RDMA_CM_EVENT_ROUTE_RESOLVED = 2,
        RDMA_CM_EVENT_ROUTE_ERROR = 3,
        RDMA_CM_EVENT_CONNECT_REQUEST = 4,
        RDMA_CM_EVENT_CONNECT_ERROR = 6,
        RDMA_CM_EVENT_UNREACHABLE = 7,
        RDMA_CM_EVENT_REJECTED = 8,
        RDMA_CM_EVENT_ESTABLISHED = 9,
        RDMA_CM_EVENT_DISCONNECTED = 10,
        RDMA_CM_EVENT_DEVICE_REMOVAL = 11,
        RDMA_CM_EVENT_ADDR_CHANGE = 14,
        RDMA_CM_EVENT_TIMEWAIT_EXIT = 15,
    }
}

macro_rules! bits {
    ($($type:ident { $($name:ident = $value:expr),* $(,)? })*) => {
        $(
            pub struct $type(pub c_uint);

            impl $type {
                $(pub const $name: Self = Self($value);)*
            }
        )*
    };
}
bits! {
    ibv_access_flags {
        IBV_ACCESS_LOCAL_WRITE = 1,
        IBV_ACCESS_REMOTE_WRITE = 1 << 1,
        IBV_ACCESS_REMOTE_READ = 1 << 2,
        IBV_ACCESS_MW_BIND = 1 << 4,
        IBV_ACCESS_RELAXED_ORDERING = 1 << 20,
    }
    ibv_send_flags {
        IBV_SEND_FENCE = 1,
        IBV_SEND_SIGNALED = 1 << 1,
        IBV_SEND_SOLICITED = 1 << 2,
        IBV_SEND_INLINE = 1 << 3,
    }
    ibv_device_cap_flags {
        IBV_DEVICE_MEM_WINDOW_TYPE_2A = 1 << 23,
        IBV_DEVICE_MEM_WINDOW_TYPE_2B = 1 << 24,
        IBV_DEVICE_MEM_MGT_EXTENSIONS = 1 << 21,
    }
    ibv_qp_attr_mask { IBV_QP_STATE = 1 }
    ibv_cq_attr_mask { IBV_CQ_ATTR_MODERATE = 1 }
}

#[repr(u32)]
pub enum ibv_event_type {
    IBV_EVENT_COMM_EST = 4,
}
