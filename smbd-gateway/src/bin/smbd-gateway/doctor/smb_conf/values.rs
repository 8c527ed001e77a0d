//! Values of parameters.

use super::lines::is_space;

/// A name or a value as Samba compares them: without white space, in lower case.
pub(crate) fn folded(text: &str) -> String {
    text.chars().filter(|c| !is_space(*c)).map(|c| c.to_ascii_lowercase()).collect()
}

/// A boolean; `None` if it is none.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match folded(text).as_str() {
        "yes" | "true" | "on" | "1" => Some(true),
        "no" | "false" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// A number of bytes, such as 4194304 or 4M; `None` if it is none.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim_matches(is_space);
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match folded(unit).as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        "p" => 50,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// How much signing or encryption a server wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// What Samba does without a setting.
    Default,
    Off,
    IfRequired,
    Desired,
    Required,
}

/// A value of `server signing` or `server smb encrypt`; `None` if it is none.
pub(crate) fn level(text: &str) -> Option<Level> {
    Some(match folded(text).as_str() {
        "default" => Level::Default,
        "no" | "false" | "0" | "off" | "disabled" => Level::Off,
        "if_required" | "yes" | "true" | "1" | "on" | "enabled" | "auto" => Level::IfRequired,
        "desired" => Level::Desired,
        "required" | "mandatory" | "force" | "forced" | "enforced" => Level::Required,
        _ => return None,
    })
}

/// A version of the protocol. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Protocol {
    /// What Samba does without a setting.
    Default,
    Smb1,
    Smb202,
    Smb210,
    Smb300,
    Smb302,
    Smb311,
}

/// A value of `server max protocol` or `server min protocol`; `None` if it is none.
pub(crate) fn protocol(text: &str) -> Option<Protocol> {
    Some(match folded(text).as_str() {
        "default" => Protocol::Default,
        "core" | "coreplus" | "core+" | "lanman1" | "lanman2" | "nt1" => Protocol::Smb1,
        "smb2_02" => Protocol::Smb202,
        "smb2" | "smb2_10" => Protocol::Smb210,
        "smb3_00" => Protocol::Smb300,
        "smb3_02" => Protocol::Smb302,
        "smb3" | "smb3_11" => Protocol::Smb311,
        _ => return None,
    })
}

/// Whether a value of `server role` means a domain controller of Active Directory; `None` if it is none.
pub(crate) fn is_domain_controller(role: &str) -> Option<bool> {
    match folded(role).as_str() {
        "activedirectorydomaincontroller" | "domaincontroller" | "dc" => Some(true),
        "auto"
        | "standalone"
        | "standaloneserver"
        | "member"
        | "memberserver"
        | "classicprimarydomaincontroller"
        | "classicbackupdomaincontroller"
        | "ipaprimarydomaincontroller" => Some(false),
        _ => None,
    }
}

/// The items of a list: white space, commas and semicolons separate, except in quotes.
pub(crate) fn list(text: &str) -> Vec<String> {
    let (mut items, mut item, mut is_quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        if c == '"' {
            is_quoted = !is_quoted;
        } else if is_quoted || !(is_space(c) || matches!(c, ',' | ';')) {
            item.push(c);
        } else if !item.is_empty() {
            items.push(std::mem::take(&mut item));
        }
    }
    if !item.is_empty() {
        items.push(item);
    }
    items
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn booleans_are_those_of_samba() {
        for (text, value) in
            [("Yes", Some(true)), ("1", Some(true)), ("O n", Some(true)), ("FALSE", Some(false))]
        {
            assert_eq!(boolean(text), value, "{text}");
        }
        assert_eq!((boolean("auto"), boolean("")), (None, None));
    }

    #[test]
    fn sizes_may_have_a_unit() {
        for (text, value) in [
            ("8388608", Some(8 << 20)),
            ("8 M", Some(8 << 20)),
            ("64k", Some(65536)),
            ("8 388608", None),
            ("-1", None),
            ("M", None),
        ] {
            assert_eq!(bytes(text), value, "{text}");
        }
        assert_eq!(bytes("99999999999p"), None);
    }

    #[test]
    fn a_list_is_separated_outside_of_quotes_only() {
        assert_eq!(list("lo, eth0\t10.9.0.1"), ["lo", "eth0", "10.9.0.1"]);
        assert_eq!(list(r#"lo "a;b=c,d=e" f"#), ["lo", "a;b=c,d=e", "f"]);
        assert_eq!(list(r#"a";b" "c"#), ["a;b", "c"]);
        assert_eq!(list("a;b=c,d=e ;"), ["a", "b=c", "d=e"]);
    }

    #[test]
    fn protocols_are_ordered() {
        assert!(protocol("SMB3_00") > protocol("SMB2") && protocol("NT1") < protocol("smb2_02"));
        assert_eq!((protocol("SMB3"), protocol("smb4")), (Some(Protocol::Smb311), None));
    }

    #[test]
    fn levels_and_roles_are_those_of_samba() {
        for (text, is) in [
            ("Default", Some(Level::Default)),
            ("disabled", Some(Level::Off)),
            ("auto", Some(Level::IfRequired)),
            ("desired", Some(Level::Desired)),
            ("man datory", Some(Level::Required)),
            ("maybe", None),
        ] {
            assert_eq!(level(text), is, "{text}");
        }
        for (text, is) in [("DC", Some(true)), ("member server", Some(false)), ("server", None)] {
            assert_eq!(is_domain_controller(text), is, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_item_of_any_text_is_empty(text in ".*") {
            prop_assert!(!list(&text).contains(&String::new()));
            prop_assert_eq!(folded(&folded(&text)), folded(&text));
            let _ = (boolean(&text), bytes(&text), protocol(&text), level(&text), is_domain_controller(&text));
        }
    }
}
