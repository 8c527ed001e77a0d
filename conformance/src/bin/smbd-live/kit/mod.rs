//! The backend test kit of smbd-core on a real device.

mod acceptor;
mod fixture;

use smbd_core::backend::kit;

use crate::case::{Case, Context, Outcome, Target};
use fixture::VerbsLab;

pub(crate) const CASES: &[Case] = &[Case {
    name: "kit::every_line_of_the_contract",
    target: Target::Ours,
    about: "the backend test kit of smbd-core",
    run: every_line,
}];

fn every_line(context: &Context) -> Outcome {
    let report = kit::run(&mut VerbsLab::new(context.address)?);
    if !report.passed() {
        return Err(report.to_string().into());
    }
    let (all, skipped) = (report.outcomes.len(), report.not_applicable().count());
    Ok(format!("{} lines hold, {skipped} are not applicable", all - skipped))
}
