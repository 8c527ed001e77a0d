//! What the specification says.

use std::fmt;

use serde::Deserialize;

use super::{Exception, Malformed, StatementId, UnderTest};

/// One thing that MS-SMBD says, in our words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Raw")]
pub struct Statement {
    /// Its section and number.
    pub id: StatementId,
    /// How binding it is.
    pub level: Level,
    /// Whose duty it is.
    pub role: Role,
    /// What it says.
    pub text: String,
    /// What shows that it is done, or why nothing does.
    pub coverage: Coverage,
}

/// How binding a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// As in RFC 2119, MUST NOT included.
    Must,
    /// As in RFC 2119, SHOULD NOT included.
    Should,
    /// As in RFC 2119.
    May,
    /// It defines bytes or terms.
    Layout,
    /// A note on what Windows does (section 7).
    Product,
}

/// Whose duty a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The initiator's.
    Active,
    /// The acceptor's.
    Passive,
    /// Of both sides of a connection.
    Both,
    /// It is about the interface to the upper layer.
    Upper,
    /// The RDMA device's and its driver's.
    Provider,
}

impl Role {
    /// Whether the sides of a connection have to do it.
    #[must_use]
    pub const fn is_peer(self) -> bool {
        matches!(self, Self::Active | Self::Passive | Self::Both)
    }

    /// The sides that have to be under test for it.
    #[must_use]
    pub const fn sides(self) -> &'static [UnderTest] {
        match self {
            Self::Active => &[UnderTest::Initiator],
            Self::Passive => &[UnderTest::Acceptor],
            Self::Both | Self::Upper => &[UnderTest::Acceptor, UnderTest::Initiator],
            Self::Provider => &[],
        }
    }
}

/// What shows that a statement is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Names of cases, at least one.
    Cases(Vec<String>),
    /// No case does.
    Exception(Exception),
}

impl Coverage {
    /// The cases; none for an exception.
    #[must_use]
    pub fn cases(&self) -> &[String] {
        match self {
            Self::Cases(names) => names,
            Self::Exception(_) => &[],
        }
    }

    /// The exception, if it is one.
    #[must_use]
    pub const fn exception(&self) -> Option<&Exception> {
        match self {
            Self::Cases(_) => None,
            Self::Exception(exception) => Some(exception),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: StatementId,
    section: String,
    level: Level,
    role: Role,
    text: String,
    #[serde(default)]
    covered_by: Vec<String>,
    exception: Option<Exception>,
}

impl TryFrom<Raw> for Statement {
    type Error = Malformed;

    fn try_from(raw: Raw) -> Result<Self, Malformed> {
        let Raw { id, section, level, role, text, covered_by, exception } = raw;
        if section != id.section() {
            return Err(Malformed::new(&section, "section of the statement whose id it stands beside"));
        }
        if text.trim().is_empty() {
            return Err(Malformed::new(&id.to_string(), "statement with a text"));
        }
        let coverage = match (covered_by.is_empty(), exception) {
            (false, None) => Coverage::Cases(covered_by),
            (true, Some(exception)) if !exception.reason().trim().is_empty() => {
                Coverage::Exception(exception)
            }
            (true, Some(_)) => {
                return Err(Malformed::new(&id.to_string(), "statement whose exception has a reason"));
            }
            (true, None) => {
                return Err(Malformed::new(&id.to_string(), "statement that is covered or excepted"));
            }
            (false, Some(_)) => {
                return Err(Malformed::new(&id.to_string(), "statement that is either covered or excepted"));
            }
        };
        Ok(Self { id, level, role, text, coverage })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::May => "MAY",
            Self::Layout => "LAYOUT",
            Self::Product => "PRODUCT",
        })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Active => "active",
            Self::Passive => "passive",
            Self::Both => "both",
            Self::Upper => "upper",
            Self::Provider => "provider",
        })
    }
}
