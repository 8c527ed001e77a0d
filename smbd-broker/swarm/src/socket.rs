//! Sockets between the broker and its owners.

use std::sync::Arc;

use smbd_testkit::host;

use crate::clock::Clock;
use crate::slot::Slab;

pub type End = host::End<Clock, Arc<Slab>>;

pub type Passed = host::Passed<Clock, Arc<Slab>>;

pub type Sockets = host::Sockets<Clock>;
