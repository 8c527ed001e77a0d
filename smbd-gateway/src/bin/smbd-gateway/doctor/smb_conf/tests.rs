use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

/// Reads the first of these files; the others are there to be included.
fn read(files: &[(&str, &str)]) -> SmbConf {
    let all: BTreeMap<_, _> =
        files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
    let mut included = |path: &Path| match all.get(path) {
        Some(text) => Ok(text.clone()),
        None => Err(io::Error::from(if path.starts_with("/closed") {
            io::ErrorKind::PermissionDenied
        } else {
            io::ErrorKind::NotFound
        })),
    };
    SmbConf::parse(Path::new(files[0].0), files[0].1, &mut included)
}

fn global(text: &str, name: &str) -> Option<String> {
    read(&[("/smb.conf", text)]).global.get(name).map(|setting| setting.text.clone())
}

#[test]
fn names_are_the_same_in_any_case_with_any_space_and_by_their_synonyms() {
    for (text, name) in [
        ("[global]\nserver signing = x", "Server Signing"),
        ("[ Global ]\n ServerSigning=x\n", "server signing"),
        ("[globals]\nSERVER   SIGNING =   x  ", "server signing"),
        ("server signing = x\n[share]\n", "server signing"),
        ("[global]\nsmb encrypt = x", "server smb encrypt"),
        ("[global]\nprotocol = x", "server max protocol"),
        ("[global]\nallow hosts = x", "hosts allow"),
        ("[a]\nb = c\n[global]\ndeny hosts = x", "hosts deny"),
    ] {
        assert_eq!(global(text, name).as_deref(), Some("x"), "{text}");
    }
    assert_eq!(global("[share]\nserver signing = x", "server signing"), None);
}

#[test]
fn the_last_value_counts_and_has_its_file_and_line() {
    let conf = read(&[
        ("/smb.conf", "[global]\n# first\nserver signing = auto\ninclude = /more.conf\n"),
        ("/more.conf", "\nserver signing = \\\n  mandatory\n"),
    ]);
    let setting = conf.global.get("server signing").unwrap();
    assert_eq!(setting.text, "mandatory");
    assert_eq!(setting.place, Place { file: "/more.conf".into(), line: 2 });
}

#[test]
fn a_share_goes_on_where_it_is_named_again_and_copies_what_it_does_not_set() {
    let conf = read(&[(
        "/smb.conf",
        "[a]\nhosts allow = one\nsmb encrypt = required\n[b]\nhosts allow = two\ncopy = A\n[ a ]\nread only = no\n",
    )]);
    let texts = |name: &str| -> Vec<_> {
        conf.shares.iter().map(|share| share.get(name).map(|setting| setting.text.as_str())).collect()
    };
    assert_eq!(conf.shares.iter().map(|share| share.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(texts("hosts allow"), [Some("one"), Some("two")]);
    assert_eq!(texts("server smb encrypt"), [Some("required"); 2]);
    assert_eq!(texts("read only"), [Some("no"), None]);
}

/// As Samba: what is behind the line of an `include` belongs to the last section of the file that it names.
#[test]
fn an_included_file_goes_on_in_the_section_and_may_leave_another_one() {
    let conf = read(&[
        ("/smb.conf", "[global]\ninclude = /more.conf\nread only = no\n"),
        ("/more.conf", "server signing = x\n[share]\n"),
    ]);
    assert!(conf.global.get("server signing").is_some() && conf.global.get("read only").is_none());
    assert!(conf.shares[0].get("read only").is_some());
}

#[test]
fn settings_that_are_elsewhere_are_told_with_their_line() {
    for (text, is_elsewhere) in [
        ("include = registry", true),
        ("include = /etc/smb.%m.conf", true),
        ("include = /closed/smb.conf", true),
        ("include = /missing.conf", false),
        ("config backend = registry", true),
        ("config backend = file", false),
        ("config file = /other.conf", true),
        ("registry shares = yes", true),
        ("registry shares = no", false),
    ] {
        let conf = read(&[("/smb.conf", &format!("[global]\n{text}\n"))]);
        let lines: Vec<u32> = conf.elsewhere.iter().map(|elsewhere| elsewhere.place.line).collect();
        assert_eq!(lines, if is_elsewhere { &[2][..] } else { &[] }, "{text}");
    }
}

#[test]
fn a_file_that_includes_itself_comes_to_an_end() {
    let conf =
        read(&[("/smb.conf", "[global]\ninclude = /smb.conf\ninclude = /smb.conf\nserver signing = x\n")]);
    assert!(!conf.elsewhere.is_empty() && conf.global.get("server signing").is_some());
}

#[test]
fn samba_refuses_a_file_with_a_line_that_it_does_not_understand() {
    for (text, line) in [
        ("[global]\na = b\n[share\nserver signing = x", 3),
        (" = b\n", 1),
        ("[]\n", 1),
        ("[a]\ncopy = b\n", 2),
        ("[a]\ncopy = a", 2),
    ] {
        let conf = read(&[("/smb.conf", text)]);
        assert_eq!(conf.refused.as_ref().map(|place| place.line), Some(line), "{text}");
        assert!(conf.global.get("server signing").is_none());
    }
    assert_eq!(read(&[("/smb.conf", "no parameter\n[global]\n")]).refused, None);
}

#[test]
fn interfaces_are_read_from_the_list() {
    let conf = read(&[("/smb.conf", "interfaces = lo \"10.9.0.1;capability=RDMA,speed=1000\" eth0\n")]);
    let names: Vec<_> = conf.interfaces().into_iter().map(|item| (item.name, item.is_rdma)).collect();
    assert_eq!(names, [("lo".into(), false), ("10.9.0.1".into(), true), ("eth0".into(), false)]);
}

/// Pieces that mean something to the reader.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -~]{0,8}",
        Just("\n".to_owned()),
        Just("\\\n".to_owned()),
        Just("[global]".to_owned()),
        Just("[a]".to_owned()),
        Just("[".to_owned()),
        Just(" = ".to_owned()),
        Just("interfaces = \"".to_owned()),
        Just("include = /smb.conf\n".to_owned()),
        Just("include = ".to_owned()),
        Just("copy = a\n".to_owned()),
        Just("\u{e9}\u{1f600}\0".to_owned()),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_can_be_read_and_each_setting_has_a_line_of_it(text in prop_oneof![pieces(), any::<String>()]) {
        let mut again = 9;
        let mut included = |_: &Path| match again {
            0 => Err(io::ErrorKind::NotFound.into()),
            _ => {
                again -= 1;
                Ok(text.clone())
            }
        };
        let conf = SmbConf::parse(Path::new("/smb.conf"), &text, &mut included);
        let count = u32::try_from(text.split('\n').count()).unwrap();
        for section in conf.sections() {
            for setting in section.settings.values() {
                prop_assert!((1..=count).contains(&setting.place.line), "{setting:?}");
            }
        }
        let _ = conf.interfaces();
    }
}
