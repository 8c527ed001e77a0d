//! Linux: cifs as initiator, ksmbd as acceptor. Those of 6.12 have an implementation each, those of 7.3 share one.
//!
//! Both of 6.12 keep received data in the receive buffers until the upper layer has read the whole message (RA-7), post
//! receives in batches from work of a kernel thread, use the last credit for the next message of any kind (CR-4), and
//! send messages that only grant between the fragments of others (RA-4).

mod client;
mod engine;
mod server;
#[cfg(test)]
mod tests;
mod work;

pub(super) use client::LinuxClient;
pub(super) use engine::LinuxEngine;
pub(super) use server::LinuxServer;
