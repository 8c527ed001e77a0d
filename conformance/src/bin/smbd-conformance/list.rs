//! `smbd-conformance list`: the cases there are.

use std::io::{self, Write};
use std::process::ExitCode;

use smbd_conformance::catalogue::{Case, Catalogue};

use super::choice::Choice;
use super::output::{complain, print, unwritten};
use super::{PASSED, USAGE};

/// Lists cases: name, side under test, what it needs, how long it waits where time is real.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    choice: Choice,
}

/// Prints the list.
pub fn run(arguments: &ListArgs, catalogue: &Catalogue) -> ExitCode {
    let cases = match arguments.choice.some(catalogue) {
        Ok(cases) => cases,
        Err(why) => {
            complain(&why);
            return ExitCode::from(USAGE);
        }
    };
    match print(|out| cases.into_iter().try_for_each(|case| line(out, case))) {
        Ok(()) => ExitCode::from(PASSED),
        Err(failed) => unwritten(&failed),
    }
}

fn line(out: &mut dyn Write, case: &Case) -> io::Result<()> {
    let needs: Vec<_> = case.needs.iter().map(|need| format!("{need:?}").to_lowercase()).collect();
    let waits = if case.time.is_zero() { String::new() } else { format!("{} s", case.time.as_secs()) };
    writeln!(out, "{:<96} {:<9} {waits:>6}  {}", case.name, case.role, needs.join(" "))
}
