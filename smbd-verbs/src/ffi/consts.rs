//! Constants of anonymous C enums and macros, which the bindings do not have. The layout test compares them with C.

use libc::c_int;

/// `ibv_port_attr::link_layer` of RoCE; also of iWARP.
pub(super) const IBV_LINK_LAYER_ETHERNET: u8 = 2;

/// The level of the options of an id.
pub(super) const RDMA_OPTION_ID: c_int = 0;
/// Type of service, one byte.
pub(super) const RDMA_OPTION_ID_TOS: c_int = 0;
/// Whether an address may be bound again, an `int`.
pub(super) const RDMA_OPTION_ID_REUSEADDR: c_int = 1;
/// Whether an IPv6 id keeps off IPv4, an `int`.
pub(super) const RDMA_OPTION_ID_AFONLY: c_int = 2;
/// Local acknowledgement timeout, one byte.
pub(super) const RDMA_OPTION_ID_ACK_TIMEOUT: c_int = 3;
