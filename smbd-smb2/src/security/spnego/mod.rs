//! SPNEGO (RFC 4178, MS-SPNG): which mechanism, and its tokens.

mod acceptor;
mod initiator;
mod oid;
mod token;

pub use acceptor::Acceptor;
pub use initiator::Initiator;
pub use oid::{KERBEROS_OID, KERBEROS_OID_MICROSOFT};
pub use token::{MechTypes, NegState, NegTokenInit, NegTokenResp};
