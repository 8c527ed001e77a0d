//! A file belongs to one package: what several need is a library.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::files;

/// The folder of the package that a file belongs to.
fn package(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).find(|folder| folder.join("Cargo.toml").is_file())
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        if part == Component::ParentDir {
            _ = plain.pop()
        } else {
            plain.push(part)
        }
        plain
    })
}

/// The files that a file names as its modules, or includes as code.
fn joined(file: &Path, text: &str) -> Vec<PathBuf> {
    let folder = file.parent().unwrap();
    let names = ["#[path = \"", "include!(\""].map(|start| text.split(start).skip(1));
    let names = names.into_iter().flatten().filter_map(|rest| rest.split('"').next());
    names.map(|name| plain(&folder.join(name))).collect()
}

#[test]
fn no_file_is_compiled_into_another_package() {
    let (mut seen, mut strangers) = (0, Vec::new());
    // This file names no others.
    for file in files(&["rs"]).into_iter().filter(|file| !file.ends_with("tidy/joined.rs")) {
        for other in joined(&file, &fs::read_to_string(&file).unwrap()) {
            seen += 1;
            if package(&file) != package(&other) {
                strangers.push(format!("{}: {}", file.display(), other.display()));
            }
        }
    }
    assert!(seen > 10, "{seen}");
    let strangers = strangers.join("\n");
    assert!(strangers.is_empty(), "a library for tests has its place in conformance/testkit:\n{strangers}");
}

#[test]
fn a_path_that_goes_up_leads_out_of_its_package_or_not() {
    let file = Path::new("/a/tests/main.rs");
    let text =
        "#[path = \"../../b/src/c.rs\"]\nmod c;\n#[path = \"part/d.rs\"]\nmod d;\ninclude!(\"../e.rs\");";
    let found = ["/b/src/c.rs", "/a/tests/part/d.rs", "/a/e.rs"].map(PathBuf::from);
    assert_eq!(joined(file, text), found);
}
