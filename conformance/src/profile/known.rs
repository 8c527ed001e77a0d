//! Findings that a profile expects.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::Profile;
use crate::catalogue::{IssueId, StatementId, UnderTest};
use crate::suite::rig::Network;
use crate::suite::{Finding, KnownFinding, Lost, Outcome, Played};

/// Something that a product does otherwise than the specification says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Which side of it does: `acceptor` or `initiator`.
    pub role: UnderTest,
    /// Only over this kind of network.
    #[serde(default)]
    pub network: Option<Network>,
    /// The entry of `docs/spec-issues.md` about it.
    #[serde(default)]
    pub issue: Option<IssueId>,
    /// The statements that it does not do what they say; at least one.
    pub statements: Vec<StatementId>,
    /// What it does.
    pub does: String,
    /// How that is known.
    pub evidence: String,
    /// Texts that any case may come upon: what the product does whatever is said to it, and not each time.
    #[serde(default)]
    pub anywhere: Vec<String>,
    /// What the cases find: for the name of each the texts of its findings. `*` stands for anything.
    pub finds: BTreeMap<String, Vec<String>>,
}

impl Known {
    fn told(&self) -> KnownFinding {
        KnownFinding {
            issue: self.issue.as_ref().map(ToString::to_string),
            does: self.does.clone(),
            evidence: self.evidence.clone(),
        }
    }

    fn is_about(&self, played: &Played) -> bool {
        let here = self.network.is_none() || played.network.is_none() || self.network == played.network;
        here && self.role.to_string() == played.role
    }

    /// Whether this is the finding: its text, and one of the statements, unless it is about none.
    fn is(&self, finding: &Finding, case: &str) -> bool {
        let about: BTreeSet<_> = self.statements.iter().map(ToString::to_string).collect();
        let fits = finding.statements.is_empty() || finding.statements.iter().any(|id| about.contains(id));
        fits && self.has(&finding.text, case)
    }

    /// Whether this case may come upon this text.
    fn has(&self, found: &str, case: &str) -> bool {
        let mut texts = self.finds.get(case).into_iter().flatten().chain(&self.anywhere);
        texts.any(|text| matches(text, found))
    }
}

impl Profile {
    /// Marks what is known among the findings of a play, or of why it could not be judged; one that failed in known ways only is
    /// [`Outcome::Known`].
    pub fn judge(&self, played: &mut Played) {
        let about: Vec<_> = self.known.iter().filter(|known| known.is_about(played)).collect();
        for finding in &mut played.findings {
            let known = about.iter().find(|known| known.is(finding, &played.case));
            finding.known = known.map(|known| known.told());
        }
        if let Outcome::NotJudged(why) = &mut played.outcome {
            let known = about.iter().find(|known| known.has(&why.because, &played.case));
            why.known = known.map(|known| known.told());
        }
        if played.outcome == Outcome::Failed && played.findings.iter().all(|finding| finding.known.is_some())
        {
            played.outcome = Outcome::Known;
        }
    }

    /// What is known, was looked for in these plays, and did not occur.
    #[must_use]
    pub fn lost(&self, played: &[Played]) -> Vec<Lost> {
        let ended =
            |played: &&Played| matches!(played.outcome, Outcome::Passed | Outcome::Failed | Outcome::Known);
        let mut lost = Vec::new();
        for known in &self.known {
            for (case, texts) in &known.finds {
                let plays: Vec<_> = played
                    .iter()
                    .filter(ended)
                    .filter(|played| played.case == *case && known.is_about(played))
                    .collect();
                let findings = || plays.iter().flat_map(|played| &played.findings);
                let gone = texts.iter().filter(|text| !findings().any(|found| matches(text, &found.text)));
                let gone = gone.filter(|_| !plays.is_empty());
                lost.extend(gone.map(|text| Lost {
                    case: case.clone(),
                    role: known.role.to_string(),
                    text: text.clone(),
                    known: known.told(),
                }));
            }
        }
        lost
    }
}

/// Whether a text is what a pattern says, in which `*` stands for anything.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some((_, behind)) = rest.split_once(piece) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}
