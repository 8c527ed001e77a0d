//! The client and the server as they are, on a device that is a table of registered memory.

mod rig;
mod transforms;
