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

/// Whether there is one.
pub(super) fn is_installed() -> bool {
    Command::new("ib_send_bw").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// How it is called.
pub(super) struct Perftest<'a> {
    /// Of this host, and of its device.
    pub(super) address: IpAddr,
    pub(super) device: &'a str,
    /// How often it does the operations of a subject.
    pub(super) times: u32,
    pub(super) mode: Mode,
}

/// What it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    /// It waits for events, and does not poll.
    pub(super) events: bool,
    /// As many operations under way as `smbd-perf` has, each with a report. Otherwise it does as it likes: 128, and one report in 100.
    pub(super) is_same: bool,
}

impl Perftest<'_> {
    /// MB/s or microseconds; `None` if perftest cannot do it on this device.
    pub(super) fn measure(&self, subject: &Subject, port: u16) -> Option<f64> {
        let (program, column, scale) = match subject.kind {
            Kind::Send => ("ib_send_bw", AVERAGE, MIB),
            Kind::Write => ("ib_write_bw", AVERAGE, MIB),
            Kind::Read => ("ib_read_bw", AVERAGE, MIB),
            Kind::Latency => ("ib_send_lat", TYPICAL, 1.0),
        };
        let command = || {
            let mut command = Command::new("timeout");
            command.args(["20", program]).args(self.arguments(subject, port));
            command
        };
        let _server = Server::start(command().stdout(Stdio::null()).stderr(Stdio::null())).ok()?;
        thread::sleep(START);
        let output = command().arg(self.address.to_string()).stderr(Stdio::null()).output().ok()?;
        if !output.status.success() {
            return None;
        }
        measured(&String::from_utf8_lossy(&output.stdout), subject.size, column).map(|value| value * scale)
    }

    /// Of both sides.
    fn arguments(&self, subject: &Subject, port: u16) -> Vec<String> {
        let mut arguments: Vec<_> = ["-d", self.device, "-R", "-F"].map(String::from).into();
        let iterations = subject.iterations.saturating_mul(self.times);
        for (option, number) in [("-p", port.into()), ("-s", subject.size), ("-n", iterations)] {
            arguments.extend([option.into(), number.to_string()]);
        }
        if self.mode.events {
            arguments.push("-e".into());
        }
        if self.mode.is_same && subject.kind != Kind::Latency {
            arguments.extend(["-t".into(), subject.depth.to_string(), "-Q".into(), "1".into()]);
        }
        arguments
    }
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
    use super::{AVERAGE, Mode, Perftest, TYPICAL, last_row, measured};
    use crate::compare::subject::SUBJECTS;

    /// What it is called with for the first subject, and for the last one.
    fn arguments(times: u32, mode: Mode) -> [String; 2] {
        let perftest =
            Perftest { address: "10.9.0.9".parse().expect("an address"), device: "siw0", times, mode };
        [0, SUBJECTS.len() - 1].map(|at| perftest.arguments(&SUBJECTS[at], 21_001).join(" "))
    }

    #[test]
    fn a_faster_device_is_given_so_many_times_the_operations() {
        let mode = |events| Mode { events, is_same: false };
        assert_eq!(arguments(1, mode(false))[0], "-d siw0 -R -F -p 21001 -s 8192 -n 16000");
        assert_eq!(arguments(20, mode(true))[0], "-d siw0 -R -F -p 21001 -s 8192 -n 320000 -e");
    }

    #[test]
    fn asked_for_the_same_it_has_as_many_under_way_and_reports_each() {
        let [send, latency] = arguments(1, Mode { events: false, is_same: true });
        assert_eq!(send, "-d siw0 -R -F -p 21001 -s 8192 -n 16000 -t 128 -Q 1");
        assert_eq!(
            latency, "-d siw0 -R -F -p 21001 -s 24 -n 3000",
            "it has one under way, whatever it is asked for"
        );
    }

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
