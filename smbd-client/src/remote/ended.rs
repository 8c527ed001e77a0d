//! The end of a connection.

use std::sync::{Arc, OnceLock};

/// Why a connection has ended, once it has. It also says which connection something belongs to: each has its own.
pub(super) type Ended = Arc<OnceLock<Arc<str>>>;
