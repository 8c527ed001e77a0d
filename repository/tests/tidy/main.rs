//! What holds for all texts of the repository: modules of a folder do not import each other, files are short, words are those of the field,
//! links lead somewhere, packages stand alone, a file belongs to one of them, and each dependency is used.
//!
//! Modules of one folder do not import each other, neither directly nor around: each can be read with those below it.
//!
//! A module imports what its text names, wherever that is defined: a name that a parent only passes on counts for the module
//! it comes from. That a parent and its own parts know each other is how Rust is cut, and does not count.

mod book;
mod dependencies;
mod graph;
mod imports;
mod joined;
mod lengths;
mod links;
mod packages;
mod prose;
mod sanitized;
mod shared;
mod skipping;
mod tokens;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use graph::{Cycle, cycles};

/// Cycles that are known: the folder, and the modules in it.
const KNOWN: [(&str, &[&str]); 2] = [
    // Each of the two models holds its messages against the records of the other.
    ("conformance/testkit/src/relay", &["client", "server"]),
    ("conformance/testkit/src/relay/reverse", &["client", "server"]),
];

/// The texts of one crate, by their paths from its root file's folder. Programs of a package are crates of their own.
fn sources(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_tests = path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() && !is_tests && path != root.join("bin") {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_tests {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(root).unwrap().to_path_buf(), text);
            }
        }
    }
    found
}

/// The folder of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// All files of the repository with one of these extensions, by absolute path; not what is built or fetched.
fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let mut open = vec![root().to_path_buf()];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_link = path.is_symlink();
            if path.is_dir() && !is_link && name != "target" && !name.starts_with('.') {
                open.push(path);
            } else if path.extension().is_some_and(|is| extensions.iter().any(|wanted| is == *wanted)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The folders of all packages of the workspace, with their manifests.
fn packages() -> Vec<(PathBuf, String)> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifests = files(&["toml"]).into_iter().filter(|path| path.ends_with("Cargo.toml"));
    let folders = manifests.filter_map(|path| path.parent().map(Path::to_path_buf));
    let members = folders.filter(|folder| folder.parent() == Some(workspace));
    members.map(|folder| (folder.clone(), fs::read_to_string(folder.join("Cargo.toml")).unwrap())).collect()
}

/// The folders of the sources of all crates of the workspace: libraries, programs, and both in one folder.
fn crates() -> Vec<PathBuf> {
    let folders = |path: &Path| {
        let entries = fs::read_dir(path).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let manifests = files(&["toml"]).into_iter().filter(|path| path.ends_with("Cargo.toml"));
    let sources: Vec<_> = manifests.map(|manifest| manifest.with_file_name("src")).collect();
    let is_crate = |path: &&PathBuf| path.join("lib.rs").is_file() || path.join("main.rs").is_file();
    let programs = sources.iter().flat_map(|path| folders(&path.join("bin")));
    sources.iter().filter(is_crate).cloned().chain(programs).collect()
}

#[test]
fn no_two_modules_of_a_folder_import_each_other() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let crates = crates();
    assert!(crates.contains(&workspace.join("smbd-serve/swarm/src")), "{crates:?}");
    let mut unknown = Vec::new();
    let mut met = Vec::new();
    for root in crates {
        let shown = root.strip_prefix(workspace).unwrap();
        for Cycle { folder, modules, imports } in cycles(&sources(&root)) {
            let folder = shown.join(folder);
            match KNOWN.iter().find(|(place, names)| Path::new(place) == folder && modules == *names) {
                Some(known) => met.push(known),
                None => unknown.push(format!(
                    "{}: {}\n  {}",
                    folder.display(),
                    modules.join(", "),
                    imports.join("\n  ")
                )),
            }
        }
    }
    assert!(unknown.is_empty(), "modules that import each other:\n{}", unknown.join("\n"));
    let gone: Vec<_> = KNOWN.iter().filter(|known| !met.contains(known)).collect();
    assert!(gone.is_empty(), "not there any more, so no longer to be excepted: {gone:?}");
}

/// The modules of each cycle in a crate of these files.
fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let files = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
    cycles(&files).into_iter().map(|cycle| cycle.modules).collect()
}

#[test]
fn a_cycle_is_found_however_it_is_imported() {
    let lib = "mod a; mod b; mod c; pub use b as renamed; pub use b::B; pub use c::{inner::C as Other, D};";
    let files = [("lib.rs", lib), ("main.rs", ""), ("c/mod.rs", "mod inner; pub use inner::C;")];
    for (a, b) in [
        ("use crate::b::B;", "use super::a::A;"),
        ("use super::{c::D, b::{self, B}};", "fn f() -> crate::a::A {}"),
        ("use crate::B;", "use crate::{a, c};"),
        ("use crate::renamed::B;", "use super::{self as root, a};"),
        ("fn f(b: super::B) {}", "use super::a::*;"),
        ("/* /* */ */ const N: &str = \"\\n\"; use crate::b::B;", "const Q: char = '\\''; use super::a;"),
        (
            "const R: &str = r##\"\"# \"##; use crate::b::B;",
            "#[cfg(test)] mod tests { mod deep {} } use crate::a;",
        ),
    ] {
        let parts = [("a.rs", a), ("b.rs", b), ("c/inner.rs", "")];
        assert_eq!(found(&[&files[..], &parts].concat()), [["a", "b"]], "{a} {b}");
    }
    let around =
        [("a.rs", "use crate::b::X;"), ("b.rs", "use crate::Other;"), ("c/inner.rs", "use crate::a;")];
    assert_eq!(found(&[&files[..], &around].concat()), [["a", "b", "c"]]);
}

#[test]
fn what_is_no_import_of_a_neighbour_is_no_part_of_a_cycle() {
    for a in [
        "// use crate::b::B;",
        "/* /* */ crate::b::B */",
        r#"const T: &str = "\"crate::b::B";"#,
        r##"const R: &str = r#"" crate::b::B"#;"##,
        r#"const Q: [char; 2] = ['"', '\"']; const T: &str = "crate::b::B";"#,
        r##"const Q: &[u8] = &[b'"', b'\"']; const T: &[u8] = b"crate::b::B";"##,
        "fn f<'a>(x: &'a str) {} #[cfg(test)]\nmod tests { use crate::b::B; fn f() { {} } }",
        // What is the root's own, and other crates.
        "use crate::Root; fn f<'a>(x: &'a super::Root) {}",
        "use std::b::B; use itself; use other::crate_b;",
    ] {
        let files =
            [("lib.rs", "mod a; mod b; use a::A;"), ("a.rs", a), ("b.rs", "use crate::a::A; use itself::B;")];
        assert_eq!(found(&files), [[""; 0]; 0], "{a}");
    }
}
