//! Sections of the specifications.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Malformed, Statement};

/// A section of a specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Document, `MS-SMBD`.
    pub document: String,
    /// Number, `3.1.5.8`. No two documents of the catalogue have sections of the same number.
    pub number: String,
    /// Title in the document.
    pub title: String,
}

/// Statements of one document with their sections.
#[derive(Deserialize)]
#[serde(try_from = "Raw")]
pub(super) struct StatementFile {
    pub(super) sections: Vec<Section>,
    pub(super) statements: Vec<Statement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    document: String,
    /// By number.
    titles: BTreeMap<String, String>,
    statement: Vec<Statement>,
}

impl TryFrom<Raw> for StatementFile {
    type Error = Malformed;

    fn try_from(raw: Raw) -> Result<Self, Malformed> {
        let Raw { document, mut titles, statement: statements } = raw;
        let mut sections = Vec::new();
        for of_section in statements.chunk_by(|one, next| one.id.section() == next.id.section()) {
            let number = of_section.first().map_or("", |statement| statement.id.section()).to_owned();
            let title = titles.remove(&number);
            let title = title.ok_or_else(|| Malformed::new(&number, "section with a title"))?;
            sections.push(Section { document: document.clone(), number, title });
        }
        match titles.keys().next() {
            Some(number) => Err(Malformed::new(number, "section with statements")),
            None => Ok(Self { sections, statements }),
        }
    }
}
