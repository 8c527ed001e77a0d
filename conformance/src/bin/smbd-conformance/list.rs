//! `smbd-conformance list`: the cases there are, and the statements.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::{Value, json};
use smbd_conformance::catalogue::{Case, Catalogue};
use smbd_conformance::suite::longest_wait;

use super::choice::Choice;
use super::output::{complain, print, unwritten};
use super::statements::Statements;
use super::{PASSED, USAGE};

/// Lists cases: name, side under test, time it takes where time is real, longest time with a peer that does nothing, what it
/// needs. Or the statements they are about.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    choice: Choice,
    /// List the statements of these cases, or all: whose duty each is, its cases, and what shows that it can be broken
    #[arg(long)]
    statements: bool,
    /// Print one JSON array instead; times in seconds. Of statements an object, with their numbers
    #[arg(long)]
    json: bool,
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
    let statements = arguments.statements.then(|| {
        let all = arguments.choice == Choice::default();
        Statements::of(catalogue, |statement| {
            all || cases.iter().any(|case| case.statements.contains(&statement.id))
        })
    });
    let printed = print(|out| {
        if let Some(statements) = &statements {
            return statements.write(out, arguments.json);
        }
        if arguments.json {
            let all: Value = cases.into_iter().map(object).collect();
            return writeln!(out, "{all:#}");
        }
        cases.into_iter().try_for_each(|case| line(out, case))
    });
    match printed {
        Ok(()) => ExitCode::from(PASSED),
        Err(failed) => unwritten(&failed),
    }
}

fn needs(case: &Case) -> Vec<String> {
    case.needs.iter().map(|need| format!("{need:?}").to_lowercase()).collect()
}

fn line(out: &mut dyn Write, case: &Case) -> io::Result<()> {
    let takes = if case.time.is_zero() { String::new() } else { format!("{} s", case.time.as_secs()) };
    let longest = format!("<= {} s", longest_wait(case).as_secs());
    writeln!(out, "{:<96} {:<9} {takes:>6} {longest:>8}  {}", case.name, case.role, needs(case).join(" "))
}

fn object(case: &Case) -> Value {
    json!({
        "name": case.name,
        "group": case.group,
        "role": case.role.to_string(),
        "time": case.time.as_secs(),
        "longest_wait": longest_wait(case).as_secs(),
        "needs": needs(case),
    })
}
