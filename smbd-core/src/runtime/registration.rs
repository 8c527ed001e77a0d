use alloc::vec::Vec;

use crate::{BufferDescriptorV1, RegId};

/// A buffer the peer may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    pub(super) id: RegId,
    /// What to tell the peer.
    pub descriptors: Vec<BufferDescriptorV1>,
}
