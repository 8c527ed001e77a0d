//! What targets of authentication have in common.

use smbd_smb2::security::{Credentials, Fresh, NtHash};

/// Time and entropy that are known.
pub fn fresh(seed: u8) -> Fresh {
    Fresh::new(0x01dd_5b3a_0000_0000, [seed; 32])
}

/// A user whose password the input does not have.
pub fn tester() -> Credentials {
    Credentials::User { user: "tester".into(), domain: "WORK".into(), hash: NtHash::new([0x5a; 16]) }
}

/// The only user.
pub fn accounts(user: &str, _: &str) -> Option<NtHash> {
    (user == "tester").then(|| NtHash::new([0xa5; 16]))
}
