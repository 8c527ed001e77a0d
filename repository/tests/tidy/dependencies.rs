//! Every dependency that a package of the workspace names is used in its code.

use std::fs;

use crate::{files, packages};

/// The names in all tables of dependencies, as they are in code.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut is_table = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            is_table = header.trim_end().ends_with("dependencies]");
        } else if let Some((name, _)) = line.split_once(['.', '=', ' ']).filter(|_| is_table)
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
        {
            names.push(name.replace('-', "_"));
        }
    }
    names
}

/// Whether code names a crate: in a path (`name::`) or an import (`use name;`).
fn names(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&code[..at], &code[at + name.len()..]);
        // `a::name::b` is a module of `a`, unless `::name`, which is none.
        let starts =
            !before.ends_with(is_word) && !before.ends_with('.') && !before.trim_end().ends_with("//");
        let in_path = before.ends_with("::") && before.trim_end_matches(':').ends_with(is_word);
        let is_path = behind.starts_with("::") || before.ends_with("use ") && behind.starts_with([';', ' ']);
        starts && !in_path && is_path
    })
}

#[test]
fn every_dependency_of_every_package_is_used_in_its_code() {
    let (mut seen, mut unused) = (0, Vec::new());
    let sources = files(&["rs"]);
    for (package, manifest) in packages() {
        let of_package = sources.iter().filter(|path| path.starts_with(&package));
        let text: String = of_package.map(|path| fs::read_to_string(path).unwrap()).collect();
        for name in dependencies(&manifest) {
            seen += 1;
            if !names(&text, &name) {
                unused.push(format!("{}: {name}", package.file_name().unwrap().display()));
            }
        }
    }
    assert!(seen > 50, "{seen}");
    assert!(unused.is_empty(), "in no file of their package: {unused:?}");
}

#[test]
fn a_name_in_another_crate_s_path_or_in_a_word_is_no_use() {
    for used in ["use bytes::Bytes;", "fn f(b: bytes::Bytes) {}", "use bytes;", "use ::bytes::Buf;"] {
        assert!(names(used, "bytes"), "{used}");
    }
    for other in
        ["let bytes = 1;", "use super::bytes::f;", "self.bytes::<u8>()", "my_bytes::f()", "bytes.len()"]
    {
        assert!(!names(other, "bytes"), "{other}");
    }
    let manifest = "[dependencies]\na-b.workspace = true\n# c\nd = \"1\"\n[lints]\ne.f = true\n[target.'cfg(x)'.dependencies]\ng = { h = 1 }\n";
    assert_eq!(dependencies(manifest), ["a_b", "d", "g"]);
}
