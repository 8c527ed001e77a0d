//! Statements that no case covers.

use std::fmt;

use serde::Deserialize;

use super::IssueId;

/// Why no case covers a statement.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Exception {
    /// The RDMA device, its driver or its network has to do it.
    ProviderDuty {
        /// Who does it, and what holds him to it.
        reason: String,
    },
    /// Section 7: it says what another implementation does.
    OtherProduct {
        /// Where that is played, if it is.
        reason: String,
    },
    /// Nobody outside can tell whether it is done.
    NotObservable {
        /// Why not.
        reason: String,
    },
    /// It is not done, on purpose.
    DeliberateDeviation {
        /// The entry of `docs/spec-issues.md` that argues for it.
        issue: IssueId,
        /// What is done instead, and which case shows that.
        reason: String,
    },
}

impl Exception {
    /// The argument.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::ProviderDuty { reason }
            | Self::OtherProduct { reason }
            | Self::NotObservable { reason }
            | Self::DeliberateDeviation { reason, .. } => reason,
        }
    }

    /// The issue of a deliberate deviation.
    #[must_use]
    pub const fn issue(&self) -> Option<&IssueId> {
        match self {
            Self::DeliberateDeviation { issue, .. } => Some(issue),
            Self::ProviderDuty { .. } | Self::OtherProduct { .. } | Self::NotObservable { .. } => None,
        }
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProviderDuty { reason } => write!(f, "provider duty: {reason}"),
            Self::OtherProduct { reason } => write!(f, "other product: {reason}"),
            Self::NotObservable { reason } => write!(f, "not observable: {reason}"),
            Self::DeliberateDeviation { issue, reason } => {
                write!(f, "deliberate deviation, {issue}: {reason}")
            }
        }
    }
}
