//! Keys, signatures, encryption, NTLM and SPNEGO, through what is public.

mod foreign;
#[path = "../../src/security/hex.rs"]
mod hex;
mod hostile;
mod known;
mod ntlm;
mod published;
mod rdma;
mod sealing;
mod signing;
mod spnego;
mod tools;
mod vectors;
