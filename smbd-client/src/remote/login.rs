//! What a login needs besides who logs in.

use smbd_smb2::security::{Credentials, Fresh, Initiator, NtlmClient};

use super::key::{Leaving, Place};
use super::surroundings::Surroundings;
use crate::Error;

pub(super) fn initiator(user: &Credentials, server: &str) -> Initiator {
    Initiator::ntlm(user.clone(), "", &format!("cifs/{server}"))
}

/// One that leaves the key of its session somewhere.
pub(super) fn leaving(user: &Credentials, server: &str, place: &Place) -> Initiator {
    let ntlm = NtlmClient::new(user.clone(), String::new(), format!("cifs/{server}"));
    Initiator::new(vec![Box::new(Leaving { ntlm, place: Place::clone(place) })])
}

/// The time and entropy of a login.
pub(super) fn fresh(surroundings: &impl Surroundings) -> Result<Fresh, Error> {
    let mut entropy = [0; 32];
    surroundings.random(&mut entropy)?;
    Ok(Fresh::new(surroundings.date(), entropy))
}
