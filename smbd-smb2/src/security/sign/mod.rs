//! Signatures of messages, and of data that go by RDMA.

mod channel;
mod mac;
mod nonce;

pub use channel::{BindingSigner, Signer, SigningKey, Verifier};
