//! Whom an acceptor knows.

use super::key::NtHash;

/// The users that an acceptor knows. Any function of user and domain is such.
pub trait Accounts {
    /// The hash of a user's password. Users are the same whose names have the same capitals ([`super::capital`]); the domain is what the
    /// client says, often the name of this server, of the client, or nothing.
    fn nt_hash(&self, user: &str, domain: &str) -> Option<NtHash>;
}

impl<F: Fn(&str, &str) -> Option<NtHash>> Accounts for F {
    fn nt_hash(&self, user: &str, domain: &str) -> Option<NtHash> {
        self(user, domain)
    }
}
