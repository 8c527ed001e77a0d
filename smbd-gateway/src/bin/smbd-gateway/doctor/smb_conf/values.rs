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
    let text = folded(text);
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit {
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

/// Whether a value of `server signing` or `server smb encrypt` means that no client does without.
pub(crate) fn is_required(text: &str) -> bool {
    matches!(folded(text).as_str(), "required" | "mandatory" | "force" | "forced" | "enforced")
}

/// Whether such a value stands for what Samba does if there is none.
pub(crate) fn is_default(text: &str) -> bool {
    folded(text) == "default"
}

/// Versions of the protocol, in their order; `None` if it is none of those that Samba knows.
pub(crate) fn protocol(text: &str) -> Option<u32> {
    Some(match folded(text).as_str() {
        "core" | "coreplus" | "core+" | "lanman1" | "lanman2" | "nt1" => 1,
        "smb2_02" => 0x0202,
        "smb2" | "smb2_10" => 0x0210,
        "smb2_22" => 0x0222,
        "smb2_24" => 0x0224,
        "smb3_00" => 0x0300,
        "smb3_02" => 0x0302,
        "smb3_10" => 0x0310,
        "smb3" | "smb3_11" | "default" => 0x0311,
        _ => return None,
    })
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
        assert_eq!((protocol("SMB3"), protocol("smb4")), (Some(0x0311), None));
    }

    proptest! {
        #[test]
        fn no_item_is_empty_and_no_value_is_too_strange(text in ".*") {
            prop_assert!(!list(&text).contains(&String::new()));
            prop_assert_eq!(folded(&folded(&text)), folded(&text));
            let _ = (boolean(&text), bytes(&text), protocol(&text), is_required(&text), is_default(&text));
        }
    }
}
