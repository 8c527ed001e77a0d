//! How a connection carries data.

use std::sync::{Arc, OnceLock};

use smbd_smb2::client::{self, Protection};
use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::RdmaTransformType;

use super::settings::{PIECE_MAX, Way};

/// How a connection carries data. Clones are of the same connection.
#[derive(Clone, Debug)]
pub(super) struct Carries {
    /// Over SMB Direct: whether data go by RDMA where nothing speaks against it.
    rdma: Option<bool>,
    rdma_first: bool,
    /// Connection.RDMATransformIds, once a session is there.
    transforms: Arc<OnceLock<RdmaTransforms>>,
}

impl Carries {
    /// Over a transport. `rdma_first`: over TCP only if nothing else is there.
    pub(super) fn over(limits: &client::Transport, rdma_first: bool) -> Self {
        let rdma = limits.rdma.map(|rdma| rdma.threshold < PIECE_MAX);
        Self { rdma, rdma_first, transforms: Arc::default() }
    }

    pub(super) fn negotiated(&self, transforms: RdmaTransforms) {
        // A second session on the connection has the same.
        let _ = self.transforms.set(transforms);
    }

    /// Whether data go another way if there is one.
    pub(super) const fn yields(&self) -> bool {
        self.rdma_first && self.rdma.is_none()
    }

    /// How it carries data that are protected so (3.2.4.6, 3.2.4.7).
    pub(super) fn way(&self, protection: Protection) -> Way {
        let Some(rdma) = self.rdma else { return Way::Tcp(protection) };
        let has = |transform| self.transforms.get().is_some_and(|transforms| transforms.has(transform));
        // RT-1, RT-3
        let is_allowed = match protection {
            Protection::None => true,
            Protection::Signed => has(RdmaTransformType::SIGNING),
            Protection::Encrypted => has(RdmaTransformType::ENCRYPTION),
        };
        if rdma && is_allowed { Way::Rdma(protection) } else { Way::RdmaMessages(protection) }
    }
}
