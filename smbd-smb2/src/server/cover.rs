//! How data that go by RDMA are protected (2.2.43).

use crate::security::RdmaSignature;
use crate::wire::RdmaTransformType;

/// What protects the data of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cover {
    pub(super) transform: RdmaTransformType,
    /// What is said of them: by the client of the data of a WRITE, by this side of those of a READ, once it is made.
    pub(super) signature: Option<RdmaSignature>,
}
