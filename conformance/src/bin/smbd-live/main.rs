//! Live tests: over RDMA devices, of smbd with itself and with the Linux kernel's SMB Direct client and server.
//!
//! Each test runs in a process of its own, so that one that hangs or leaks does not spoil the next. `conformance/lab/run`
//! runs them all in guests with software devices.

mod case;
mod cifs;
mod compare;
mod device;
mod expect;
mod hostile;
mod kernel_log;
mod kit;
mod ksmbd;
mod late;
mod linux;
mod nowhere;
mod numbers;
mod ours;
mod pair;
mod patience;
mod process;
mod registry;
mod run;
mod samba;
mod script;
mod settings;
mod smb2;
mod soak;
mod tally;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use case::{Context, ServedBy, Target};
use ours::victim::Part;
use tally::{Ended, Tally};

/// Live tests of smbd over RDMA devices.
#[derive(Debug, Parser)]
#[command(
    name = "smbd-live",
    version,
    after_help = "Exit codes: 0 all passed that were played, 1 a test failed, 2 wrong usage, 3 nothing was played."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Names and subjects of the tests.
    List {
        /// Only those against this peer.
        #[arg(long)]
        target: Option<Target>,
    },
    /// Runs tests; ends with `N passed, M failed, K skipped`.
    Run {
        /// Only tests whose name contains one of these.
        filters: Vec<String>,
        /// Only those against this peer.
        #[arg(long)]
        target: Option<Target>,
        /// Goes on behind this test.
        #[arg(long, value_name = "TEST")]
        after: Option<String>,
        /// With --after: that test did not come to its end, for this reason; it counts as skipped.
        #[arg(long, value_name = "WHY", requires = "after")]
        lost: Option<String>,
        /// Has the name of the test that is played, as long as one is.
        #[arg(long, value_name = "FILE")]
        playing: Option<PathBuf>,
        #[command(flatten)]
        place: Place,
        /// Most seconds a single test may take.
        #[arg(long, default_value_t = 300)]
        limit: u64,
    },
    /// Measures smbd against perftest on the same device and prints a table.
    ///
    /// Exit code 1 says that a goal was missed.
    Compare {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        options: compare::Options,
    },
    /// Measures direct reads and writes on mounted shares, through the gateway, to a server on smbd-broker and on other ways.
    Numbers {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        options: numbers::Options,
    },
    /// Prints what `numbers` has measured as tables in Markdown.
    ///
    /// Exit code 1 says that a goal was missed.
    NumbersTable {
        /// The file of the measurement.
        file: PathBuf,
    },
    /// Serves shares in memory over TCP, to any client, as a guest, until it is ended.
    Memory {
        /// Where to listen.
        listen: SocketAddr,
    },
    /// Binds a session to a second connection while data go on the first, and goes on with both.
    LateChannel {
        #[command(flatten)]
        options: late::Options,
    },
    /// Lets clients come, work, go and be killed for a while; ends with what `smbd-echo` holds before and afterwards.
    ///
    /// Exit code 1 says that something was left, or was wrong.
    Soak {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        options: soak::Options,
    },
    /// Holds what tests of two hosts noted against a capture; ends with `N passed, M failed, K skipped`.
    #[command(hide = true)]
    Captured {
        /// The capture.
        capture: PathBuf,
        /// What side b noted.
        notes: PathBuf,
    },
    /// Runs one test in this process.
    #[command(hide = true)]
    One {
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// A client of a soak.
    #[command(hide = true)]
    Client {
        #[command(flatten)]
        work: soak::Work,
    },
    /// Writes files into a folder until it is killed.
    #[command(hide = true)]
    Write {
        folder: PathBuf,
        /// The number of the first.
        first: u64,
    },
    /// A peer that is killed by a test.
    #[command(hide = true)]
    Victim { part: Part, at: SocketAddr },
}

/// Where the devices are.
#[derive(Clone, Debug, clap::Args)]
struct Place {
    /// Address of an RDMA device of this host.
    #[arg(long, env = "SMBD_LIVE_ADDRESS", default_value_t = told_by_the_lab("ADDRESS").unwrap_or(LAB_ADDRESS))]
    address: IpAddr,
    /// Address of the peer; that of this host if it is the same.
    #[arg(long, env = "SMBD_LIVE_PEER")]
    peer: Option<IpAddr>,
    /// The gateway has its clients from smbd-broker, at /run/broker.
    #[arg(long = "broker", env = "SMBD_LIVE_BROKER")]
    has_broker: bool,
}

impl Place {
    fn context(&self) -> Context {
        let peer = self.peer.or_else(|| told_by_the_lab("PEER"));
        let peer = peer.unwrap_or(self.address);
        Context { address: self.address, peer, served_by: ServedBy::Gateway, has_broker: self.has_broker }
    }
}

/// The first address in a guest of the lab.
const LAB_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1));

/// An address from the environment that the lab gives its scenarios.
fn told_by_the_lab(name: &str) -> Option<IpAddr> {
    std::env::var(name).ok()?.parse().ok()
}

fn main() -> ExitCode {
    let arguments: Arguments = match smbd_program::output::options("smbd-live") {
        Ok(arguments) => arguments,
        Err(printed) => return printed,
    };
    match arguments.command {
        Command::List { target } => {
            for case in registry::cases(target, &[]) {
                println!("{:<44} {}", case.name, case.about);
            }
            ExitCode::SUCCESS
        }
        Command::Run { filters, target, after, lost, playing, place, limit } => {
            let cases = registry::cases(target, &filters);
            if cases.is_empty() {
                return none_matches(&filters);
            }
            let mut left = cases.as_slice();
            if let Some(name) = &after {
                let Some(at) = cases.iter().position(|case| case.name == name) else {
                    eprintln!("--after {name}: there is no such test among these");
                    return ExitCode::from(tally::USAGE);
                };
                left = &cases[at + 1..];
            }
            let lost = after.zip(lost);
            run::all(lost, left, &place, Duration::from_secs(limit), playing.as_deref())
        }
        Command::Compare { place, options } => measured(compare::run(place.address, &options)),
        Command::Numbers { place, options } => measured(numbers::run(place.address, &options).map(|()| true)),
        Command::NumbersTable { file } => measured(numbers::print(&file)),
        Command::Memory { listen } => measured(numbers::memory::run(listen).map(|()| true)),
        Command::Soak { place, options } => match soak::run(place.address, &options) {
            Ok(passed) => ExitCode::from(u8::from(!passed)),
            Err(error) => {
                println!("soak FAILED: {error}");
                ExitCode::from(1)
            }
        },
        Command::Client { work } => match work.run() {
            Ok(done) => {
                println!("{done}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                println!("{error}");
                ExitCode::FAILURE
            }
        },
        Command::Write { folder, first } => measured(samba::writer::run(&folder, first).map(|()| true)),
        Command::Captured { capture, notes } => captured(&capture, &notes),
        Command::One { name, place } => run::one(&name, &place.context()),
        Command::LateChannel { options } => match late::run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("{failure}");
                ExitCode::FAILURE
            }
        },
        Command::Victim { part, at } => match ours::victim::run(part, at) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("victim: {failure}");
                ExitCode::FAILURE
            }
        },
    }
}

/// The exit code of a measurement: whether it reached its goals, or why there is none.
fn measured(reached: Result<bool, case::Failure>) -> ExitCode {
    match reached {
        Ok(reached) => ExitCode::from(u8::from(!reached)),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(tally::USAGE)
        }
    }
}

fn captured(capture: &Path, notes: &Path) -> ExitCode {
    match pair::compare(capture, notes) {
        Ok(tally) => {
            println!("{tally}");
            // Notes without a line are no comparison.
            if tally.passed > 0 { tally.into() } else { ExitCode::from(tally::FAILED) }
        }
        Err(error) => {
            let tally = Tally { failed: 1, ..Tally::default() };
            println!("capture FAILED: {error}\n{tally}");
            tally.into()
        }
    }
}

/// Nothing was played, which counts as one test that was not.
fn none_matches(filters: &[String]) -> ExitCode {
    let ended = Ended::Skipped(format!("no test matches {}", filters.join(" ")));
    let mut tally = Tally::default();
    tally.add(&ended);
    println!("{}\n{tally}", ended.line("", 0.0).trim_start());
    tally.into()
}
