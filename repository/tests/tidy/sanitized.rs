//! Unsafe code, and who looks at it while it runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::files;
use crate::tokens::tokens;

/// Whether a file has unsafe code; to declare what a caller has to see to is none.
fn is_unsafe(text: &str) -> bool {
    let tokens = tokens(text);
    tokens.windows(2).any(|pair| pair[0] == "unsafe" && ["{", "impl", "extern"].contains(&pair[1]))
}

/// The name of the package that a file belongs to.
fn package(file: &Path) -> String {
    let mut manifests = file.ancestors().map(|folder| folder.join("Cargo.toml"));
    let manifest = manifests.find(|manifest| manifest.is_file()).unwrap();
    let text = fs::read_to_string(manifest).unwrap();
    text.lines().find_map(|line| line.strip_prefix("name = ")).unwrap().trim_matches('"').to_owned()
}

#[test]
fn every_package_with_unsafe_code_is_tested_with_address_sanitizer() {
    let wanted: BTreeSet<String> = files(&["rs"])
        .into_iter()
        .filter(|path| is_unsafe(&fs::read_to_string(path).unwrap()))
        .map(|path| package(&path))
        .collect();
    assert!(wanted.contains("smbd-verbs"), "{wanted:?}");
    let script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../test")).unwrap();
    let (_, step) = script.split_once("\nstep_asan() {").unwrap();
    let (step, _) = step.split_once("\n}").unwrap();
    let mut words = step.split_whitespace();
    let mut tested = BTreeSet::new();
    while words.any(|word| word == "-p") {
        tested.extend(words.next().map(str::to_owned));
    }
    assert_eq!(tested, wanted);
}
