//! What is played against an implementation.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::{IssueId, Malformed, StatementId};

/// One case: what a scripted peer does, and what the implementation under test has to do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Microsoft's name, or `area::what_is_expected`.
    pub name: String,
    /// Which side is under test.
    pub role: UnderTest,
    /// What it belongs to.
    pub group: String,
    /// Where it comes from; at least one.
    pub source: Vec<Source>,
    /// What it asserts something about; at least one.
    pub statements: Vec<StatementId>,
    /// Settings of the implementation under test, where its usual ones will not do.
    #[serde(default)]
    pub settings: Vec<String>,
    /// What the script does.
    pub steps: Vec<String>,
    /// What has to be seen.
    pub expected: Vec<String>,
    /// What it cannot be played without.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// How long it takes where time is real, without what messages take.
    #[serde(default, deserialize_with = "seconds")]
    pub time: Duration,
}

/// Which side of a connection is under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnderTest {
    /// The script connects.
    Acceptor,
    /// The script accepts.
    Initiator,
    /// The case is played twice.
    Both,
}

impl UnderTest {
    /// How often a case is played.
    #[must_use]
    pub const fn sides(self) -> u32 {
        match self {
            Self::Acceptor | Self::Initiator => 1,
            Self::Both => 2,
        }
    }

    /// Whether `side`, one of the two, is under test.
    #[must_use]
    pub const fn includes(self, side: Self) -> bool {
        matches!(
            (self, side),
            (Self::Both, _) | (Self::Acceptor, Self::Acceptor) | (Self::Initiator, Self::Initiator)
        )
    }
}

impl fmt::Display for UnderTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Acceptor => "acceptor",
            Self::Initiator => "initiator",
            Self::Both => "both",
        })
    }
}

/// What a case cannot be played without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// An upper layer that answers messages, such as SMB2.
    Answers,
    /// Patience: it waits for a timer of the implementation under test.
    Timers,
    /// An upper layer that uses registered buffers and offers some.
    Rdma,
    /// A network whose private data can be seen and chosen, of the kind of iWARP.
    Iwarp,
    /// A look at the upper layer and the device of the implementation under test.
    Upper,
    /// SMB2 as the upper layer, with a share and RDMA channels.
    Smb2,
}

/// Where a case comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum Source {
    /// Microsoft's MS-SMBD test suite: the name there.
    Suite(String),
    /// A section of the examples, `4.3`.
    Example(String),
    /// A decision of `docs/spec-issues.md`.
    Issue(IssueId),
    /// What the statements say.
    Statement,
}

impl TryFrom<String> for Source {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        match text.split_once(' ') {
            Some(("suite", name)) => Ok(Self::Suite(name.to_owned())),
            Some(("example", section)) => Ok(Self::Example(section.to_owned())),
            Some(("issue", id)) => IssueId::try_from(id.to_owned()).map(Self::Issue),
            None if text == "statement" => Ok(Self::Statement),
            _ => Err(Malformed::new(
                &text,
                "source such as `suite NAME`, `example 4.1`, `issue CR-4`, `statement`",
            )),
        }
    }
}

/// An issue of `docs/spec-issues.md` that no case shows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unshown {
    /// Which one.
    pub issue: IssueId,
    /// Why.
    pub reason: String,
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}
