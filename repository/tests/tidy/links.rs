//! Links of all pages lead somewhere: relative ones to a file and to a heading of it, those to this repository as well.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::{files, prose, root};

const REPOSITORY: [&str; 2] =
    ["https://github.com/smbd-rs/smbd/blob/main/", "https://github.com/smbd-rs/smbd/tree/main/"];

/// The targets of the links in `text`, outside of code blocks.
fn links(text: &str) -> Vec<String> {
    let text = prose::without_code(text);
    let rest = text.split("](").skip(1);
    rest.filter_map(|rest| Some(rest.split_once(')')?.0.split_whitespace().next()?.to_owned())).collect()
}

/// The anchor that GitHub and mdBook give a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// All anchors of a page. A heading that comes again has a number behind it.
fn anchors(text: &str) -> Vec<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let text = prose::without_code(text);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let headings = headings.map(|line| anchor(line.trim_start_matches('#')));
    let numbered = headings.map(|anchor| {
        let count = times.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
    });
    numbered.collect()
}

/// `path` without `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        if part == Component::ParentDir {
            path.pop()
        } else {
            path.push(part);
            true
        };
        path
    })
}

/// Why a link of `page` leads nowhere.
fn broken(page: &Path, link: &str) -> Option<String> {
    let own = REPOSITORY.iter().find_map(|prefix| link.strip_prefix(prefix));
    if own.is_none() && (link.contains("://") || link.starts_with("mailto:")) {
        return None;
    }
    let (path, heading) = own.unwrap_or(link).split_once('#').unwrap_or((own.unwrap_or(link), ""));
    let target = match own {
        Some(_) => root().join(path),
        None if path.is_empty() => page.to_path_buf(),
        None => normal(&page.parent().unwrap().join(path)),
    };
    if !target.exists() {
        return Some("no such file".into());
    }
    let is_page = target.extension().is_some_and(|end| end == "md");
    if heading.is_empty() || !is_page {
        return None;
    }
    let text = fs::read_to_string(&target).unwrap();
    (!anchors(&text).iter().any(|anchor| anchor == heading)).then(|| "no such heading".into())
}

#[test]
fn every_link_of_a_page_to_a_file_or_a_heading_of_this_repository_leads_there() {
    let mut count = 0;
    let mut found = Vec::new();
    for page in files(&["md"]) {
        for link in links(&fs::read_to_string(&page).unwrap()) {
            count += 1;
            if let Some(why) = broken(&page, &link) {
                found.push(format!("{}: {link}: {why}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(count > 200, "{count}");
    assert!(found.is_empty(), "{} links:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_link_without_its_file_or_heading_is_found() {
    let page = root().join("docs/gateway.md");
    for (link, works) in [
        ("devices.md", true),
        ("no-such-page.md", false),
        ("../README.md", true),
        ("../docs/no-such-page.md", false),
        ("#as-a-service", true),
        ("#no-such-heading", false),
        ("devices.md#no-such-heading", false),
        ("https://github.com/smbd-rs/smbd/blob/main/README.md", true),
        ("https://github.com/smbd-rs/smbd/blob/main/docs/no-such-page.md", false),
        ("https://docs.rs/smbd-core", true),
    ] {
        assert_eq!(broken(&page, link).is_none(), works, "{link}");
    }
    assert_eq!(links("[a](b.md) `x`\n```\n[c](d)\n```\n[e](f.md \"title\")"), ["b.md", "f.md"]);
    assert_eq!(anchors("# A `b_c`, d\n## A b_c d\n"), ["a-b_c-d", "a-b_c-d-1"]);
}
