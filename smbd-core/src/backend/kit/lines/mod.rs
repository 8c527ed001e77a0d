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

/// One line of the contract.
#[derive(Debug)]
pub struct Line<L> {
    /// Its name: subject and claim.
    pub id: &'static str,
    /// What it says.
    pub about: &'static str,
    /// Where the contract, the laws or the specification say so.
    pub law: &'static str,
    /// Checks it on fresh fixtures.
    ///
    /// # Errors
    /// What was found.
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
