//! The outcome of a case.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::rig::{Network, Unable};
use super::trace::{Packet, Trace};

/// Why a case does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A finding says why.
    Failed,
    /// It cannot be played here.
    NotApplicable(String),
    /// Target or case are not what they should be.
    Broken(String),
    /// What the case takes for granted is not there: nothing is known of what it is about.
    NotJudged(Unjudged),
}

/// Why a case cannot say whether its statements hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unjudged {
    /// What came instead of what it takes for granted.
    pub because: String,
    /// The case that is about that, and fails there; `None` if it is about nothing that the peer does.
    pub case: Option<String>,
    /// A profile expects that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownFinding>,
}

impl Unjudged {
    /// No case is about that.
    pub(crate) const fn alone(because: String) -> Self {
        Self { because, case: None, known: None }
    }

    /// This case is about that.
    pub(super) fn stated(because: String, case: impl Into<String>) -> Self {
        Self { because, case: Some(case.into()), known: None }
    }
}

impl fmt::Display for Unjudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.because)?;
        self.case.as_ref().map_or(Ok(()), |case| write!(f, "; {case} is about that"))?;
        self.known.as_ref().map_or(Ok(()), |known| write!(f, "; known: {}", known.does))
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed => f.write_str("not as expected"),
            Self::NotJudged(why) => why.fmt(f),
            Self::NotApplicable(why) | Self::Broken(why) => f.write_str(why),
        }
    }
}

impl From<Unable> for Stop {
    fn from(unable: Unable) -> Self {
        match unable {
            Unable::NotApplicable(why) => Self::NotApplicable(why),
            Unable::Broken(why) => Self::Broken(why),
        }
    }
}

/// How a play ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "reason", rename_all = "kebab-case")]
pub enum Outcome {
    /// Everything expected was seen.
    Passed,
    /// The findings say what was not.
    Failed,
    /// The same, and all of it is known of this product.
    Known,
    /// Its time was over, or something it takes for granted is not there: nothing is known of what it is about.
    NotJudged(Unjudged),
    /// It cannot be played on this target.
    NotApplicable(String),
    /// It was not wanted.
    LeftOut(String),
}

impl Outcome {
    /// Whether something expected was not seen.
    #[must_use]
    pub const fn has_findings(&self) -> bool {
        matches!(self, Self::Failed | Self::Known)
    }

    /// Why there is no verdict, if there is none.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Passed | Self::Failed | Self::Known => None,
            Self::NotJudged(why) => Some(why.to_string()),
            Self::NotApplicable(why) | Self::LeftOut(why) => Some(why.clone()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Failed => f.write_str("failed"),
            Self::Known => f.write_str("known"),
            Self::NotJudged(why) => write!(f, "not judged: {why}"),
            Self::NotApplicable(reason) => write!(f, "not applicable: {reason}"),
            Self::LeftOut(reason) => write!(f, "left out: {reason}"),
        }
    }
}

/// Something expected that was not seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The statements it is about. None: the case could not be played to its end.
    pub statements: Vec<String>,
    /// What was expected, and what came.
    pub text: String,
    /// Nanoseconds from the beginning of the play.
    pub at: u64,
    /// On which connection, if on one.
    pub connection: Option<usize>,
    /// The last message of the script.
    pub sent: Option<Packet>,
    /// The last message of the subject.
    pub came: Option<Packet>,
    /// What the product's profile has to say about it, if there is one and it has.
    pub known: Option<KnownFinding>,
}

/// What a profile has to say about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownFinding {
    /// The entry of `docs/spec-issues.md` about it.
    pub issue: Option<String>,
    /// What the product does.
    pub does: String,
    /// How that is known.
    pub evidence: String,
}

/// Something known that was looked for and not found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// The case that should have found it.
    pub case: String,
    /// The side that was under test.
    pub role: String,
    /// The text of the finding, as the profile has it.
    pub text: String,
    /// What the profile has to say about it.
    pub known: KnownFinding,
}

/// How often something was asserted about a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Checks that held.
    pub held: u32,
    /// Checks that did not.
    pub failed: u32,
}

/// All that is written down during a play.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) trace: Trace,
    pub(super) asserted: BTreeMap<String, Tally>,
    pub(super) findings: Vec<Finding>,
    pub(super) facts: Vec<Finding>,
    /// Why the case judges less than it should, if it does.
    pub(super) unjudged: Option<Unjudged>,
    pub(super) signs: Signs,
}

impl Record {
    /// Counts a check about these statements.
    pub(super) fn tally<'a>(&mut self, statements: impl Iterator<Item = &'a str>, held: bool) {
        for id in statements {
            // Looking first: nearly always it is there, and needs no new text.
            if !self.asserted.contains_key(id) {
                self.asserted.insert(id.to_owned(), Tally::default());
            }
            if let Some(tally) = self.asserted.get_mut(id) {
                if held {
                    tally.held = tally.held.saturating_add(1);
                } else {
                    tally.failed = tally.failed.saturating_add(1);
                }
            }
        }
    }
}

/// What a play has shown of the subject besides its findings, for whoever plays more cases against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// It kept the script waiting for a credit for [`PATIENCE`](super::PATIENCE), and could have sent one.
    pub without_credit: bool,
    /// The script sent what is wrong, or a connection ended or did not come about: it may be gone.
    pub may_be_gone: bool,
}

/// One case, played once.
#[derive(Clone, Debug, Serialize)]
pub struct Played {
    /// Name of the case.
    pub case: String,
    /// Which side was under test.
    pub role: String,
    /// Which variant of the target.
    pub variant: String,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What was asserted.
    pub asserted: BTreeMap<String, Tally>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What it may do and does not: no fault.
    pub does_not: Vec<Finding>,
    /// Over which kind of network, where it was a real one.
    pub network: Option<Network>,
    /// The script's RDMA device, where there was a real one.
    pub device: Option<String>,
    /// What it has shown of the subject besides.
    #[serde(skip)]
    pub signs: Signs,
    /// The subject was of no use any more when it was over.
    pub subject_hangs: bool,
    /// How long it took, in nanoseconds of the target's time.
    pub time: u64,
    /// What happened.
    pub trace: Trace,
}
