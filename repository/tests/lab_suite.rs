//! `conformance/lab/suite.sh`: sources of another suite are made from those that a machine has.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn lab() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("conformance/lab")
}

/// What a program of suite.sh (the variable `name`) makes of sources on a machine of bookworm.
fn made(name: &str, sources: &str) -> String {
    let script = format!(
        ". \"$LAB/host.sh\" && . \"$LAB/suite.sh\" && awk -v release=bookworm -v suite=new \"${name}\""
    );
    let mut bash = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .env("LAB", lab())
        .env("HOME", "/nowhere")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    bash.stdin.take().unwrap().write_all(sources.as_bytes()).unwrap();
    let output = bash.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

fn of_lines(sources: &str) -> String {
    made("suite_of_lines", sources)
}

fn of_stanzas(sources: &str) -> String {
    made("suite_of_stanzas", sources)
}

#[test]
fn a_line_of_the_release_keeps_all_but_its_suite() {
    assert_eq!(of_lines("deb uri:x bookworm main contrib\n"), "deb uri:x new main contrib\n");
    assert_eq!(
        of_lines("deb [ arch=amd64 signed-by=/key ] uri:x bookworm main\n"),
        "deb [ arch=amd64 signed-by=/key ] uri:x new main\n"
    );
    assert_eq!(of_lines("deb uri:x stable main\n"), "deb uri:x new main\n");
}

#[test]
fn lines_of_other_suites_and_of_sources_and_comments_are_left_out() {
    let others = "# deb uri:x bookworm main\ndeb uri:x bookworm-updates main\ndeb-src uri:x bookworm main\n\
                  deb uri:x bookworm-security main\ndeb uri:bookworm other bookworm\n";
    assert_eq!(of_lines(others), "");
}

#[test]
fn a_stanza_of_the_release_keeps_all_but_its_suites() {
    let signed = "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n";
    let stanza = format!(
        "Types: deb deb-src\n# note\nURIs: uri:x\nSuites: bookworm-updates\n bookworm\nComponents: main\n{signed}"
    );
    let expected = format!("URIs: uri:x\nComponents: main\n{signed}Types: deb\nSuites: new\n\n");
    assert_eq!(of_stanzas(&stanza), expected);
    // Fields have names in any case; the next stanza begins anew.
    let two = format!("types: deb\nuris: uri:y\nsuites: other\n\n\n{stanza}");
    assert_eq!(of_stanzas(&two), expected);
}

#[test]
fn stanzas_of_other_suites_and_of_sources_and_those_that_are_off_are_left_out() {
    for stanza in [
        "Types: deb\nURIs: uri:x\nSuites: bookworm-updates bookworm-security\nComponents: main\n",
        "Types: deb-src\nURIs: uri:x\nSuites: bookworm\nComponents: main\n",
        "Enabled: no\nTypes: deb\nURIs: uri:x\nSuites: bookworm\nComponents: main\n",
        "Types: deb\nURIs: uri:x\nSuites: ./\n",
    ] {
        assert_eq!(of_stanzas(stanza), "", "{stanza}");
    }
}

#[test]
fn what_need_not_be_signed_on_the_machine_has_to_be_signed_in_the_other_suite() {
    assert_eq!(of_lines("deb [trusted=yes] uri:x bookworm main\n"), "deb uri:x new main\n");
    assert_eq!(
        of_lines("deb [ allow-insecure=yes signed-by=/key ] uri:x bookworm main\n")
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["deb", "[", "signed-by=/key", "]", "uri:x", "new", "main"]
    );
    assert_eq!(
        of_stanzas(
            "Types: deb\nURIs: uri:x\nSuites: bookworm\nTrusted: yes\nAllow-Insecure: yes\nComponents: main\n"
        ),
        "URIs: uri:x\nComponents: main\nTypes: deb\nSuites: new\n\n"
    );
}
