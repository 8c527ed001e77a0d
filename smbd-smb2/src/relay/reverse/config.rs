//! How much it may hold, and what the server's connection can carry.

use crate::relay::ConfigError;
use crate::relay::config::{HEADERS_MAX, MESSAGE_MAX, check};
use crate::relay::request::HEAD_LEN;
use crate::wire::BufferDescriptorV1;

/// The parameters, before they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Memory for each direction in bytes, buffers of the driver included. All data of a READ or WRITE that goes by RDMA have to
    /// fit into the buffers of its direction.
    pub budget: u32,
    /// Size of a buffer that is registered, in bytes. Data of a READ or WRITE take as many as they need, with a descriptor for each.
    /// ksmbd never answers (MR-7) if it needs more than 9 registrations of its own for all descriptors of a request. One takes
    /// up to 255 pages, and serves one descriptor.
    pub buffer_len: u32,
    /// Bytes of one message that are kept until it is clear what becomes of it. In a compound of answers, one whose data come by
    /// RDMA has to begin within.
    pub held_max: u32,
    /// READs and WRITEs of so many bytes and more go by RDMA.
    pub threshold: u32,
    /// Connection.MaxReadWriteSize of the server's connection (MS-SMBD 3.1.1.1), in bytes: the most that a READ or WRITE moves by RDMA.
    pub max_read_write_size: u32,
    /// The longest message that the server receives, in bytes: its MaxFragmentedSize (MS-SMBD 2.2.1).
    pub max_fragmented_send_size: u32,
    /// The longest message that is received from the server, in bytes: the own MaxFragmentedSize (MS-SMBD 2.2.1).
    pub max_fragmented_recv_size: u32,
    /// Whether the server may invalidate tokens: the device then has to let it.
    pub remote_invalidation: bool,
}

impl Default for Params {
    /// 32 MiB each way, in buffers of 255 pages: three operations of 8 MiB, with 9 descriptors. The threshold is that of Linux, the least
    /// MaxFragmentedSize that of MS-SMBD.
    fn default() -> Self {
        Self {
            budget: 32 << 20,
            buffer_len: 255 << 12,
            held_max: 4 << 10,
            threshold: 4 << 10,
            max_read_write_size: 8 << 20,
            max_fragmented_send_size: 128 << 10,
            max_fragmented_recv_size: 128 << 10,
            remote_invalidation: false,
        }
    }
}

/// Checked parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    params: Params,
    buffers: u16,
}

impl Config {
    /// Checks parameters.
    ///
    /// # Errors
    /// `held_max` or one of both MaxFragmentedSizes is below 256 bytes, `buffer_len` or `threshold` is 0, `max_read_write_size` would
    /// not fit into a message of direct TCP, or the budget does not hold `held_max` and one buffer.
    pub fn new(params: &Params) -> Result<Self, ConfigError> {
        let least = [
            ("held_max", params.held_max, 256),
            ("max_fragmented_send_size", params.max_fragmented_send_size, 256),
            ("max_fragmented_recv_size", params.max_fragmented_recv_size, 256),
            ("buffer_len", params.buffer_len, 1),
            ("threshold", params.threshold, 1),
            ("budget", params.budget, params.held_max.saturating_add(params.buffer_len)),
        ];
        let most = MESSAGE_MAX.saturating_sub(HEADERS_MAX);
        check(&least, ("max_read_write_size", params.max_read_write_size, most))?;
        let buffers = params.budget.saturating_sub(params.held_max).checked_div(params.buffer_len);
        let buffers = u16::try_from(buffers.unwrap_or(1)).unwrap_or(u16::MAX);
        Ok(Self { params: *params, buffers })
    }

    /// The parameters.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Number of buffers that the driver has to have for each direction, of [`Params::buffer_len`] bytes. So many are registered in
    /// that direction at most.
    #[must_use]
    pub const fn buffers(&self) -> u16 {
        self.buffers
    }

    /// Buffers for a transfer of so many bytes; `None` if it cannot go by RDMA.
    pub(super) fn buffers_for(&self, len: u32) -> Option<u16> {
        let Params { threshold, max_read_write_size, max_fragmented_send_size, buffer_len, .. } = self.params;
        if len < threshold || len > max_read_write_size {
            return None;
        }
        let count = u16::try_from(len.div_ceil(buffer_len)).ok().filter(|count| *count <= self.buffers)?;
        let info = u16::try_from(usize::from(count).saturating_mul(BufferDescriptorV1::LEN)).ok()?;
        let request = u32::from(info).saturating_add(HEAD_LEN as u32);
        (request <= max_fragmented_send_size).then_some(count)
    }
}
