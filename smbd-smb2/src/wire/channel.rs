//! Channels (2.2.19, 2.2.21): by which way the data of a READ or WRITE goes.

use smbd_core::wire::BufferDescriptorV1;

use super::error::WireError;
use super::field::Field;
use super::list::List;
use super::names::values;

values! {
    /// A channel.
    pub struct Channel(u32) {
        NONE = 0x0000_0000 "none",
        RDMA_V1 = 0x0000_0001 "RDMA_V1",
        RDMA_V1_INVALIDATE = 0x0000_0002 "RDMA_V1_INVALIDATE",
        RDMA_TRANSFORM = 0x0000_0003 "RDMA_TRANSFORM",
    }
}

/// The buffer descriptors that a channel's info consists of; none if the channel has none.
pub(super) fn descriptors<'a>(
    channel: Channel,
    info: &'a [u8],
    length: &'static Field<u16>,
) -> Result<List<'a, BufferDescriptorV1>, WireError> {
    match channel {
        Channel::RDMA_V1 | Channel::RDMA_V1_INVALIDATE => List::from_wire(info, length),
        _ => Ok(List::EMPTY),
    }
}
