//! `smbd-conformance capture`: the rules broken in a capture.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use smbd_conformance::monitor::{self, json, text};
use smbd_sim::decode;

const VIOLATIONS: u8 = 1;
const UNREADABLE: u8 = 2;

/// Replays both directions of every SMB Direct connection in a capture and reports each rule broken.
///
/// Violations are of MS-SMBD; deviations are of Microsoft's test suite or of what smbd recommends. A rule that needs
/// something the capture does not have is not judged. Then follow the credits of both sides.
#[derive(Debug, clap::Args)]
pub struct CaptureArgs {
    /// pcap or pcapng file with RoCEv2 or iWARP traffic
    file: PathBuf,
    /// Print JSON lines instead of text
    #[arg(long)]
    json: bool,
}

/// Prints the verdict on a file. What was readable is judged and printed also if not all of it was.
pub fn run(arguments: &CaptureArgs) -> ExitCode {
    let name = arguments.file.display();
    let file = match File::open(&arguments.file) {
        Ok(file) => file,
        Err(error) => {
            eprintln!("smbd-conformance: {name}: {error}");
            return ExitCode::from(UNREADABLE);
        }
    };
    let report = decode::read(BufReader::new(file));
    let verdict = monitor::check(&report);
    let mut out = BufWriter::new(io::stdout().lock());
    let printed = if arguments.json {
        json::write(&verdict, &mut out)
    } else {
        write!(out, "{}", text::verdict(&verdict))
    };
    match printed.and_then(|()| out.flush()) {
        Ok(()) => {}
        // `smbd-conformance capture FILE | head` has seen what it wanted.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => {
            eprintln!("smbd-conformance: output: {error}");
            return ExitCode::from(UNREADABLE);
        }
    }
    if let Some(problem) = &report.problem {
        eprintln!("smbd-conformance: {name}: {problem}");
        return ExitCode::from(UNREADABLE);
    }
    if verdict.violations() > 0 { ExitCode::from(VIOLATIONS) } else { ExitCode::SUCCESS }
}
