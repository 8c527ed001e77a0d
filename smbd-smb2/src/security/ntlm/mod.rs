//! NTLMv2 (MS-NLMP), both sides.

mod acceptor;
mod accounts;
mod authenticate;
mod av;
mod challenge;
mod client;
mod key;
mod message;
mod negotiate;
mod oid;
mod response;
mod session;
#[cfg(test)]
mod tests;
mod text;

pub use acceptor::{AcceptorConfig, NtlmAcceptor};
pub use accounts::Accounts;
pub use authenticate::AuthenticateMessage;
pub use av::{AvId, AvPairs};
pub use challenge::ChallengeMessage;
pub use client::{Credentials, NtlmClient};

pub use key::{NtHash, capital};
pub use negotiate::NegotiateMessage;
pub use response::Response as NtlmResponse;
