//! What MS-SMBD demands, and MS-SMB2 of RDMA channels, and what shows that it is done.
//!
//! `requirements/ms-smbd.toml` has every statement of MS-SMBD, each with the cases that cover it or the exception it is;
//! `requirements/cases.toml` has every case, with the statements it asserts. `ms-smb2.toml` and `smb2-cases.toml` are the same for
//! MS-SMB2. All are part of the program. [`Catalogue::faults`] says where they disagree.

mod breaks;
mod case;
mod exception;
mod faults;
mod ids;
mod section;
mod statement;
mod summary;

pub use breaks::{
    Act, Asked, Breakable, Breaks, BreaksFault, Bytes, Change, Command, Event, Extra, Field, Invalidated,
    Mutant, NotShown, Row, Telling, Which,
};
pub use case::{Case, Need, Source, UnderTest, Unshown};
pub use exception::Exception;
pub use faults::{EXCEPTIONS_MAX, Fault};
pub use ids::{IssueId, Malformed, StatementId, issues};
pub use section::Section;
pub use statement::{Coverage, Level, Role, Statement};
pub use summary::{Count, Summary};

use std::sync::LazyLock;

use serde::Deserialize;

use self::section::StatementFile;

const STATEMENTS: &str = include_str!("../../requirements/ms-smbd.toml");
const CASES: &str = include_str!("../../requirements/cases.toml");
const SMB2_STATEMENTS: &str = include_str!("../../requirements/ms-smb2.toml");
const SMB2_CASES: &str = include_str!("../../requirements/smb2-cases.toml");

/// All statements and all cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// Sections that have statements, in the order of the specifications, MS-SMBD first.
    pub sections: Vec<Section>,
    /// In the order of the specifications, MS-SMBD first.
    pub statements: Vec<Statement>,
    /// In the order they are listed, which is by group.
    pub cases: Vec<Case>,
    /// Issues that no case shows.
    pub unshown: Vec<Unshown>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    case: Vec<Case>,
    #[serde(default)]
    without_case: Vec<Unshown>,
}

impl Catalogue {
    /// The catalogue this program was built with. It is read from its text once.
    ///
    /// # Errors
    /// Where a file is not what [`Self::parse`] takes.
    pub fn load() -> Result<Self, toml::de::Error> {
        static LOADED: LazyLock<Result<Catalogue, toml::de::Error>> = LazyLock::new(Catalogue::read);
        LOADED.clone()
    }

    fn read() -> Result<Self, toml::de::Error> {
        let mut all = Self::parse(STATEMENTS, CASES)?;
        let smb2 = Self::parse(SMB2_STATEMENTS, SMB2_CASES)?;
        all.sections.extend(smb2.sections);
        all.statements.extend(smb2.statements);
        all.cases.extend(smb2.cases);
        all.unshown.extend(smb2.unshown);
        Ok(all)
    }

    /// Reads the files of one specification from their text.
    ///
    /// # Errors
    /// What is no TOML, misses a field or has an unknown one, or has a value out of place, with its line: a statement
    /// that is neither covered nor excepted, or both, is one of these, and so is a section without a title.
    pub fn parse(statements: &str, cases: &str) -> Result<Self, toml::de::Error> {
        let StatementFile { sections, statements } = toml::from_str(statements)?;
        let CaseFile { case: cases, without_case: unshown } = toml::from_str(cases)?;
        Ok(Self { sections, statements, cases, unshown })
    }

    /// The statement with this id.
    #[must_use]
    pub fn statement(&self, id: &StatementId) -> Option<&Statement> {
        self.statements.iter().find(|statement| statement.id == *id)
    }

    /// The case with this name.
    #[must_use]
    pub fn case(&self, name: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.name == name)
    }

    /// How many there are of what.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary::of(self)
    }
}

#[cfg(test)]
mod tests;
