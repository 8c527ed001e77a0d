//! `docs/spec-issues.md` and the code that cites it must not drift apart: ids, files and tests named in one are there
//! in the other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Chapters of the register and how many entries each has.
const CHAPTERS: [(&str, u32); 14] = [
    ("CR", 17),
    ("KA", 8),
    ("RA", 9),
    ("VA", 8),
    ("NE", 17),
    ("TX", 9),
    ("MR", 7),
    ("IR", 5),
    ("LC", 4),
    ("DOC", 5),
    ("SE", 12),
    ("CH", 6),
    ("RT", 13),
    ("CO", 12),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Whether an entry is of MS-SMB2, and not of MS-SMBD.
fn is_smb2(id: &str) -> bool {
    ["SE", "CH", "RT", "CO"].iter().any(|chapter| id.starts_with(chapter))
}

/// Text of each entry, by its id.
fn register() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("docs/spec-issues.md")).unwrap();
    let mut entries = BTreeMap::new();
    for entry in text.split("\n### ").skip(1) {
        let (id, rest) = entry.split_once(": ").unwrap();
        let rest = rest.split("\n## ").next().unwrap();
        assert!(entries.insert(id.to_owned(), rest.to_owned()).is_none(), "{id} is there twice");
    }
    entries
}

/// All Rust sources of the members of the workspace, with their paths from the root.
fn sources() -> Vec<(PathBuf, String)> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = [")).unwrap();
    let members: Vec<_> = members.split('"').skip(1).step_by(2).collect();
    assert!(members.len() > 15, "{members:?}");
    let mut found = BTreeMap::new();
    members.into_iter().for_each(|member| read(&root().join(member), "rs", &mut found));
    found.into_iter().collect()
}

/// All pages of the repository, with their paths from the root.
fn pages() -> Vec<(PathBuf, String)> {
    let mut found = BTreeMap::new();
    read(&root(), "md", &mut found);
    found.into_iter().collect()
}

/// Reads all files below a folder that have this extension, but not what is built or hidden.
fn read(folder: &Path, extension: &str, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
            read(&path, extension, found);
        } else if path.extension().is_some_and(|is| is == extension) {
            let text = fs::read_to_string(&path).unwrap();
            found.insert(path.strip_prefix(root()).unwrap().to_path_buf(), text);
        }
    }
}

/// Ids like `CR-5` in a text.
fn ids(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let is_id = |word: &&str| {
        word.split_once('-').is_some_and(|(chapter, number)| {
            CHAPTERS.iter().any(|(name, _)| *name == chapter) && number.parse::<u32>().is_ok()
        })
    };
    words.filter(is_id).map(str::to_owned).collect()
}

/// What an entry names in backticks, behind `Where`.
fn named(entry: &str) -> impl Iterator<Item = &str> {
    entry.split_once("- Where: ").map_or("", |(_, place)| place).split('`').skip(1).step_by(2)
}

#[test]
fn the_register_has_every_entry_once_and_each_says_everything() {
    let register = register();
    let expected: BTreeSet<String> =
        CHAPTERS.iter().flat_map(|(name, count)| (1..=*count).map(move |n| format!("{name}-{n}"))).collect();
    assert_eq!(register.keys().cloned().collect::<BTreeSet<_>>(), expected);
    for (id, entry) in &register {
        for part in ["\n- Sections: ", "\n- Text: ", "\n- smbd: ", "\n- Where: "] {
            assert_eq!(entry.matches(part).count(), 1, "{id} has no{part}");
        }
        let weight = entry.lines().find(|line| line.starts_with("- Sections: ")).unwrap();
        assert!(
            ["; danger", "; peers", "; wording"].iter().any(|known| weight.ends_with(known)),
            "{id} has no weight"
        );
    }
}

#[test]
fn the_first_page_says_how_many_entries_the_register_has() {
    let (smb2, smbd): (Vec<_>, Vec<_>) = register().into_keys().partition(|id| is_smb2(id));
    let said = format!("[{} issues, and {} of MS-SMB2](docs/spec-issues.md)", smbd.len(), smb2.len());
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&said), "README.md does not say {said}");
}

#[test]
fn every_id_cited_anywhere_is_in_the_register() {
    let register = register();
    let cited: Vec<_> = sources().into_iter().chain(pages()).collect();
    for folder in ["smbd-gateway/src", "smbd-broker/c", "smbd-serve/swarm", "conformance/src", "docs"] {
        assert!(cited.iter().any(|(path, _)| path.starts_with(folder)), "{folder}");
    }
    for (path, text) in cited {
        for id in ids(&text) {
            assert!(register.contains_key(&id), "{} cites {id}", path.display());
        }
    }
}

#[test]
fn every_file_and_test_the_register_names_exists() {
    let sources = sources();
    for (id, entry) in register() {
        for name in named(&entry) {
            let crate_of = if is_smb2(&id) { "smbd-smb2/src" } else { "smbd-core/src" };
            let exists = if name.ends_with(".rs") {
                sources.iter().any(|(path, _)| path == &Path::new(crate_of).join(name))
            } else {
                sources.iter().any(|(_, text)| text.contains(&format!("fn {name}(")))
            };
            assert!(exists, "{id} names {name}");
        }
    }
}

#[test]
fn every_test_and_file_that_the_threat_model_and_the_page_of_limits_name_exists() {
    let sources = sources();
    let of = |page: &str| fs::read_to_string(root().join(page)).unwrap();
    let text = of("SECURITY.md") + &of("docs/limits.md").replace("](../", "](");
    let is_sentence = |name: &&str| {
        name.matches('_').count() >= 3 && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    };
    let names: Vec<_> = text.split('`').skip(1).step_by(2).filter(is_sentence).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let exists = sources.iter().any(|(_, text)| text.contains(&format!("fn {name}(")));
        assert!(exists, "SECURITY.md or docs/limits.md names {name}");
    }
    let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    for link in links.filter(|link| link.contains(".rs")) {
        assert!(root().join(link).is_file(), "SECURITY.md or docs/limits.md leads to {link}");
    }
    // Live tests are in a table of the program that plays them.
    let live: Vec<_> = text.split('`').skip(1).step_by(2).filter(|name| name.starts_with("ours::")).collect();
    assert!(live.len() >= 5, "{live:?}");
    for name in live {
        let exists = sources.iter().any(|(_, text)| text.contains(&format!("\"{name}\"")));
        assert!(exists, "SECURITY.md or docs/limits.md names {name}");
    }
}
