//! What was measured: the file between the measurement and the tables.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::case::Failure;

/// All that was measured with one kind of device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// `siw` or `rxe`.
    pub(super) kind: String,
    /// The least time of one measurement, in seconds.
    pub(super) seconds: f64,
    pub(super) cells: Vec<Cell>,
}

/// The same work on all paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) verb: Verb,
    /// Bytes of an operation.
    pub(super) size: u32,
    /// Operations under way.
    pub(super) at_once: u16,
    /// MiB (2^20 bytes) for each second, one for each round; `None` if the path did not do it.
    pub(super) rates: BTreeMap<Way, Vec<Option<f64>>>,
    /// Processor time of the gateway of a path for each MiB, in milliseconds: in user space and in the kernel, one for each round.
    pub(super) processor: BTreeMap<Way, Vec<Option<(f64, f64)>>>,
}

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verb {
    Read,
    Write,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// The way of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// cifs over RDMA to the gateway to Samba.
    GatewaySamba,
    /// cifs over TCP to Samba.
    Samba,
    /// cifs over RDMA to ksmbd.
    KsmbdRdma,
    /// cifs over TCP to ksmbd.
    Ksmbd,
    /// cifs over RDMA to the gateway to the server in memory.
    GatewayMemory,
    /// cifs over TCP to the server in memory.
    Memory,
    /// `smbd-cp` over RDMA to ksmbd.
    SmbdCp,
    /// cifs over RDMA to smbd-serve with RDMA in its own process.
    Serve,
    /// cifs over RDMA to smbd-serve on smbd-broker.
    Broker,
    /// cifs over RDMA to the gateway to smbd-serve over TCP.
    GatewayServe,
    /// RDMA operations of smbd-perf, in the direction in which the gateway orders them.
    Rdma,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GatewaySamba => "gateway-samba",
            Self::Samba => "samba",
            Self::KsmbdRdma => "ksmbd-rdma",
            Self::Ksmbd => "ksmbd",
            Self::GatewayMemory => "gateway-memory",
            Self::Memory => "memory",
            Self::SmbdCp => "smbd-cp",
            Self::Serve => "serve",
            Self::Broker => "broker",
            Self::GatewayServe => "gateway-serve",
            Self::Rdma => "rdma",
        })
    }
}

impl Cell {
    /// The ratio of one way to another, of each round in which both were measured.
    pub(super) fn ratios(&self, way: Way, to: Way) -> Vec<f64> {
        let rates = |way: Way| self.rates.get(&way).map(Vec::as_slice).unwrap_or_default();
        let both = rates(way).iter().zip(rates(to));
        both.filter_map(|(rate, to)| Some((*rate)? / (*to)?)).collect()
    }
}

impl Report {
    /// Whether something was measured on a way.
    pub(super) fn has(&self, way: Way) -> bool {
        self.cells.iter().any(|cell| cell.rates.contains_key(&way))
    }

    /// Reads a file that [`Self::write`] has written.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// Writes a file, one cell a line.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let kind = serde_json::to_string(&self.kind)?;
        let mut text = format!("{{\"kind\":{kind},\"seconds\":{},\"cells\":[\n", self.seconds);
        for (number, cell) in self.cells.iter().enumerate() {
            let between = if number == 0 { "" } else { ",\n" };
            text += &format!("{between}{}", serde_json::to_string(cell)?);
        }
        text += "\n]}\n";
        fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()).into())
    }
}

/// Numbers as they are kept: four significant digits say more than such a measurement can.
pub(super) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powf(3.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Cell, Report, Verb, Way, rounded};

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let cell = |verb| Cell {
            verb,
            size: 65_536,
            at_once: 8,
            rates: BTreeMap::from([
                (Way::GatewaySamba, vec![Some(12.5), None]),
                (Way::Rdma, vec![Some(0.25)]),
            ]),
            processor: BTreeMap::from([(Way::GatewaySamba, vec![Some((0.5, 1.25)), None])]),
        };
        let cells = vec![cell(Verb::Read), cell(Verb::Write)];
        let report = Report { kind: "siw".into(), seconds: 1.5, cells };
        let path = std::env::temp_dir().join(format!("smbd-live-report-{}", std::process::id()));
        report.write(&path).unwrap();
        assert_eq!(Report::read(&path).unwrap(), report);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn four_digits_are_kept() {
        for (value, kept) in [(123.456, 123.5), (0.012_345_6, 0.012_35), (98_765.4, 98_770.0), (0.0, 0.0)] {
            assert!((rounded(value) - kept).abs() < kept * 1e-9 + 1e-12, "{value}");
        }
    }
}
