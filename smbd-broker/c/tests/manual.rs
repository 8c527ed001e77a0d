//! The manual names each call and each constant, and what formats it has nothing to complain of.

use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_manual_has_each_call_of_the_header_and_no_other() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let calls_of = |text: &str| {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let calls = words.filter(|word| word.starts_with("smbd_broker_")).map(str::to_owned);
        calls.collect::<std::collections::BTreeSet<_>>()
    };
    let declared = read("include/smbd-broker.h");
    let declared = declared.lines().filter(|line| line.contains('(') && !line.trim_start().starts_with("//"));
    let declared = calls_of(&declared.collect::<Vec<_>>().join("\n"));
    let synopsis = read("man/libsmbd-broker.3");
    let synopsis =
        calls_of(&synopsis.lines().filter(|line| line.starts_with(".Fn ")).collect::<Vec<_>>().join("\n"));
    assert!(declared.len() > 20, "{declared:?}");
    assert_eq!(declared, synopsis);
}

#[test]
fn what_formats_the_manual_has_no_warning() {
    let manual = root().join("man/libsmbd-broker.3");
    let said = [("mandoc", vec!["-Tlint", "-Wwarning"]), ("man", vec!["--warnings", "-E", "UTF-8", "-l"])]
        .into_iter()
        .find_map(|(program, options)| Command::new(program).args(options).arg(&manual).output().ok());
    let said = said.expect("neither mandoc nor man can be run: `./test packages` installs man");
    let errors = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success() && errors.is_empty(), "{errors}{}", String::from_utf8_lossy(&said.stdout));
}
