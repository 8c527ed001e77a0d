//! The lists of fuzz targets agree, and a target is built without packages that it does not need.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages of the workspace, and the targets that need exactly these.
const NEEDS: [(&[&str], &[&str]); 7] = [
    (&["smbd-core"], &["wire", "slice"]),
    (&["smbd-core", "smbd-sim"], &["connection", "modes", "pair", "canary"]),
    (
        &["smbd-core", "smbd-smb2"],
        &[
            "smb2",
            "relay",
            "reverse",
            "ntlm",
            "spnego",
            "smb2_server",
            "lz77",
            "huffman",
            "lznt1",
            "lz4",
            "decompress",
            "compress",
        ],
    ),
    (&["smbd-core", "smbd-smb2", "smbd-testkit"], &["smb2_client"]),
    (&["smbd-broker", "smbd-core", "smbd-smb2"], &["broker_wire"]),
    (&["smbd-broker", "smbd-core", "smbd-smb2", "smbd-testkit"], &["broker"]),
    (
        &["smbd-conformance", "smbd-core", "smbd-program", "smbd-sim", "smbd-smb2", "smbd-tools"],
        &["capture", "messages", "monitor"],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What is between two marks, after the first of which the text goes on.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no {start:?}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end:?} after {start:?}")).0
}

/// Every second part between these marks, from the second on: what is in quotes.
fn quoted(text: &str, quote: char) -> BTreeSet<String> {
    text.split(quote).skip(1).step_by(2).map(str::to_owned).collect()
}

/// The first cells of a table, without its heads.
fn rows(text: &str, before: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix(before)?.strip_prefix("| `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned())).collect()
}

#[test]
fn every_list_of_fuzz_targets_names_the_same_targets() {
    let script = read("fuzz/run");
    let all = between(&script, "\nall=(", ")").split(' ').map(str::to_owned).collect::<BTreeSet<_>>();
    assert!(all.contains("wire") && all.contains("canary") && all.len() > 10, "{all:?}");

    let manifest = read("fuzz/Cargo.toml");
    let programs: Vec<_> = manifest.split("\n[[bin]]\n").skip(1).collect();
    for (program, target) in programs.iter().map(|text| (text, between(text, "name = \"fuzz-", "\""))) {
        assert!(all.contains(target), "fuzz/run does not know {target}");
        for line in [
            format!("path = \"fuzz_targets/{target}.rs\"\n"),
            format!("required-features = [\"{target}\"]\n"),
        ] {
            assert!(program.contains(&line), "fuzz/Cargo.toml: fuzz-{target} without {line}");
        }
    }
    assert_eq!(programs.len(), all.len(), "programs of fuzz/Cargo.toml");

    let bodies = read("fuzz/src/targets/mod.rs");
    let mut bodies = quoted(between(&bodies, "pub const ALL", "\n];"), '"');
    // It has to find something, so it is in no list of those that must not.
    bodies.insert("canary".into());
    let needs = NEEDS.iter().flat_map(|(_, targets)| targets.iter().map(|&target| target.to_owned()));
    for (place, listed) in [
        ("the feature `all` of fuzz/Cargo.toml", quoted(between(&manifest, "\nall = [", "]"), '"')),
        ("ALL in fuzz/src/targets/mod.rs", bodies),
        ("the table of fuzz/src/lib.rs", rows(&read("fuzz/src/lib.rs"), "//! ")),
        ("the first table of docs/fuzz.md", rows(between(&read("docs/fuzz.md"), "# Fuzzing", "\n## "), "")),
        ("NEEDS in this test", needs.collect()),
    ] {
        assert_eq!(listed, all, "{place}, and `all` of fuzz/run");
    }
}

/// The packages of the workspace that these targets are built from.
fn built_for(targets: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "-p", "smbd-fuzz", "--no-default-features", "--features"])
        .arg(targets.join(","))
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{targets:?}: {}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let packages = tree.lines().filter_map(|line| line.split(' ').next());
    let own = packages.filter(|name| name.starts_with("smbd-") && *name != "smbd-fuzz");
    own.map(str::to_owned).collect()
}

#[test]
fn a_fuzz_target_is_built_from_the_packages_it_needs_and_no_others() {
    for (packages, targets) in NEEDS {
        for target in targets {
            let needed: BTreeSet<_> = packages.iter().map(|&package| package.to_owned()).collect();
            assert_eq!(built_for(&[target]), needed, "{target}");
        }
    }
    let script = read("fuzz/run");
    let build = script.lines().find(|line| line.starts_with("cargo build ")).expect("it builds");
    assert!(build.contains(" --no-default-features "), "fuzz/run builds for all targets: {build}");
}
