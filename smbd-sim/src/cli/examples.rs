//! `smbd-sim examples`: the examples of section 4.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser};
use smbd_core::Token;
use smbd_program::output::Output;
use smbd_sim::capture::{IwarpWriter, Link, RoceWriter};
use smbd_sim::examples::{Options, Report, run as run_examples};
use smbd_sim::nic::Personality;
use smbd_sim::trace::Pcap;

use super::names::{PERSONALITIES, one_of};
use super::output::{Outcome, conclude};

/// Runs the five examples of section 4 between two simulated hosts and checks every value.
///
/// Every field shown is parsed from bytes that crossed the simulated wire. Exit status: 0 if all examples passed, 1 if
/// one did not, 2 if they could not be run.
#[derive(Debug, Args)]
pub struct ExamplesArgs {
    /// Kind of network.
    #[arg(long, value_parser = one_of(PERSONALITIES), default_value = "roce")]
    personality: Personality,
    /// Credits each side asks for and gives (4 to 255).
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(4..=255))]
    credits: u16,
    /// Longest message in bytes, header included (128 to 8136).
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(128..=8136))]
    send_size: u32,
    /// Length of the upper-layer message of 4.3 in bytes (1 to 131072).
    #[arg(long, value_name = "N", default_value_t = 65536, value_parser = clap::value_parser!(u32).range(1..=131_072))]
    bytes: u32,
    /// Address of the buffer of 4.4, hexadecimal.
    #[arg(long, value_name = "HEX", default_value = "ABCDE012", value_parser = hex64)]
    offset: u64,
    /// Address of the buffer of 4.5, hexadecimal.
    #[arg(long, value_name = "HEX", default_value = "DCBA024", value_parser = hex64)]
    read_offset: u64,
    /// Token of the buffer of 4.4, hexadecimal; that of 4.5 is the next key of the same window.
    #[arg(long, value_name = "HEX", default_value = "1A00BC56", value_parser = hex32)]
    token: u32,
    /// Also writes the run to DIR/examples.pcapng.
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
}

impl Default for ExamplesArgs {
    /// What an empty command line means.
    fn default() -> Self {
        #[derive(Parser)]
        struct Alone {
            #[command(flatten)]
            args: ExamplesArgs,
        }
        Alone::parse_from(["smbd-sim"]).args
    }
}

fn hex64(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|error| error.to_string())
}

fn hex32(text: &str) -> Result<u32, String> {
    u32::try_from(hex64(text)?).map_err(|_| "more than 32 bits".to_owned())
}

/// Exit code 0, 1 if an example did not pass, 2 if they could not be run, or standard output or the capture not be written.
pub fn run(args: &ExamplesArgs) -> ExitCode {
    conclude(try_run(args), "smbd-sim examples")
}

fn try_run(args: &ExamplesArgs) -> Outcome {
    let Report { passed, failed, text, .. } = play(args).map_err(|error| error.to_string())?;
    let mut out = Output::to(anstream::stdout());
    write!(out, "{text}\nexamples: {passed} passed, {failed} failed\n")?;
    out.flush()?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn play(args: &ExamplesArgs) -> Result<Report, Box<dyn std::error::Error>> {
    let options = Options {
        personality: args.personality,
        credits: args.credits,
        send_size: args.send_size,
        bytes: args.bytes,
        offset: args.offset,
        read_offset: args.read_offset,
        token: Token(args.token),
    };
    let Some(directory) = &args.pcap else { return Ok(run_examples(&options, ())?.0) };
    let file = create(directory)?;
    Ok(match args.personality {
        Personality::Roce => {
            let (report, pcap) = run_examples(&options, Pcap::new(RoceWriter::roce(file, Link::roce())?))?;
            pcap.finish()?.flush()?;
            report
        }
        Personality::Iwarp => {
            let (report, pcap) = run_examples(&options, Pcap::new(IwarpWriter::iwarp(file, Link::iwarp())?))?;
            pcap.finish()?.flush()?;
            report
        }
    })
}

fn create(directory: &Path) -> Result<BufWriter<File>, String> {
    let path = directory.join("examples.pcapng");
    let file = std::fs::create_dir_all(directory).and_then(|()| File::create(&path));
    file.map(BufWriter::new).map_err(|error| format!("--pcap: {}: {error}", path.display()))
}
