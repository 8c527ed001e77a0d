//! perftest: `ib_send_bw` and its like.

use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::Server;
use super::subject::{Kind, Subject};

/// perftest says when it listens only where nobody can read it, so it is given some time and tried again.
const START: Duration = Duration::from_millis(700);
/// perftest counts 2^20 bytes as a megabyte.
const MIB: f64 = 1.048_576;
/// Columns of its last line: bytes, iterations, peak, average; or bytes, iterations, least, most, typical time.
const AVERAGE: usize = 3;
const TYPICAL: usize = 4;

/// How it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    /// It sleeps until there are completions.
    pub(super) events: bool,
    /// As many operations under way as `smbd-perf`, each with a report. Otherwise it does as it likes: 128, and one report in 100.
    pub(super) is_same: bool,
}

/// MB/s or microseconds; `None` if perftest cannot do it on this device.
pub(super) fn measure(
    subject: &Subject,
    address: IpAddr,
    device: &str,
    port: u16,
    mode: Mode,
) -> Option<f64> {
    let (program, column, scale) = match subject.kind {
        Kind::Send => ("ib_send_bw", AVERAGE, MIB),
        Kind::Write => ("ib_write_bw", AVERAGE, MIB),
        Kind::Read => ("ib_read_bw", AVERAGE, MIB),
        Kind::Latency => ("ib_send_lat", TYPICAL, 1.0),
    };
    let command = || {
        let mut command = Command::new("timeout");
        command.args(["20", program, "-d", device, "-R", "-F"]);
        command.args(["-p", &port.to_string(), "-s", &subject.size.to_string()]);
        command.args(["-n", &subject.iterations.to_string()]);
        if mode.events {
            command.arg("-e");
        }
        if mode.is_same && subject.kind != Kind::Latency {
            command.args(["-t", &subject.depth.to_string(), "-Q", "1"]);
        }
        command
    };
    let server = command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let _server = Server(server);
    thread::sleep(START);
    let output = command().arg(address.to_string()).stderr(Stdio::null()).output().ok()?;
    if !output.status.success() {
        return None;
    }
    measured(&String::from_utf8_lossy(&output.stdout), subject.size, column).map(|value| value * scale)
}

/// What perftest has measured. It may print 0.00 for a run that was over too soon: that is no measurement.
fn measured(output: &str, size: u32, column: usize) -> Option<f64> {
    let value = last_row(output, size)?.get(column).copied()?;
    (value.is_finite() && value > 0.0).then_some(value)
}

/// The row of numbers that begins with the size.
fn last_row(output: &str, size: u32) -> Option<Vec<f64>> {
    output.lines().rev().find_map(|line| {
        let row: Option<Vec<f64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        row.filter(|row| row.first() == Some(&f64::from(size)))
    })
}

#[cfg(test)]
mod tests {
    use super::{AVERAGE, TYPICAL, last_row, measured};

    #[test]
    fn the_numbers_are_those_below_the_heading() {
        let bandwidth = " #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n 8192 48400 0.00 125.98 \t 0.016126\n---\n";
        assert_eq!(last_row(bandwidth, 8192).map(|row| row[AVERAGE]), Some(125.98));
        let latency = " 24 5000 13.05 1584.86 15.17 \t 18.60 \t19.07 \t115.93 \t260.32 \n";
        assert_eq!(last_row(latency, 24).map(|row| row[TYPICAL]), Some(15.17));
        assert_eq!(last_row("Unable to connect\n", 24), None);
    }

    #[test]
    fn a_run_that_measured_nothing_does_not_count() {
        let output = |average| {
            format!(
                " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n 65536  1000  0.00  {average}  0.000\n"
            )
        };
        assert_eq!(measured(&output("12.50"), 65_536, AVERAGE), Some(12.5));
        for nothing in ["0.00", "inf", "-nan", ""] {
            assert_eq!(measured(&output(nothing), 65_536, AVERAGE), None, "{nothing}");
        }
    }
}
