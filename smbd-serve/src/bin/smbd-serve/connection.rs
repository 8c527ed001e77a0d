//! What is known of a connection.

use std::net::SocketAddr;
use std::sync::Arc;

use smbd_smb2::server::{About, ConnectionId};

use crate::counters::Traffic;

/// What a connection came over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Tcp,
    #[cfg(feature = "verbs")]
    Rdma,
    Broker,
}

/// A connection, or a child, as it was seen last.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: SocketAddr,
    pub(crate) way: Way,
    pub(crate) traffic: Arc<Traffic>,
    /// The client that the host knows it as.
    pub(crate) number: Option<ConnectionId>,
    /// What was known when somebody had logged in.
    pub(crate) about: Option<About>,
    /// The process that serves it, if it is another one.
    pub(crate) child: Option<u32>,
}

impl Way {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            #[cfg(feature = "verbs")]
            Self::Rdma => "rdma",
            Self::Broker => "broker",
        }
    }
}

impl Connection {
    pub(crate) fn new(client: SocketAddr, way: Way) -> Self {
        Self { client, way, traffic: Arc::default(), number: None, about: None, child: None }
    }
}

/// The user, as people are told.
pub(crate) fn user(about: &About) -> Option<&str> {
    about.user.as_deref().map(|user| if user.is_empty() { "(guest)" } else { user })
}

/// How sessions are signed and how they are encrypted, if they are.
pub(crate) fn protection(about: &About) -> [Option<String>; 2] {
    let signing = about.signing.filter(|_| about.is_signed);
    let cipher = about.cipher.filter(|_| about.is_encrypted);
    [signing.map(|signing| signing.to_string()), cipher.map(|cipher| cipher.to_string())]
}
