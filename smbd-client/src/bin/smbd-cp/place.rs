//! Where a file is: a URL of a server's share, or a path of this host.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// What is said of `rdma://` where it is not built in.
#[cfg(not(feature = "verbs"))]
pub(crate) const NO_RDMA: &str = "rdma:// is not built in; cargo install smbd-client --features program,verbs has it, and smb:// works without";

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// `rdma://`: over SMB Direct.
    Rdma,
    /// `smb://`: over TCP.
    Smb,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rdma => "rdma",
            Self::Smb => "smb",
        })
    }
}

/// A share of a server and who uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) scheme: Scheme,
    /// Empty if none is said.
    pub(crate) domain: String,
    pub(crate) user: String,
    /// A name, or an address without brackets.
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    pub(crate) share: String,
}

/// A file or directory in a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) place: Place,
    /// Names with slashes between them; empty for the share's own directory.
    pub(crate) path: String,
    /// Whether it ends in a slash: it is meant to be a directory.
    pub(crate) is_directory: bool,
}

/// Which part of a URL is wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum WrongUrl {
    #[error("scheme: '{0}' is neither rdma:// nor smb://; a URL is smb://USER@HOST/SHARE/PATH")]
    Scheme(String),
    #[error("user: there is none; say who you are: {0}://USER@HOST/SHARE/PATH")]
    NoUser(Scheme),
    #[error(
        "user: a password in a URL can be read by everybody here; use --password-file, SMBD_PASSWORD or the prompt"
    )]
    Password,
    #[error("host: there is none")]
    NoHost,
    #[error("host: '{0}' has no ']' at its end")]
    Bracket(String),
    #[error("host: '{0}' is an address of IPv6, which takes brackets: [{0}]")]
    NoBrackets(String),
    #[error("port: '{0}' is none; ports are 1 to 65535")]
    Port(String),
    #[error("share: there is none; a file is at HOST/SHARE/PATH")]
    NoShare,
    #[error("{part}: '{text}' has a '%' that is not followed by two hexadecimal digits; '%' itself is %25")]
    Percent { part: &'static str, text: String },
    #[error("{part}: '{text}' is not UTF-8 when its '%' are read")]
    Utf8 { part: &'static str, text: String },
    #[error(
        "{part}: '{text}' has a backslash, a NUL or a slash within a name, which no name on a server has"
    )]
    Character { part: &'static str, text: String },
    #[error("path: '{0}' goes up with '..', which no path on a server does")]
    Up(String),
}

impl FromStr for Url {
    type Err = WrongUrl;

    fn from_str(text: &str) -> Result<Self, WrongUrl> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| WrongUrl::Scheme(text.into()))?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "rdma" => Scheme::Rdma,
            "smb" => Scheme::Smb,
            _ => return Err(WrongUrl::Scheme(format!("{scheme}://"))),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = authority.rsplit_once('@').ok_or(WrongUrl::NoUser(scheme))?;
        if user.contains(':') {
            return Err(WrongUrl::Password);
        }
        let (domain, user) = user.split_once(';').unwrap_or(("", user));
        let (domain, user) = (decode("user", domain)?, decode("user", user)?);
        if user.is_empty() {
            return Err(WrongUrl::NoUser(scheme));
        }
        let (host, port) = host_and_port(host)?;
        let (share, path) = path.split_once('/').unwrap_or((path, ""));
        let share = name("share", share)?;
        if share.is_empty() {
            return Err(WrongUrl::NoShare);
        }
        let mut names = Vec::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            match name("path", part)? {
                up if up == ".." => return Err(WrongUrl::Up(path.into())),
                here if here == "." => {}
                name => names.push(name),
            }
        }
        let is_directory = names.is_empty() || path.ends_with('/');
        let place = Place { scheme, domain, user, host, port, share };
        Ok(Self { place, path: names.join("/"), is_directory })
    }
}

impl Url {
    /// The last name of the path; empty for the share itself.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// A file in this directory.
    pub(crate) fn join(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}/{name}", self.path) }
    }
}

/// Checks that all are of one share, used by one user: there is one connection.
pub(crate) fn check_one(urls: &[Url]) -> Result<&Place, String> {
    let [first, others @ ..] = urls else { return Err("there is no URL".into()) };
    match others.iter().find(|other| other.place != first.place) {
        Some(other) => Err(format!(
            "all URLs have to be of one server, user and share: {} is another than {}",
            other.place, first.place
        )),
        None => Ok(&first.place),
    }
}

impl Place {
    /// Checks that this program can reach it.
    pub(crate) fn check_scheme(&self) -> Result<(), String> {
        match self.scheme {
            #[cfg(not(feature = "verbs"))]
            Scheme::Rdma => Err(NO_RDMA.into()),
            #[cfg(feature = "verbs")]
            Scheme::Rdma => Ok(()),
            Scheme::Smb => Ok(()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, user, host, share, .. } = self;
        let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{user}@{open}{host}{close}")?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write!(f, "/{share}")
    }
}

fn host_and_port(text: &str) -> Result<(String, Option<u16>), WrongUrl> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, behind) = rest.split_once(']').ok_or_else(|| WrongUrl::Bracket(text.into()))?;
        match behind.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if behind.is_empty() => (host, None),
            None => return Err(WrongUrl::Port(behind.into())),
        }
    } else {
        match text.split_once(':') {
            Some((_, port)) if port.contains(':') => return Err(WrongUrl::NoBrackets(text.into())),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let host = name("host", host)?;
    if host.is_empty() {
        return Err(WrongUrl::NoHost);
    }
    let port = match port {
        Some(text) => {
            let number = text.parse().ok().filter(|number| *number > 0 && !text.starts_with('+'));
            Some(number.ok_or_else(|| WrongUrl::Port(text.into()))?)
        }
        None => None,
    };
    Ok((host, port))
}

/// A name without anything that separates names.
fn name(part: &'static str, text: &str) -> Result<String, WrongUrl> {
    let name = decode(part, text)?;
    if name.contains(['/', '\\', '\0']) {
        return Err(WrongUrl::Character { part, text: text.into() });
    }
    Ok(name)
}

/// Reads `%20` and the like.
fn decode(part: &'static str, text: &str) -> Result<String, WrongUrl> {
    let wrong = || WrongUrl::Percent { part, text: text.into() };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        if *byte == b'%' {
            let [high, low, behind @ ..] = behind else { return Err(wrong()) };
            let digit = |byte: &u8| char::from(*byte).to_digit(16);
            let value = digit(high).zip(digit(low)).ok_or_else(wrong)?;
            bytes.push(u8::try_from(value.0 * 16 + value.1).map_err(|_| wrong())?);
            rest = behind;
        } else {
            bytes.push(*byte);
            rest = behind;
        }
    }
    String::from_utf8(bytes).map_err(|_| WrongUrl::Utf8 { part, text: text.into() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn url(text: &str) -> Result<Url, String> {
        text.parse().map_err(|wrong: WrongUrl| wrong.to_string())
    }

    #[test]
    fn all_parts_of_a_url_are_read() {
        let read = url("rdma://EXAMPLE;tester@10.9.0.1:5445/share/a%20dir/f.bin").unwrap();
        let place = &read.place;
        assert_eq!((place.scheme, place.port, place.share.as_str()), (Scheme::Rdma, Some(5445), "share"));
        assert_eq!((place.domain.as_str(), place.user.as_str()), ("EXAMPLE", "tester"));
        assert_eq!(
            (place.host.as_str(), read.path.as_str(), read.name()),
            ("10.9.0.1", "a dir/f.bin", "f.bin")
        );
        assert!(!read.is_directory);
        let read = url("SMB://u@[fd00::1]/s//./x/").unwrap();
        assert_eq!((read.place.host.as_str(), read.place.port, read.path.as_str()), ("fd00::1", None, "x"));
        assert!(read.is_directory);
        assert_eq!(url("smb://u@h/s").unwrap().join("f"), "f");
    }

    #[test]
    fn what_is_wrong_names_its_part() {
        for (text, said) in [
            ("f.bin", "scheme: 'f.bin' is neither"),
            ("http://u@h/s/f", "scheme: 'http://' is neither"),
            ("smb://h/s/f", "user: there is none; say who you are: smb://USER@HOST/SHARE/PATH"),
            ("rdma://@h/s/f", "user: there is none; say who you are: rdma://"),
            ("smb://u:secret@h/s/f", "user: a password in a URL"),
            ("smb://u@/s/f", "host: there is none"),
            ("smb://u@[fd00::1/s/f", "host: '[fd00::1' has no ']'"),
            ("smb://u@fd00::1/s/f", "host: 'fd00::1' is an address of IPv6, which takes brackets: [fd00::1]"),
            ("smb://u@h:0/s/f", "port: '0' is none"),
            ("smb://u@h:x/s/f", "port: 'x' is none"),
            ("smb://u@h:+1/s/f", "port: '+1' is none"),
            ("smb://u@h:70000/s/f", "port: '70000' is none"),
            ("smb://u@h", "share: there is none"),
            ("smb://u@h//f", "share: there is none"),
            ("smb://u@h/s/100%", "path: '100%' has a '%'"),
            ("smb://u@h/s/%ff", "path: '%ff' is not UTF-8"),
            ("smb://u@h/s/a%2fb", "path: 'a%2fb' has a backslash"),
            ("smb://u@h/s\\t/f", "share: 's\\t' has a backslash"),
            ("smb://u@h/s/a/../b", "path: 'a/../b' goes up"),
        ] {
            let wrong = url(text).unwrap_err();
            assert!(wrong.starts_with(said), "{text}: {wrong}");
        }
        assert!(!url("smb://u:secret@h/s/f").unwrap_err().contains("secret"));
    }

    /// Every byte but those that stand for themselves.
    fn encode(text: &str) -> String {
        let byte = |byte: u8| {
            if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        };
        text.bytes().map(byte).collect()
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read_as_it_was(
            user in "[^\\x00]{1,12}", share in "[^/\\\\\\x00]{1,12}", names in prop::collection::vec("[^/\\\\\\x00]{1,12}", 0..4), port: Option<std::num::NonZeroU16>,
        ) {
            prop_assume!(!names.iter().any(|name| name == "." || name == ".."));
            let encoded: Vec<_> = names.iter().map(|name| encode(name)).collect();
            let text = port.map_or(String::new(), |port| format!(":{port}"));
            let text = format!("rdma://{}@host{text}/{}/{}", encode(&user), encode(&share), encoded.join("/"));
            let read = url(&text).unwrap();
            prop_assert_eq!(&read.place.user, &user);
            prop_assert_eq!(&read.place.share, &share);
            prop_assert_eq!(read.place.port, port.map(Into::into));
            prop_assert_eq!(&read.path, &names.join("/"));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}", prefix in prop::sample::select(vec!["", "smb://", "rdma://u@h/", "smb://u@["])) {
            let _ = url(&format!("{prefix}{text}"));
        }
    }
}
