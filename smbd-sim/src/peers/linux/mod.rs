//! Linux 6.12: cifs as initiator, ksmbd as acceptor.
//!
//! Both keep what they receive in the receive buffers until the upper layer has read the whole message (RA-7), post receives
//! in lumps from work that a kernel thread does later, spend the last credit on whatever comes next (CR-4), and send messages
//! that only grant between the fragments of others (RA-4).

mod client;
mod server;
#[cfg(test)]
mod tests;
mod work;

pub(super) use client::LinuxClient;
pub(super) use server::LinuxServer;
