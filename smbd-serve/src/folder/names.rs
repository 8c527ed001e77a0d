//! Names of the host, and how clients see them.
//!
//! Windows has no names with `"*:<>?\|`, with control characters, or with a space or a dot at the end. Clients on Linux and macOS write
//! them with characters of the private use area (U+F001 to U+F01F, U+F020 to U+F029), and so does this, both ways. A name of the host that
//! is not UTF-8, or has one of those characters itself, cannot be told and is not shown.

use smbd_smb2::security::capital;

use smbd_smb2::mapped;

/// The most bytes of a name of the host.
const HOST_MAX: usize = 255;
/// The most UTF-16 code units of a name that clients see.
const SHARE_MAX: usize = 255;

/// The name that a file of the share has on the host; none if it can have none.
pub(super) fn to_host(name: &str) -> Option<String> {
    let host = mapped::to_posix(name);
    // Nothing of it may lead anywhere else.
    let is_other = host.is_empty() || host == "." || host == ".." || host.contains(['/', '\0']);
    (!is_other && host.len() <= HOST_MAX).then_some(host)
}

/// The name that a file of the host has for clients; none if it can have none.
pub(super) fn to_share(name: &[u8]) -> Option<String> {
    let host = std::str::from_utf8(name).ok()?;
    let share = mapped::to_smb(host);
    // What a client asks for by this name has to be this file.
    let is_itself = to_host(&share).as_deref() == Some(host);
    (is_itself && share.encode_utf16().count() <= SHARE_MAX).then_some(share)
}

/// Whether a name of the host is another one but for its capitals, which are those of the other. Most names are told apart by their
/// bytes.
pub(super) fn same_in_capitals(host: &[u8], other: &str, capitals: &str) -> bool {
    if host.is_ascii() && other.is_ascii() {
        return host.eq_ignore_ascii_case(other.as_bytes());
    }
    std::str::from_utf8(host).is_ok_and(|host| capital(host) == capitals)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use smbd_smb2::server::SharePath;
    use smbd_smb2::wire::Text;

    use super::*;

    #[test]
    fn names_that_windows_cannot_have_are_written_as_other_clients_write_them() {
        for (host, share) in [
            ("a:b", "a\u{F022}b"),
            ("a\\b", "a\u{F026}b"),
            ("what?", "what\u{F025}"),
            ("tab\there", "tab\u{F009}here"),
            ("end.", "end\u{F029}"),
            ("end ", "end\u{F028}"),
            (".hidden", ".hidden"),
            ("plain", "plain"),
        ] {
            assert_eq!(to_share(host.as_bytes()).as_deref(), Some(share));
            assert_eq!(to_host(share).as_deref(), Some(host));
        }
    }

    #[test]
    fn nothing_that_is_written_otherwise_becomes_another_directory() {
        for name in ["\u{F029}", ".\u{F029}", "", "a/b", "a\0b", ".", ".."] {
            assert_eq!(to_host(name), None, "{name:?}");
        }
        assert_eq!(to_host(&"x".repeat(256)), None);
    }

    #[test]
    fn what_is_no_text_or_would_be_another_file_is_not_shown() {
        for name in [&b"\xff"[..], "a\u{F022}b".as_bytes(), "a\u{F029}".as_bytes(), b".", b"..", b""] {
            assert_eq!(to_share(name), None, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn a_name_that_is_shown_leads_back_to_its_file(name in "[a-z.: \\\\*\u{1}\u{F022}\u{F028}\u{F029}é]{1,8}") {
            if let Some(share) = to_share(name.as_bytes()) {
                prop_assert_eq!(to_host(&share), Some(name));
                prop_assert!(SharePath::parse(Text::from(share.as_str())).is_ok());
            }
        }

        #[test]
        fn names_are_the_same_if_their_capitals_are(one in "[aAbıſéÉ]{0,3}", other in "[aAbSIéÉ]{0,3}") {
            let capitals = capital(&other);
            prop_assert_eq!(same_in_capitals(one.as_bytes(), &other, &capitals), capital(&one) == capitals);
        }

        #[test]
        fn a_name_on_the_host_is_one_component(name in "\\PC{0,6}") {
            if let Some(host) = to_host(&name) {
                prop_assert!(!host.contains('/') && !host.contains('\0') && host != "." && host != "..");
            }
        }
    }
}
