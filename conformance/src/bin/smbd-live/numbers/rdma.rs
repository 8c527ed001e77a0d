//! What the device can do by itself: smbd-perf, with the operations that the gateway orders.

use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::report::{Cell, Verb};
use crate::case::Failure;
use crate::process::Process;

/// How long smbd-perf measures at least: a second for 4 MiB.
const SECONDS_FOR_EACH_BYTE: f64 = 1.0 / (4 << 20) as f64;

/// Where smbd-echo listens.
const PORT: u16 = 21_000;

/// smbd-echo, as long as this lives.
#[derive(Debug)]
pub(super) struct Rdma {
    address: SocketAddr,
    _echo: Process,
}

impl Rdma {
    /// Starts smbd-echo.
    pub(super) fn start(address: IpAddr) -> Result<Self, Failure> {
        let address = SocketAddr::new(address, PORT);
        let echo = Process::start("smbd-echo", "echo".into(), &["--listen", &address.to_string()])?;
        echo.said(0, &["listening"])?;
        Ok(Self { address, _echo: echo })
    }

    /// MiB for each second. A program's read is an RDMA Write of the gateway, and its write an RDMA Read.
    pub(super) fn measure(&self, cell: &Cell, time: Duration) -> Result<f64, Failure> {
        let operation = match cell.verb {
            Verb::Read => "write",
            Verb::Write => "read",
        };
        let (size, depth) = (cell.size.to_string(), cell.at_once.to_string());
        // It counts whole operations, so it needs some of them.
        let time = time.as_secs_f64().max(f64::from(cell.size) * SECONDS_FOR_EACH_BYTE).to_string();
        let output = Command::new(std::env::current_exe()?.with_file_name("smbd-perf"))
            .args([&self.address.to_string(), operation, "--json", "--warm-up", "0.05", "--time", &time])
            .args(["--size", &size, "--depth", &depth])
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let result: Value = serde_json::from_str(&said).map_err(|error| format!("smbd-perf: {error}"))?;
        let number =
            |name: &str| result.get(name).and_then(Value::as_f64).ok_or(format!("smbd-perf: {said}"));
        Ok(number("bytes")? / number("seconds")? / f64::from(1 << 20))
    }
}
