//! The lines, by subject.

mod completion;
mod connect;
mod end;
mod limits;
mod order;
mod rdma;
mod receive;
mod refusal;

use alloc::vec::Vec;

use super::{Finding, Lab};

/// One line of the contract, with its check.
#[derive(Debug)]
pub struct Line<L> {
    /// Its name: subject and claim.
    pub id: &'static str,
    /// The rule that it checks.
    pub about: &'static str,
    /// Source of the rule: the contract, a law, or a section of the specification.
    pub law: &'static str,
    /// Checks the rule on new fixtures.
    ///
    /// # Errors
    /// The backend broke the rule, or the line is not applicable.
    pub run: fn(&mut L) -> Result<(), Finding>,
}

/// All lines.
#[must_use]
pub fn lines<L: Lab>() -> Vec<Line<L>> {
    let mut all = Vec::new();
    all.extend(connect::lines());
    all.extend(end::lines());
    all.extend(order::lines());
    all.extend(completion::lines());
    all.extend(refusal::lines());
    all.extend(receive::lines());
    all.extend(limits::lines());
    all.extend(rdma::lines());
    all
}
