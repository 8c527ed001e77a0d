//! What a published package needs to stand alone.

use std::fs;

use crate::{files, packages};

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

#[test]
fn no_manifest_has_the_profile_of_a_single_package() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    // `cargo install --path` warns of each package that the installed one does not need. Those in .cargo/config.toml it passes over.
    let single: Vec<_> = manifest
        .lines()
        .filter(|line| line.starts_with("[profile.") && line.contains(".package.") && !line.contains("\"*\""))
        .collect();
    assert!(single.is_empty(), "{single:?}");
}

#[test]
fn each_command_of_a_page_that_builds_takes_the_versions_that_were_tested() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    pages.extend(files(&["md"]).into_iter().filter(|page| page.starts_with(root.join("docs"))));
    pages.extend(packages().into_iter().map(|(folder, _)| folder.join("README.md")));
    let mut commands = 0;
    for page in pages.iter().filter(|page| page.extension().is_some_and(|end| end == "md") && page.exists()) {
        let text = fs::read_to_string(page).unwrap();
        for word in ["cargo install ", "cargo run ", "cargo build "] {
            for (_, rest) in text.match_indices(word).map(|(at, _)| text.split_at(at)) {
                let line = rest.lines().next().unwrap_or_default();
                if line[word.len()..].starts_with(['-', 's']) {
                    commands += 1;
                    assert!(line.contains("--locked"), "{}: {line}", page.display());
                }
            }
        }
    }
    assert!(commands > 20, "{commands}");
}
