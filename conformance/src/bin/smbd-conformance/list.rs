//! `smbd-conformance list`: the cases there are.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use smbd_conformance::catalogue::{Case, Catalogue};

use super::choice::Choice;
use super::{PASSED, USAGE};

/// Lists cases: name, side under test, what it needs, how long it waits where time is real.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    choice: Choice,
}

/// Prints the list.
pub fn run(arguments: &ListArgs, catalogue: &Catalogue) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut cases = arguments.choice.cases(catalogue);
    let printed = cases.try_for_each(|case| line(&mut out, case));
    match printed.and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("smbd-conformance: output: {error}");
            ExitCode::from(USAGE)
        }
        _ => ExitCode::from(PASSED),
    }
}

fn line(out: &mut impl Write, case: &Case) -> io::Result<()> {
    let needs: Vec<_> = case.needs.iter().map(|need| format!("{need:?}").to_lowercase()).collect();
    let waits = if case.time.is_zero() { String::new() } else { format!("{} s", case.time.as_secs()) };
    writeln!(out, "{:<96} {:<9} {waits:>6}  {}", case.name, case.role, needs.join(" "))
}
