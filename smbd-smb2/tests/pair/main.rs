//! The client and the server as they are, on a device that is a table of registered memory.

mod loopback;
mod rig;
mod transforms;
