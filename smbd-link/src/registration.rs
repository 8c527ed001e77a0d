use smbd_core::BufferDescriptorV1;

/// A registered buffer. The peer can access it until it is deregistered or the connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Its name on its connection.
    pub(super) name: u64,
    /// The descriptors of the buffer (2.2.3.1), which the upper layer sends to the peer.
    pub descriptors: Vec<BufferDescriptorV1>,
}
