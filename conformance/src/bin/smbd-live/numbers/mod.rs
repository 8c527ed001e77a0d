//! Reads and writes through the gateway, to a server on `smbd-broker`, by `smbd-cp`, and on other ways, one after the other, again and again.
//!
//! The share of a server is mounted once for each way of the kernel's client. A round measures each cell (read or write, a size, one or
//! some at once) on all ways in turn before it goes on to the next cell, so that what the machine does besides hits all alike.

mod broker;
mod client;
mod direct;
pub(crate) mod memory;
mod processor;
mod ratio;
mod rdma;
mod report;
mod subject;
mod table;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::case::Failure;
use direct::Moved;
use processor::Processor;
use rdma::Rdma;
use report::{Cell, Report, Verb, Way, rounded};
use subject::Subject;

/// What to measure.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// Mounts: WAY=FOLDER, and for those of a gateway WAY=FOLDER,PID with its process; shares that smbd-cp uses: WAY=URL.
    #[arg(required = true, value_name = "WAY=FOLDER|URL")]
    subjects: Vec<Subject>,
    /// Where the numbers go; the file is written again after each cell.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// `siw` or `rxe`.
    #[arg(long, env = "RDMA_KIND")]
    kind: String,
    /// How many times each is measured.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The least time of one measurement, in seconds.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Bytes of an operation: whole pages.
    #[arg(long, value_delimiter = ',', default_values_t = [4096, 65_536, 1 << 20, 4 << 20])]
    sizes: Vec<u32>,
    /// Operations at the same time.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8])]
    at_once: Vec<u16>,
}

/// Measures, and writes the file.
pub(crate) fn run(address: IpAddr, options: &Options) -> Result<(), Failure> {
    let rdma = Rdma::start(address)?;
    let time = Duration::try_from_secs_f64(options.seconds)?;
    let mut report = Report { kind: options.kind.clone(), seconds: options.seconds, cells: cells(options) };
    let longest = options.sizes.iter().max().copied().unwrap_or_default() as usize;
    let most: usize = options.at_once.iter().max().copied().unwrap_or_default().into();
    for subject in &options.subjects {
        eprintln!("prepares {}", subject.way);
        subject.prepare(longest * most)?;
    }
    for round in 1..=options.rounds {
        for number in 0..report.cells.len() {
            let Some(cell) = report.cells.get_mut(number) else { break };
            measure(cell, &options.subjects, &rdma, time);
            eprintln!("round {round} of {}, {}", options.rounds, table::last(cell));
            report.write(&options.output)?;
        }
    }
    Ok(())
}

/// Prints the tables of a file in Markdown. Whether all goals were reached.
pub(crate) fn print(file: &std::path::Path) -> Result<bool, Failure> {
    let report = Report::read(file)?;
    if client::is_of(&report) {
        print!("{}", client::table(&report));
        return Ok(client::all_reached(&report.cells));
    }
    if broker::is_of(&report) {
        print!("{}", broker::table(&report));
        return Ok(broker::all_reached(&report.cells));
    }
    print!("{}", table::of(&report));
    Ok(ratio::all_reached(&report.cells))
}

fn cells(options: &Options) -> Vec<Cell> {
    let mut cells = Vec::new();
    for verb in [Verb::Read, Verb::Write] {
        for &size in &options.sizes {
            for &at_once in &options.at_once {
                let (rates, processor) = (BTreeMap::new(), BTreeMap::new());
                cells.push(Cell { verb, size, at_once, rates, processor });
            }
        }
    }
    cells
}

/// One round of a cell.
fn measure(cell: &mut Cell, subjects: &[Subject], rdma: &Rdma, time: Duration) {
    for subject in subjects {
        let (way, gateway) = (subject.way, subject.gateway());
        let before = gateway.map(Processor::of);
        let moved = subject.run(cell, time);
        let after = gateway.map(Processor::of);
        let moved = told(way, moved);
        cell.rates.entry(way).or_default().push(moved.map(|moved| rounded(moved.rate)));
        if let (Some(before), Some(after)) = (before, after) {
            let used = before.and_then(|before| Ok(after?.since(before)));
            let used = moved.and_then(|moved| Some(each(told(way, used)?, moved)));
            cell.processor.entry(way).or_default().push(used);
        }
    }
    let rate = told(Way::Rdma, rdma.measure(cell, time));
    cell.rates.entry(Way::Rdma).or_default().push(rate.map(rounded));
}

/// Milliseconds for each MiB.
fn each(used: Processor, moved: Moved) -> (f64, f64) {
    let each = |seconds: f64| rounded(seconds * 1000.0 / moved.mebibytes);
    (each(used.user), each(used.system))
}

/// What failed is told and not counted; the others go on.
fn told<T>(way: Way, result: Result<T, Failure>) -> Option<T> {
    result.inspect_err(|error| eprintln!("{way}: {error}")).ok()
}
