//! `smbd-sim decode`: a capture as text or JSON.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use smbd_program::output::{Output, complain};
use smbd_sim::decode::{self, Options, json, text};

use super::output::UNUSABLE;

/// Shows the SMB Direct messages and RDMA operations of a capture.
#[derive(Debug, clap::Args)]
pub struct DecodeArgs {
    /// pcap or pcapng file with RoCEv2 or iWARP traffic (`-`: standard input)
    file: PathBuf,
    /// Print JSON lines instead of text
    #[arg(long)]
    json: bool,
}

/// Prints what the file holds. Exit code 0, or 2 when the file is broken, foreign or cannot be opened; what
/// was readable is printed in any case.
pub fn run(args: &DecodeArgs) -> ExitCode {
    let input = match open(&args.file) {
        Ok(input) => input,
        Err(error) => return unusable(&format!("{}: {error}", args.file.display())),
    };
    let report = decode::read_with(input, Options { keep_bytes: false });
    let mut out = BufWriter::new(Output::standard());
    let printed =
        if args.json { json::write(&report, &mut out) } else { write!(out, "{}", text::report(&report)) };
    match printed.and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) => return unusable(&format!("output: {error}")),
    }
    match &report.problem {
        None => ExitCode::SUCCESS,
        Some(problem) => unusable(&format!("{}: {problem}", args.file.display())),
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(BufReader::new(File::open(path)?)))
}

fn unusable(what: &str) -> ExitCode {
    complain("smbd-sim", &what);
    ExitCode::from(UNUSABLE)
}
