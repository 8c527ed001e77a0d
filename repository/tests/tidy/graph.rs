//! Which modules of a crate import which, and who imports each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::imports::{Imports, Segments};

/// Modules of one folder that import each other.
#[derive(Debug)]
pub(crate) struct Cycle {
    /// From the crate's root.
    pub(crate) folder: PathBuf,
    pub(crate) modules: Vec<String>,
    /// Which file imports which.
    pub(crate) imports: Vec<String>,
}

/// Two parts of a folder of which the first imports the second, and the modules by which it does.
type Edge<'a> = (String, String, &'a Segments, &'a Segments);

/// The modules of a crate.
struct Crate(BTreeMap<Segments, Imports>);

/// All cycles of a crate of these files.
pub(crate) fn cycles(files: &BTreeMap<PathBuf, String>) -> Vec<Cycle> {
    // A program beside a library is a crate of its own, whose parts the library does not know.
    let is_beside = |path: &Path| path == Path::new("main.rs") && files.contains_key(Path::new("lib.rs"));
    let files = files.iter().filter(|(path, _)| !is_beside(path));
    let modules = files.map(|(path, text)| (module(path), Imports::of(text))).collect();
    let edges = Crate(modules).edges();
    let folders: BTreeSet<_> = edges.iter().map(|(from, to)| common(from, to)).collect();
    folders.into_iter().flat_map(|folder| cycles_in(&folder, &edges)).collect()
}

/// The module in a file.
fn module(path: &Path) -> Segments {
    let mut names: Segments =
        path.with_extension("").iter().map(|name| name.to_string_lossy().into()).collect();
    if names.last().is_some_and(|name| ["lib", "main", "mod"].contains(&name.as_str())) {
        names.pop();
    }
    names
}

/// The innermost module that two are in.
fn common(one: &[String], other: &[String]) -> Segments {
    one.iter().zip(other).take_while(|(one, other)| one == other).map(|(one, _)| one.clone()).collect()
}

impl Crate {
    fn edges(&self) -> BTreeSet<(Segments, Segments)> {
        let mut edges = BTreeSet::new();
        for (from, imports) in &self.0 {
            for path in &imports.paths {
                edges.insert((from.clone(), self.resolve(from, path, 0)));
            }
        }
        edges
    }

    /// The module that defines what `path` names in the module `from`. Of what another crate defines, it is `from`, or whoever
    /// passes it on.
    fn resolve(&self, from: &[String], path: &[String], depth: u32) -> Segments {
        let mut at = from.to_vec();
        for (index, name) in path.iter().enumerate() {
            let part = [&at[..], std::slice::from_ref(name)].concat();
            match name.as_str() {
                "crate" => at.clear(),
                "super" => _ = at.pop(),
                "self" => {}
                _ if self.0.contains_key(&part) => at = part,
                _ => {
                    let passed_on = self.0.get(&at).and_then(|imports| imports.names.get(name));
                    // Names could pass each other on for ever.
                    let Some(target) = passed_on.filter(|_| depth < 9) else { break };
                    let target = [target, &path[index + 1..]].concat();
                    return self.resolve(&at, &target, depth + 1);
                }
            }
        }
        at
    }
}

fn cycles_in(folder: &[String], edges: &BTreeSet<(Segments, Segments)>) -> Vec<Cycle> {
    let part =
        |module: &Segments| module.starts_with(folder).then(|| module.get(folder.len()).cloned()).flatten();
    let inside: Vec<Edge<'_>> = edges
        .iter()
        .filter_map(|(from, to)| Some((part(from)?, part(to)?, from, to)))
        .filter(|(from, to, ..)| from != to)
        .collect();
    let reach: BTreeMap<_, _> = inside.iter().map(|(from, ..)| (from, reached(from, &inside))).collect();
    let mutual = |one, other| reach.get(one).is_some_and(|seen| seen.contains(other));
    let groups: BTreeSet<Vec<String>> = reach
        .keys()
        .map(|one| {
            reach
                .keys()
                .filter(|other| mutual(one, **other) && mutual(other, *one))
                .map(|name| (*name).clone())
                .collect()
        })
        .filter(|group: &Vec<String>| !group.is_empty())
        .collect();
    let cycle = |modules: Vec<String>| {
        let imports = inside
            .iter()
            .filter(|(from, to, ..)| modules.contains(from) && modules.contains(to))
            .map(|(.., from, to)| format!("{} imports {}", from.join("::"), to.join("::")))
            .collect();
        Cycle { folder: folder.iter().collect(), modules, imports }
    };
    groups.into_iter().map(cycle).collect()
}

/// All that a part of a folder imports, and what that imports, and so on.
fn reached<'a>(start: &'a String, inside: &'a [Edge<'_>]) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        let next = inside.iter().filter(|(from, ..)| from == at).map(|(_, to, ..)| to);
        open.extend(next.filter(|to| seen.insert(*to)));
    }
    seen
}
