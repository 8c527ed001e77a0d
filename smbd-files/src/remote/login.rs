//! What a login needs besides who logs in.

use std::time::{SystemTime, UNIX_EPOCH};

use smbd_smb2::security::{Credentials, Fresh, Initiator, NtlmClient};

use super::key::{Leaving, Place};
use crate::Error;

/// 1970 as a FILETIME: 100 ns since 1601.
const EPOCH: u64 = 116_444_736_000_000_000;

pub(super) fn initiator(user: &Credentials, server: &str) -> Initiator {
    Initiator::ntlm(user.clone(), "", &format!("cifs/{server}"))
}

/// One that leaves the key of its session somewhere.
pub(super) fn leaving(user: &Credentials, server: &str, place: &Place) -> Initiator {
    let ntlm = NtlmClient::new(user.clone(), String::new(), format!("cifs/{server}"));
    Initiator::new(vec![Box::new(Leaving { ntlm, place: Place::clone(place) })])
}

/// The time and entropy of a login.
pub(super) fn fresh() -> Result<Fresh, Error> {
    let mut entropy = [0; 32];
    getrandom::fill(&mut entropy).map_err(Error::Entropy)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "NTLM tells servers the date if they do not say it themselves"
    )]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ticks = u64::try_from(since.as_nanos() / 100).unwrap_or(u64::MAX);
    Ok(Fresh::new(ticks.saturating_add(EPOCH), entropy))
}
