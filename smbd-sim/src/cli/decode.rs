//! `smbd-sim decode`: a capture as text or JSON.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use smbd_sim::decode::{self, Options, json, text};

/// Exit code of a file that could not be read to its end.
const UNREADABLE: u8 = 2;

/// Shows the SMB Direct messages and RDMA operations of a capture.
#[derive(Debug, clap::Args)]
pub struct DecodeArgs {
    /// pcap or pcapng file with RoCEv2 or iWARP traffic
    file: PathBuf,
    /// Print JSON lines instead of text
    #[arg(long)]
    json: bool,
}

/// Prints what the file holds. Exit code 0, or 2 when the file is broken, foreign or cannot be opened; what
/// was readable is printed in any case.
pub fn run(args: &DecodeArgs) -> ExitCode {
    let file = match File::open(&args.file) {
        Ok(file) => file,
        Err(error) => {
            eprintln!("smbd-sim: {}: {error}", args.file.display());
            return ExitCode::from(UNREADABLE);
        }
    };
    let report = decode::read_with(BufReader::new(file), Options { keep_bytes: false });
    let mut out = BufWriter::new(io::stdout().lock());
    let printed =
        if args.json { json::write(&report, &mut out) } else { write!(out, "{}", text::report(&report)) };
    match printed.and_then(|()| out.flush()) {
        Ok(()) => {}
        // `smbd-sim decode FILE | head` is no failure.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("smbd-sim: output: {error}");
            return ExitCode::from(UNREADABLE);
        }
    }
    match &report.problem {
        None => ExitCode::SUCCESS,
        Some(problem) => {
            eprintln!("smbd-sim: {}: {problem}", args.file.display());
            ExitCode::from(UNREADABLE)
        }
    }
}
