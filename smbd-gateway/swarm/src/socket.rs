//! Sockets between the broker and the gateway.

use smbd_testkit::host;
use smbd_testkit::swarm::Memory;

use crate::clock::Clock;

pub type End = host::End<Clock, Memory>;

pub type Passed = host::Passed<Clock, Memory>;

pub type Sockets = host::Sockets<Clock>;
