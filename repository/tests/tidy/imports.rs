//! What a file imports: the trees of its `use` and the paths in its code.

use std::collections::BTreeMap;

use crate::tokens::tokens;

/// Names from the outermost module to the innermost.
pub(crate) type Segments = Vec<String>;

/// What a file names of other modules.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// All paths.
    pub(crate) paths: Vec<Segments>,
    /// The names that `use` gives them.
    pub(crate) names: BTreeMap<String, Segments>,
}

impl Imports {
    pub(crate) fn of(text: &str) -> Self {
        let tokens = tokens(text);
        let mut imports = Self::default();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at = match *token {
                "use" if tokens.get(at + 1) != Some(&"<") => imports.tree(&tokens, at + 1, &[]),
                "crate" | "super" | "self" if tokens.get(at + 1) == Some(&"::") => {
                    let (path, behind) = path(&tokens, at);
                    imports.paths.push(path);
                    behind
                }
                _ => at + 1,
            };
        }
        imports
    }

    /// Reads a part of a `use` from `at` on; returns where it ends.
    fn tree(&mut self, tokens: &[&str], at: usize, before: &[String]) -> usize {
        let (own, mut at) = path(tokens, at);
        let path = [before, &own].concat();
        if tokens.get(at) == Some(&"{") {
            while !matches!(tokens.get(at), None | Some(&"}")) {
                at = self.tree(tokens, at + 1, &path);
            }
            return at + 1;
        }
        let Some(mut name) = path.last().cloned() else { return at };
        if tokens.get(at) == Some(&"as") {
            name = tokens.get(at + 1).copied().unwrap_or_default().to_owned();
            at += 2;
        }
        self.names.insert(name, path.clone());
        self.paths.push(path);
        at
    }
}

/// Names with `::` between them, and where they end.
fn path(tokens: &[&str], mut at: usize) -> (Segments, usize) {
    let is_name = |token: &str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut path = Segments::new();
    while let Some(token) = tokens.get(at) {
        if is_name(token) && *token != "as" {
            path.push((*token).to_owned());
            at += 1;
        }
        if tokens.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    (path, at)
}
