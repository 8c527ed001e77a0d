//! Two hosts. Both run these tests: side `a` listens, side `b` connects, and each test has its own port, by which its
//! connections are known in a capture.

mod cut;
mod kernel;
mod link;
mod numbers;
mod ours;

use crate::case::Case;

pub(crate) use numbers::compare;

/// All tests of two hosts.
pub(crate) fn cases() -> Vec<Case> {
    [ours::CASES, kernel::CASES, cut::CASES].concat()
}
