//! What a published package needs to stand alone.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the crates that are published.
fn published() -> Vec<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = fs::read_dir(workspace).unwrap().map(|entry| entry.unwrap().path());
    let mut published: Vec<_> = folders
        .filter(|folder| {
            let manifest = fs::read_to_string(folder.join("Cargo.toml"));
            manifest.is_ok_and(|manifest| !manifest.contains("publish = false"))
        })
        .collect();
    published.sort();
    published
}

#[test]
fn each_published_package_has_its_licences_and_a_readme_whose_links_work_alone() {
    let published = published();
    assert!(published.len() >= 4, "{published:?}");
    for folder in published {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        assert!(read("LICENSE-MIT").starts_with("MIT License"));
        assert!(read("LICENSE-APACHE").contains("Apache License"));
        assert!(read("Cargo.toml").contains("\nreadme = \"README.md\"\n"), "{}", folder.display());
        let readme = read("README.md");
        let links: Vec<_> = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(!links.is_empty());
        for link in links {
            assert!(link.starts_with("https://"), "{}/README.md: {link}", folder.display());
        }
    }
}
