//! What the tests have in common.

use smbd_client::{Error, Remote, Session, Settings};
use smbd_smb2::security::{Credentials, NtHash};

pub const PASSWORD: &str = "correct horse";

pub async fn login(remote: &Remote, password: &str) -> Result<Session, Error> {
    login_as(remote, "tester", password).await
}

pub async fn login_as(remote: &Remote, user: &str, password: &str) -> Result<Session, Error> {
    let hash = NtHash::of_password(password);
    remote.login(Credentials::User { user: user.into(), domain: String::new(), hash }).await
}

pub fn settings() -> Settings {
    Settings::new("server")
}

/// Bytes of which no part is like another.
pub fn content(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let word = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(word).collect();
    bytes.truncate(len);
    bytes
}

/// A folder of a test's own, empty.
pub fn folder(test: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("serve").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A line of a log without its time, whose level is one of these.
pub fn said(line: &str) -> String {
    let (time, rest) = line.split_at(27);
    assert!(time.ends_with('Z') && time.contains('T'), "{line}");
    let level = ["  INFO ", "  WARN "].iter().find_map(|level| rest.strip_prefix(level));
    level.unwrap_or_else(|| panic!("{line}")).to_owned()
}
