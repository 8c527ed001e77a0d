//! The file of users.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};

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
    #[error("--users {path}: there is no user in it; `smbd-serve user add {path} NAME` adds one")]
    Nobody { path: String },
    #[error("--users {path}, line {line}: {what}")]
    Line { path: String, line: usize, what: &'static str },
}

/// Users by their names in capitals.
pub(crate) type Users = BTreeMap<String, NtHash>;

/// Reads the users of a file, if nobody else can, and nobody but this user and root has written it.
pub(crate) fn read(path: &Path) -> Result<Users, NoUsers> {
    let name = || path.display().to_string();
    let UserFile { users, owner, .. } = UserFile::read(path)?;
    let own = rustix::process::geteuid().as_raw();
    if let Some((owner, _)) = owner.filter(|(owner, _)| *owner != own && *owner != 0) {
        return Err(NoUsers::Owner { path: name(), owner });
    }
    if users.is_empty() { Err(NoUsers::Nobody { path: name() }) } else { Ok(users) }
}

/// The text of a file of users, which was read without a fault.
#[derive(Debug)]
pub(crate) struct UserFile {
    text: String,
    users: Users,
    /// Its user and its group, if it is there.
    owner: Option<(u32, u32)>,
}

impl UserFile {
    /// Reads a file, if nobody but its owner and root can.
    pub(crate) fn read(path: &Path) -> Result<Self, NoUsers> {
        let name = || path.display().to_string();
        let wrong = |error| NoUsers::File { path: name(), error };
        let file = File::open(path).map_err(wrong)?;
        // Of what is open: the name may be another file's by now.
        let known = file.metadata().map_err(wrong)?;
        if known.mode() & OTHERS != 0 {
            return Err(NoUsers::Mode { path: name(), mode: known.mode() & 0o777 });
        }
        let mut text = String::new();
        file.take(FILE_MAX).read_to_string(&mut text).map_err(wrong)?;
        if text.len() as u64 == FILE_MAX {
            return Err(NoUsers::Size { path: name() });
        }
        let users = parse(&text).map_err(|(line, what)| NoUsers::Line { path: name(), line, what })?;
        Ok(Self { text, users, owner: Some((known.uid(), known.gid())) })
    }

    /// The same; an empty one if there is none.
    pub(crate) fn read_or_new(path: &Path) -> Result<Self, NoUsers> {
        match Self::read(path) {
            Err(NoUsers::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self { text: String::new(), users: Users::new(), owner: None })
            }
            read => read,
        }
    }

    /// Whether a line can begin with this name.
    pub(crate) fn check_name(name: &str) -> Result<(), String> {
        let why = match name.chars().next() {
            None => "it is empty",
            Some('#') => "it begins with #, as a line that is left out does",
            Some(_) if name.contains(':') => "it has a colon, which ends the name",
            Some(_) if name.contains(char::is_control) => "it has a character that nobody can type",
            Some(_) if name.trim().is_empty() => "it has nothing but spaces",
            Some(_) => return Ok(()),
        };
        Err(format!("{name:?} cannot be the name of a user: {why}"))
    }

    /// The names, as they are written.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter_map(name_of)
    }

    /// Gives a user a password. All other lines stay as they are. Whether the user is new.
    pub(crate) fn set(&mut self, name: &str, hash: &NtHash) -> bool {
        let mut line = format!("{name}:nt:");
        for byte in hash.bytes() {
            // Text can be written to a text.
            let _ = write!(line, "{byte:02x}");
        }
        let is_new = self.users.insert(capital(name), hash.clone()).is_none();
        self.rewrite(name, Some(&line));
        if is_new {
            self.text.push_str(&line);
            self.text.push('\n');
        }
        is_new
    }

    /// Removes a user. Whether there was one.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let is_there = self.users.remove(&capital(name)).is_some();
        self.rewrite(name, None);
        is_there
    }

    /// Puts a line in the place of that of a user, or removes it. Each line has an end then.
    fn rewrite(&mut self, name: &str, by: Option<&str>) {
        let is_meant = |line: &str| name_of(line).is_some_and(|other| capital(other) == capital(name));
        let lines = self.text.lines().filter_map(|line| if is_meant(line) { by } else { Some(line) });
        self.text = lines.flat_map(|line| [line, "\n"]).collect();
    }

    /// Puts this in the place of the file, which nobody else may read (mode 0600) and which is there as a whole at each moment. Its owner
    /// stays, and a link to it does.
    pub(crate) fn write(&self, path: &Path) -> Result<(), NoUsers> {
        let wrong = |error| NoUsers::File { path: path.display().to_string(), error };
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut beside = place.clone().into_os_string();
        beside.push(format!(".{}", std::process::id()));
        let beside = PathBuf::from(beside);
        let written = self.write_new(&beside).and_then(|()| fs::rename(&beside, &place));
        if written.is_err() {
            // What was written in part is nobody's.
            let _ = fs::remove_file(&beside);
        }
        written.map_err(wrong)
    }

    fn write_new(&self, path: &Path) -> io::Result<()> {
        // What a process of the same number has left is no file of users.
        let _ = fs::remove_file(path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        if let Some((user, group)) = self.owner {
            // It may be that of a server that runs as another user.
            fchown(&file, Some(user), Some(group))?;
        }
        file.write_all(self.text.as_bytes())?;
        file.sync_all()
    }
}

/// The name that a line of a user begins with.
fn name_of(line: &str) -> Option<&str> {
    line.split_once(':').map(|(name, _)| name).filter(|_| !is_left_out(line))
}

fn is_left_out(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// Lines `NAME:password:PASSWORD` and `NAME:nt:HASH`; empty ones and those that begin with `#` are left out.
fn parse(text: &str) -> Result<Users, (usize, &'static str)> {
    let mut users = Users::new();
    for (line, text) in (1..).zip(text.lines()) {
        if is_left_out(text) {
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

    fn file(text: &str) -> UserFile {
        UserFile { text: text.into(), users: parse(text).unwrap(), owner: None }
    }

    #[test]
    fn a_user_who_is_added_or_removed_changes_no_other_line() {
        let mut users = file("# ours\n\none:password:a:b c\ntwo:password:x");
        assert!(users.set("three", &NtHash::of_password("Password")));
        let expected = format!("# ours\n\none:password:a:b c\ntwo:password:x\nthree:nt:{HASH}\n");
        assert_eq!(users.text, expected);
        assert!(!users.set("ONE", &NtHash::of_password("Password")));
        assert_eq!(users.names().collect::<Vec<_>>(), ["ONE", "two", "three"]);
        assert!(users.text.starts_with(&format!("# ours\n\nONE:nt:{HASH}\ntwo:password:x\n")));
        assert!(users.remove("Two") && !users.remove("two"));
        assert_eq!(users.text, format!("# ours\n\nONE:nt:{HASH}\nthree:nt:{HASH}\n"));
        assert_eq!(parse(&users.text).unwrap().len(), users.users.len());
    }

    #[test]
    fn root_changes_a_file_of_a_server_that_runs_as_another_user_and_the_file_stays_that_user_s() {
        if !rustix::process::geteuid().is_root() {
            let name =
                "root_changes_a_file_of_a_server_that_runs_as_another_user_and_the_file_stays_that_user_s";
            return smbd_repository::skipped(name, "this user is not root");
        }
        let path = std::env::temp_dir().join(format!("smbd-serve-owner-{}", std::process::id()));
        fs::write(&path, "one:password:x\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&path, Some(1234), Some(1235)).unwrap();
        let mut users = UserFile::read(&path).unwrap();
        users.set("two", &NtHash::of_password("y"));
        users.write(&path).unwrap();
        let known = fs::metadata(&path).unwrap();
        assert_eq!((known.uid(), known.gid(), known.mode() & 0o777), (1234, 1235, 0o600));
        // A server of root lets in nobody whom another user has written.
        assert!(matches!(read(&path), Err(NoUsers::Owner { owner: 1234, .. })));
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_name_that_a_line_cannot_begin_with_is_none() {
        for name in ["", "#a", "a:b", "a\nb", "  "] {
            assert!(UserFile::check_name(name).is_err(), "{name:?}");
        }
        for name in ["tester", "Jörg Straße", " a"] {
            assert_eq!(UserFile::check_name(name), Ok(()));
            let mut users = file("");
            users.set(name, &NtHash::of_password("x"));
            assert_eq!(parse(&users.text).unwrap().keys().collect::<Vec<_>>(), [&capital(name)]);
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_the_cure() {
        let path = std::env::temp_dir().join(format!("smbd-serve-users-{}", std::process::id()));
        fs::write(&path, "a:password:x\n").unwrap();
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o640);
        let said = read(&path).unwrap_err().to_string();
        assert!(said.ends_with(&format!("(mode 640); chmod 600 {}", path.display())), "{said}");
        mode(0o600);
        assert_eq!(read(&path).unwrap().len(), 1);
        fs::write(&path, "# nobody\n").unwrap();
        assert!(matches!(read(&path), Err(NoUsers::Nobody { .. })));
        fs::remove_file(&path).unwrap();
    }
}
