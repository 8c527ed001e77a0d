//! `smbd-conformance capture`: the rules broken in a capture.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use smbd_conformance::monitor::{self, Verdict};
use smbd_conformance::suite::report::About;
use smbd_sim::decode;

use super::about::about;
use super::output::{Failed, complain, print, unwritten};
use super::{FAILED, PASSED, USAGE};

/// Replays both directions of every SMB Direct connection in a capture and reports each rule broken.
///
/// Violations are of MS-SMBD; deviations are of Microsoft's test suite or of what smbd recommends. A rule that needs
/// something the capture does not have is not judged. Then follow the credits of both sides.
#[derive(Debug, clap::Args)]
pub struct CaptureArgs {
    /// pcap or pcapng file with RoCEv2 or iWARP traffic (`-`: standard input)
    file: PathBuf,
    /// Print JSON lines instead of text
    #[arg(long)]
    json: bool,
}

/// Prints the verdict on a file. What was readable is judged and printed also if not all of it was.
pub fn run(arguments: &CaptureArgs) -> ExitCode {
    let name = arguments.file.display();
    let judged = about(false).and_then(|about| {
        let input = open(&arguments.file).map_err(|error| format!("{name}: {error}"))?;
        Ok((monitor::check(&decode::read(input)), about))
    });
    let (verdict, about) = match judged {
        Ok(judged) => judged,
        Err(why) => {
            complain(&why);
            return ExitCode::from(USAGE);
        }
    };
    if let Err(failed) = show(&verdict, &about, arguments.json) {
        return unwritten(&failed);
    }
    if let Some(problem) = &verdict.problem {
        complain(&format_args!("{name}: {problem}"));
        return ExitCode::from(USAGE);
    }
    if let Some(why) = verdict.nothing_to_judge() {
        complain(&format_args!("{name}: warning: {why}"));
        return ExitCode::from(USAGE);
    }
    ExitCode::from(if verdict.violations() > 0 { FAILED } else { PASSED })
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(BufReader::new(File::open(path)?)))
}

fn show(verdict: &Verdict, about: &About, as_json: bool) -> Result<(), Failed> {
    let About { version, date, command_line, .. } = about;
    print(|mut out| {
        if as_json {
            let about =
                json!({ "type": "about", "version": version, "date": date, "command_line": command_line });
            writeln!(out, "{about}")?;
            return monitor::json::write(verdict, &mut out);
        }
        writeln!(out, "smbd-conformance {version}, {date}: {command_line}")?;
        write!(out, "{}", monitor::text::verdict(verdict))
    })
}
