//! The results of many cases: by case, by statement, by section. All of it can be serialised; [`text`], [`mod@json`],
//! [`junit`] and [`html`] are the four formats.

mod build;
mod fact;
pub mod html;
pub mod json;
pub mod junit;
pub mod text;

use serde::Serialize;

pub use fact::{Fact, Gone, Which};

use super::outcome::{Outcome, Played};
use crate::suite::Lost;

/// Where a report comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct About {
    /// The version of the program that made it.
    pub version: String,
    /// When it was begun: UTC, as ISO 8601 has it.
    pub date: String,
    /// How the program was called, as a shell takes it.
    pub command_line: String,
    /// The host, where what came out may depend on it.
    pub host: Option<String>,
}

/// A case that was chosen and that the run did not come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotReached {
    /// Its name.
    pub name: String,
    /// What it belongs to.
    pub group: String,
    /// The sides that would have been under test.
    pub roles: Vec<String>,
}

/// All that came of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where it comes from, if that is known.
    pub about: Option<About>,
    /// Which target.
    pub target: String,
    /// Its variants, all of which were played.
    pub variants: Vec<String>,
    /// What its upper layers were found to do, where that had to be found out.
    pub upper_layers: Vec<String>,
    /// The RDMA devices of this host that were used.
    pub devices: Vec<String>,
    /// What was known of it before, if something was.
    pub profile: Option<ProfileReport>,
    /// What was found out about the peer besides, in order.
    pub peer: Vec<Fact>,
    /// How many there are of what.
    pub totals: Totals,
    /// The sections that have statements, in the order of the documents, MS-SMBD first.
    pub sections: Vec<SectionReport>,
    /// The statements, in order.
    pub statements: Vec<StatementReport>,
    /// The cases that were chosen, in the order of the catalogue.
    pub cases: Vec<CaseReport>,
    /// The cases that were chosen and that the run did not come to.
    pub not_reached: Vec<NotReached>,
}

/// What was known of a product, and what came of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileReport {
    /// Name of the product.
    pub name: String,
    /// What was looked for and not found.
    pub no_longer_found: Vec<Lost>,
}

/// How a case ended, all its plays together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseResult {
    /// At least one play passed, and all others did or were not played.
    Passed,
    /// At least one play failed.
    Failed,
    /// At least one play failed in ways that are known of this product, and none in another.
    Known,
    /// At least one play came to no verdict, and none failed.
    NotJudged,
    /// It cannot be played on this target.
    NotApplicable,
    /// It was not wanted.
    LeftOut,
}

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// What it belongs to.
    pub group: String,
    /// How it ended.
    pub result: CaseResult,
    /// What it asserts something about.
    pub statements: Vec<String>,
    /// What the script does.
    pub steps: Vec<String>,
    /// What has to be seen.
    pub expected: Vec<String>,
    /// Each time it was played. The recording is kept of the first variant, and of plays that failed.
    pub plays: Vec<Played>,
}

/// What a run says about a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was asserted, and held each time.
    Held,
    /// It was asserted, and did not hold at least once.
    Broken,
    /// The same, each time in a way that is known of this product.
    Known,
    /// It may be done, and was seen not to be: no fault.
    DoesNot,
    /// No case that was played asserts it.
    NotAsserted,
    /// No case covers it, for a reason.
    Excepted,
}

/// One statement.
#[derive(Clone, Debug, Serialize)]
pub struct StatementReport {
    /// Its section and number.
    pub id: String,
    /// How binding it is.
    pub level: String,
    /// Whose duty it is.
    pub role: String,
    /// What it says.
    pub text: String,
    /// What came out.
    pub verdict: Verdict,
    /// The cases that cover it.
    pub cases: Vec<String>,
    /// Why none does.
    pub exception: Option<String>,
}

/// Statements of one section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SectionReport {
    /// Document, `MS-SMBD`; empty in a sum.
    pub document: String,
    /// Number, `3.1.5.8`; empty in a sum.
    pub section: String,
    /// Title in the document; empty in a sum.
    pub title: String,
    /// All of them.
    pub statements: usize,
    /// Covered by cases.
    pub covered: usize,
    /// Excepted.
    pub excepted: usize,
    /// Asserted in this run.
    pub asserted: usize,
    /// Asserted, and held each time.
    pub held: usize,
    /// Asserted, and did not hold at least once.
    pub broken: usize,
    /// The same, each time in a way that is known of this product; not among the broken.
    pub known: usize,
    /// May be done and is not, which is no fault.
    pub does_not: usize,
}

/// How many cases or plays ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All was as expected.
    pub passed: usize,
    /// Something was not.
    pub failed: usize,
    /// Something was not, and all of that is known of this product; not among the failed.
    pub known: usize,
    /// Played, and without a verdict.
    pub not_judged: usize,
    /// Not possible on this target.
    pub not_applicable: usize,
    /// Not wanted.
    pub left_out: usize,
}

/// How many there are of what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// The cases chosen.
    pub cases: Counts,
    /// A case is played once for each role and variant.
    pub plays: Counts,
    /// Cases that were chosen and that the run did not come to.
    pub not_reached: usize,
    /// The sum of all sections.
    pub statements: SectionReport,
}

impl Report {
    /// The same of a run that did not come to these cases.
    #[must_use]
    pub fn not_reaching(mut self, cases: Vec<NotReached>) -> Self {
        self.totals.not_reached = cases.len();
        self.not_reached = cases;
        self
    }

    /// The same with where it comes from.
    #[must_use]
    pub fn made(mut self, about: About) -> Self {
        self.about = Some(about);
        self
    }

    /// The same with what the upper layers were found to do.
    #[must_use]
    pub fn on(mut self, upper_layers: Vec<String>) -> Self {
        self.upper_layers = upper_layers;
        self
    }

    /// The same with what was found out about the peer.
    #[must_use]
    pub fn telling(mut self, facts: Vec<Fact>) -> Self {
        self.peer = facts;
        self
    }

    /// The sections of each document, in order.
    pub fn documents(&self) -> impl Iterator<Item = &[SectionReport]> {
        self.sections.chunk_by(|one, next| one.document == next.document)
    }

    /// Where it comes from, by name: for people, and for programs that know of texts only.
    pub fn origin(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let about = self.about.iter().flat_map(|about| {
            let About { version, date, command_line, host } = about;
            let known = [("version", version), ("date", date), ("command line", command_line)];
            known.into_iter().chain(host.iter().map(|host| ("host", host)))
        });
        about
            .chain(self.upper_layers.iter().map(|upper| ("upper layer", upper)))
            .chain(self.devices.iter().map(|device| ("device", device)))
            .map(|(name, text)| (name, text.as_str()))
    }

    /// The same with what came of a profile.
    #[must_use]
    pub fn against(mut self, profile: Option<ProfileReport>) -> Self {
        self.profile = profile;
        self
    }

    /// Whether each case that was played could say something of what it is about, or does not for a reason that is known of the product.
    #[must_use]
    pub fn judged(&self) -> bool {
        let news =
            |played: &Played| matches!(&played.outcome, Outcome::NotJudged(why) if why.known.is_none());
        !self.cases.iter().flat_map(|case| &case.plays).any(news)
    }

    /// Whether the run came to its end and no case failed, what is known of the product apart.
    #[must_use]
    pub const fn passed(&self) -> bool {
        self.totals.cases.failed == 0 && self.totals.not_reached == 0
    }
}
