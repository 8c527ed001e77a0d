//! What a published package needs to stand alone.

use std::fs;

use crate::packages;

#[test]
fn each_published_package_has_its_licences_and_a_readme_whose_links_work_alone() {
    let published = packages().into_iter().filter(|(_, manifest)| !manifest.contains("publish = false"));
    let published: Vec<_> = published.collect();
    assert!(published.len() >= 4, "{published:?}");
    for (folder, manifest) in published {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        assert!(read("LICENSE-MIT").starts_with("MIT License"));
        assert!(read("LICENSE-APACHE").contains("Apache License"));
        assert!(manifest.contains("\nreadme = \"README.md\"\n"), "{}", folder.display());
        let readme = read("README.md");
        let links: Vec<_> = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(!links.is_empty());
        for link in links {
            assert!(link.starts_with("https://"), "{}/README.md: {link}", folder.display());
        }
    }
}

#[test]
fn no_published_package_leaves_a_test_out() {
    for (folder, manifest) in packages() {
        let excluded = manifest.lines().find_map(|line| line.strip_prefix("exclude = ["));
        let is_published = !manifest.contains("publish = false");
        // Cargo warns of each. Tests that need the repository are those of the package `smbd-repository`.
        assert!(
            !is_published || !excluded.is_some_and(|list| list.contains("tests")),
            "{}",
            folder.display()
        );
    }
}
