//! `smbd-conformance show`: a case, and what happens when it is played.

use std::fmt::Write as _;
use std::process::ExitCode;

use smbd_conformance::catalogue::{Case, Catalogue};
use smbd_conformance::suite::{Options, Outcome, Played, SIDES, Uppers, cases, detect, play};

use super::choice::Choice;
use super::output::{complain, print, unwritten};
use super::target::{TargetArgs, UpperLayers};
use super::{FAILED, NOT_JUDGED, PASSED, USAGE};

/// Shows cases: statements, steps, what is expected, and the messages of a run.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    target: TargetArgs,
    /// The variant of the implementation that is played; the first unless said otherwise
    #[arg(long, value_name = "VARIANT")]
    variant: Option<String>,
    /// Show the bytes of messages, too
    #[arg(long)]
    bytes: bool,
}

/// Prints them.
pub fn run(arguments: &ShowArgs, catalogue: &Catalogue) -> ExitCode {
    match shown(arguments, catalogue) {
        Ok((text, status)) => match print(|out| out.write_all(text.as_bytes())) {
            Ok(()) => ExitCode::from(status),
            Err(failed) => unwritten(&failed),
        },
        Err(why) => {
            complain(&why);
            ExitCode::from(USAGE)
        }
    }
}

/// The text, and the exit status.
fn shown(arguments: &ShowArgs, catalogue: &Catalogue) -> Result<(String, u8), String> {
    let mut target = arguments.target.target()?;
    let variants = target.variants();
    let wanted = arguments.variant.as_ref().or(variants.first());
    let variant = variants.iter().position(|name| Some(name) == wanted).ok_or_else(|| {
        let wanted = wanted.map_or("", String::as_str);
        format!("no variant `{wanted}`; there are {}", variants.join(", "))
    })?;
    let mut uppers = Uppers::default();
    match arguments.target.upper_layers() {
        UpperLayers::Known(known) => uppers = known,
        UpperLayers::Unknown(choice) => {
            for role in SIDES {
                if target.lacks(role, None).is_none() {
                    uppers = uppers.with(role, detect(&mut *target, role, &choice));
                }
            }
        }
    }
    let options = Options { uppers, ..Options::default() };
    let (mut failed, mut unjudged) = (false, false);
    let mut text = String::new();
    for case in arguments.choice.some(catalogue)? {
        head(&mut text, case, catalogue);
        let Some(entry) = cases::find(&case.name) else { continue };
        for role in arguments.choice.sides(case) {
            let played = play(&mut *target, variant, (case, entry), role, &options);
            failed |= played.outcome == Outcome::Failed;
            unjudged |= matches!(played.outcome, Outcome::NotJudged(_));
            tell(&mut text, &played, arguments.bytes);
        }
    }
    let status = match (failed, unjudged) {
        (true, _) => FAILED,
        (false, true) => NOT_JUDGED,
        (false, false) => PASSED,
    };
    Ok((text, status))
}

fn head(text: &mut String, case: &Case, catalogue: &Catalogue) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&format!("{} ({} under test)\n\nstatements\n", case.name, case.role));
    for id in &case.statements {
        let known = catalogue.statement(id);
        let (level, says) = known.map_or((String::new(), ""), |s| (s.level.to_string(), s.text.as_str()));
        let id = id.to_string();
        _ = writeln!(text, "  {id:<11} {level:<7} {says}");
    }
    for (title, lines) in [("settings", &case.settings), ("steps", &case.steps), ("expected", &case.expected)]
    {
        if !lines.is_empty() {
            _ = writeln!(text, "\n{title}");
        }
        for line in lines {
            _ = writeln!(text, "  {line}");
        }
    }
}

fn tell(text: &mut String, played: &Played, bytes: bool) {
    let Played { role, variant, outcome, findings, trace, .. } = played;
    let shown = if bytes { format!("{trace:#}") } else { trace.to_string() };
    _ = writeln!(text, "\n{role}, {variant}: {outcome}\n{shown}");
    for (index, finding) in findings.iter().enumerate() {
        _ = writeln!(text, "FINDING {index}: {} ({})", finding.text, finding.statements.join(" "));
    }
    for fact in &played.does_not {
        _ = writeln!(text, "does not, and need not: {} ({})", fact.text, fact.statements.join(" "));
    }
}
