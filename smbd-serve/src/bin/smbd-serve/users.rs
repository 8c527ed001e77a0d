//! The file of users.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use smbd_smb2::security::{NtHash, capital};
use thiserror::Error;

/// The most bytes of the file.
const FILE_MAX: u64 = 1 << 20;
/// Mode bits of everybody but the owner.
const OTHERS: u32 = 0o077;

/// Why there are no users.
#[derive(Debug, Error)]
pub(crate) enum NoUsers {
    #[error("--users {path}: {error}")]
    File { path: String, error: io::Error },
    #[error("--users {path}: others may read or write it (mode {mode:03o}); chmod 600 {path}")]
    Mode { path: String, mode: u32 },
    #[error("--users {path}: it belongs to another user ({owner})")]
    Owner { path: String, owner: u32 },
    #[error("--users {path}: it has {FILE_MAX} bytes or more")]
    Size { path: String },
    #[error("--users {path}: there is no user in it; a line is NAME:password:PASSWORD or NAME:nt:HASH")]
    Nobody { path: String },
    #[error("--users {path}, line {line}: {what}")]
    Line { path: String, line: usize, what: &'static str },
}

/// Users by their names in capitals.
pub(crate) type Users = BTreeMap<String, NtHash>;

/// Reads the file, if nobody else can.
pub(crate) fn read(path: &Path) -> Result<Users, NoUsers> {
    let name = || path.display().to_string();
    let wrong = |error| NoUsers::File { path: name(), error };
    let file = File::open(path).map_err(wrong)?;
    // Of what is open: the name may be another file's by now.
    let known = file.metadata().map_err(wrong)?;
    if known.mode() & OTHERS != 0 {
        return Err(NoUsers::Mode { path: name(), mode: known.mode() & 0o777 });
    }
    let own = rustix::process::geteuid().as_raw();
    if known.uid() != own && known.uid() != 0 {
        return Err(NoUsers::Owner { path: name(), owner: known.uid() });
    }
    let mut text = String::new();
    file.take(FILE_MAX).read_to_string(&mut text).map_err(wrong)?;
    if text.len() as u64 == FILE_MAX {
        return Err(NoUsers::Size { path: name() });
    }
    let users = parse(&text).map_err(|(line, what)| NoUsers::Line { path: name(), line, what })?;
    if users.is_empty() { Err(NoUsers::Nobody { path: name() }) } else { Ok(users) }
}

/// Lines `NAME:password:PASSWORD` and `NAME:nt:HASH`; empty ones and those that begin with `#` are left out.
fn parse(text: &str) -> Result<Users, (usize, &'static str)> {
    let mut users = Users::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let wrong = |what| (line, what);
        let mut parts = text.splitn(3, ':');
        let (Some(name), Some(kind), Some(secret)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(wrong("it is neither NAME:password:PASSWORD nor NAME:nt:HASH"));
        };
        if name.is_empty() {
            return Err(wrong("there is no name in front of the first colon"));
        }
        let hash = match kind {
            "password" if !secret.is_empty() => NtHash::of_password(secret),
            "password" => return Err(wrong("the password is empty")),
            "nt" => NtHash::new(digits(secret).ok_or(wrong("an NT hash has 32 hexadecimal digits"))?),
            _ => return Err(wrong("behind the name comes password or nt")),
        };
        if users.insert(capital(name), hash).is_some() {
            return Err(wrong("this user is there already; capitals make no other name"));
        }
    }
    Ok(users)
}

fn digits(text: &str) -> Option<[u8; 16]> {
    let digits = text.trim_end().as_bytes();
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// MS-NLMP 4.2.2.1.2: the hash of `Password`.
    const HASH: &str = "a4f49c406510bdcab6824ee7c30fd852";

    #[test]
    fn a_password_may_have_colons_and_a_hash_is_that_of_a_password() {
        let users =
            parse("# users\n\none:password:a:b c\ntwo:nt:A4F49C406510BDCAB6824EE7C30FD852\n").unwrap();
        let names: Vec<_> = users.keys().map(String::as_str).collect();
        assert_eq!(names, ["ONE", "TWO"]);
        assert_eq!(digits(HASH), digits(&HASH.to_uppercase()));
    }

    #[test]
    fn a_wrong_line_is_told_by_its_number() {
        for (text, line) in [
            ("a:password:x\nb", 2),
            (":password:x", 1),
            ("a:password:", 1),
            ("a:nt:123", 1),
            ("a:nt:zzf49c406510bdcab6824ee7c30fd852", 1),
            ("a:plain:x", 1),
            ("a:password:x\nA:password:y", 2),
        ] {
            assert_eq!(parse(text).map(|_| ()).unwrap_err().0, line, "{text}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_the_cure() {
        let path = std::env::temp_dir().join(format!("smbd-serve-users-{}", std::process::id()));
        std::fs::write(&path, "a:password:x\n").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o640);
        let said = read(&path).unwrap_err().to_string();
        assert!(said.ends_with(&format!("(mode 640); chmod 600 {}", path.display())), "{said}");
        mode(0o600);
        assert_eq!(read(&path).unwrap().len(), 1);
        std::fs::write(&path, "# nobody\n").unwrap();
        assert!(matches!(read(&path), Err(NoUsers::Nobody { .. })));
        std::fs::remove_file(&path).unwrap();
    }
}
