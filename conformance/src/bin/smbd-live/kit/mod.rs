//! The backend test kit of smbd-core on a real device.

mod acceptor;
mod fixture;
mod waited;

use smbd_core::backend::kit::{self, Report};
use smbd_verbs::VerbsConnection;

use crate::case::{Case, Context, Outcome, Target};
use fixture::VerbsLab;
use waited::Waited;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "kit::every_line_of_the_contract",
        target: Target::Ours,
        about: "the backend test kit of smbd-core",
        run: every_line,
    },
    Case {
        name: "kit::every_line_as_tokio_waits",
        target: Target::OursLong,
        about: "the same, with ends that are asked only when their task was woken",
        run: every_line_as_tokio_waits,
    },
];

fn every_line(context: &Context) -> Outcome {
    told(&kit::run(&mut VerbsLab::<VerbsConnection>::new(context.address, fixture::sleep)?))
}

fn every_line_as_tokio_waits(context: &Context) -> Outcome {
    // Its worker has the reactor; this thread is none of its.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let _inside = runtime.enter();
    told(&kit::run(&mut VerbsLab::<Waited>::new(context.address, waited::pass)?))
}

fn told(report: &Report) -> Outcome {
    if !report.passed() {
        return Err(report.to_string().into());
    }
    let skipped: Vec<_> = report.not_applicable().map(|outcome| outcome.id).collect();
    let (all, which) = (report.outcomes.len(), if skipped.is_empty() { "" } else { ": " });
    Ok(format!(
        "{} lines hold, {} are not applicable{which}{}",
        all - skipped.len(),
        skipped.len(),
        skipped.join(", ")
    ))
}
