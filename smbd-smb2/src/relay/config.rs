//! How much a relay may hold, and what the client's connection can carry.

use thiserror::Error;

use super::lists::LISTS_BYTES_MAX;
use super::statistics::SESSIONS_BYTES_MAX;

/// The parameters of a relay, before they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Memory for each direction in bytes, buffers of the driver included.
    pub budget: u32,
    /// Size of a buffer that RDMA reads into or writes from, in bytes. Data of a READ or WRITE go in pieces of it.
    pub buffer_len: u32,
    /// Bytes of one message that are kept until it is clear what becomes of it. A READ or WRITE with a channel has to fit, with its
    /// descriptors, and so has a compound with such a one, but for the data of its answers.
    pub held_max: u32,
    /// Connection.MaxReadWriteSize of the client's connection (MS-SMBD 3.1.1.1), in bytes: the most that a READ or WRITE moves.
    pub max_read_write_size: u32,
    /// The longest message that the client receives, in bytes: its MaxFragmentedSize (MS-SMBD 2.2.1).
    pub max_fragmented_size: u32,
    /// Descriptors of all requests that are kept at the same time.
    pub descriptors_max: u32,
    /// Requests with a channel that wait for their answers at the same time. Servers grant fewer credits.
    pub requests_max: u32,
}

impl Default for Params {
    /// 2 MiB each way; operations of 8 MiB, the most that Samba takes; the least MaxFragmentedSize that MS-SMBD allows.
    fn default() -> Self {
        Self {
            budget: 2 << 20,
            buffer_len: 256 << 10,
            held_max: 128 << 10,
            max_read_write_size: 8 << 20,
            max_fragmented_size: 128 << 10,
            descriptors_max: 16_384,
            requests_max: 16_384,
        }
    }
}

/// Checked parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    params: Params,
    buffers: u16,
}

/// Parameters that no relay can work with. Values are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value is too small.
    #[error("{name} is {value}, and has to be {least} at least")]
    TooSmall {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: u32,
        /// The least valid value.
        least: u32,
    },
    /// A value is too large.
    #[error("{name} is {value}, and can be {most} at most")]
    TooLarge {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: u32,
        /// The largest valid value.
        most: u32,
    },
}

/// Checks values: each of `least` with its lower limit, `most` with its upper one.
pub(super) fn check(
    least: &[(&'static str, u32, u32)],
    most: (&'static str, u32, u32),
) -> Result<(), ConfigError> {
    if let Some(&(name, value, least)) = least.iter().find(|(_, value, least)| value < least) {
        return Err(ConfigError::TooSmall { name, value, least });
    }
    let (name, value, most) = most;
    if value > most { Err(ConfigError::TooLarge { name, value, most }) } else { Ok(()) }
}

/// What a message has at least in the direction to the server, in parts of `held_max`: one message that is kept, and two that wait
/// in rewritten form.
const HELD_PARTS: u32 = 3;

/// The longest message of direct TCP (2.1), in bytes.
pub(super) const MESSAGE_MAX: u32 = 0x00FF_FFFF;

/// Bytes of heap for a request with a channel: its place in a table that doubles as it grows, and the counters of its list.
const REQUEST_BYTES_MAX: u64 = 160;

/// The same for a descriptor.
const DESCRIPTOR_BYTES: u64 = 16;

/// The same for a buffer: what it is used for, that it is free, and its place among those with data.
const BUFFER_BYTES_MAX: u64 = 64;

/// A relay of which nothing has been received.
const FIXED_BYTES_MAX: u64 = 2048;

/// What the places of WRITEs that wait take in parts of `held_max`. One has 116 bytes in the queue, and a place of 56 in a ring that
/// doubles as it grows.
const PLACES_PARTS: u32 = 4;

/// Room for the headers that a message has around its data, in bytes.
pub(super) const HEADERS_MAX: u32 = 4096;

impl Config {
    /// Checks parameters.
    ///
    /// # Errors
    /// `held_max` or `max_fragmented_size` is below 256 bytes, `buffer_len`, `descriptors_max` or `requests_max` is 0,
    /// `max_read_write_size` would not fit into a message of direct TCP, or the budget does not hold three times `held_max` and one
    /// buffer.
    pub fn new(params: &Params) -> Result<Self, ConfigError> {
        let kept = params.held_max.saturating_mul(HELD_PARTS);
        let least = [
            ("held_max", params.held_max, 256),
            ("max_fragmented_size", params.max_fragmented_size, 256),
            ("buffer_len", params.buffer_len, 1),
            ("descriptors_max", params.descriptors_max, 1),
            ("requests_max", params.requests_max, 1),
            ("budget", params.budget, kept.saturating_add(params.buffer_len)),
        ];
        let most = MESSAGE_MAX.saturating_sub(HEADERS_MAX);
        check(&least, ("max_read_write_size", params.max_read_write_size, most))?;
        let buffers = params.budget.saturating_sub(kept).checked_div(params.buffer_len).unwrap_or(1);
        Ok(Self { params: *params, buffers: u16::try_from(buffers).unwrap_or(u16::MAX) })
    }

    /// The parameters.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Number of buffers that the driver has to have for each direction, of [`Params::buffer_len`] bytes. So many RDMA operations
    /// run in that direction at most.
    #[must_use]
    pub const fn buffers(&self) -> u16 {
        self.buffers
    }

    /// The most bytes that a relay has on the heap. Six times [`Params::held_max`] of them are in the budget of both directions; the
    /// others are tables: four times `held_max` for WRITEs that wait, and what [`Params::requests_max`],
    /// [`Params::descriptors_max`] and [`Self::buffers`] need. Buffers are the driver's.
    #[must_use]
    pub fn heap_max(&self) -> u64 {
        let parts = HELD_PARTS.saturating_mul(2).saturating_add(PLACES_PARTS);
        let tables = [
            (self.params.held_max.into(), parts.into()),
            (self.params.requests_max.into(), REQUEST_BYTES_MAX),
            (self.params.descriptors_max.into(), DESCRIPTOR_BYTES),
            (self.buffers.into(), BUFFER_BYTES_MAX),
            (LISTS_BYTES_MAX as u64, 1),
            (SESSIONS_BYTES_MAX as u64, 1),
        ];
        let bytes = tables.iter().map(|(count, bytes)| count.saturating_mul(*bytes));
        bytes.fold(FIXED_BYTES_MAX, u64::saturating_add)
    }

    /// Bytes of messages that wait for the server, without the data of WRITEs.
    pub(super) const fn queue_max(&self) -> usize {
        self.held_max().saturating_mul(2)
    }

    pub(super) const fn held_max(&self) -> usize {
        self.params.held_max as usize
    }
}
