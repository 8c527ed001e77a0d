//! What is measured: a share, by the kernel's client or by `smbd-cp`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::Value;

use super::direct::{self, Moved};
use super::report::{Cell, Verb, Way};
use crate::case::Failure;

/// The file on each share.
const FILE: &str = "numbers";
/// The file of `smbd-cp`: the kernel's client keeps its own open for a while.
const FILE_OF_CP: &str = "numbers-cp";

/// A share, and who uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) way: Way,
    by: By,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum By {
    /// The kernel's client, which has it mounted; with the process of the gateway.
    Kernel { folder: PathBuf, gateway: Option<u32> },
    /// `smbd-cp`, with the URL of the share. The password is in SMBD_PASSWORD.
    Cp(String),
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not WAY=FOLDER, WAY=FOLDER,PID or WAY=URL");
        let (way, rest) = text.split_once('=').ok_or_else(wrong)?;
        let by = match rest.split_once(',') {
            _ if rest.contains("://") => By::Cp(rest.into()),
            Some((folder, pid)) => {
                By::Kernel { folder: folder.into(), gateway: Some(pid.parse().map_err(|_| wrong())?) }
            }
            None => By::Kernel { folder: rest.into(), gateway: None },
        };
        Ok(Self { way: Way::from_str(way, false)?, by })
    }
}

impl Subject {
    /// The process of its gateway.
    pub(super) const fn gateway(&self) -> Option<u32> {
        match self.by {
            By::Kernel { gateway, .. } => gateway,
            By::Cp(_) => None,
        }
    }

    /// Writes a file of `len` bytes, so that each later read finds data.
    pub(super) fn prepare(&self, len: usize) -> Result<(), Failure> {
        match &self.by {
            By::Kernel { folder, .. } => direct::prepare(&folder.join(FILE), len),
            By::Cp(url) => {
                // As many operations at once as it can do.
                let (at_once, size) = (32, len.div_ceil(32).max(1));
                perf(url, Verb::Write, (size, at_once), Duration::ZERO).map(drop)
            }
        }
    }

    /// Keeps as many operations under way as the cell says, for `time` at least.
    pub(super) fn run(&self, cell: &Cell, time: Duration) -> Result<Moved, Failure> {
        match &self.by {
            By::Kernel { folder, .. } => direct::run(&folder.join(FILE), cell, time),
            By::Cp(url) => perf(url, cell.verb, (cell.size as usize, cell.at_once), time),
        }
    }
}

/// `smbd-cp perf`, which is beside this program.
fn perf(url: &str, verb: Verb, (size, at_once): (usize, u16), time: Duration) -> Result<Moved, Failure> {
    let output = Command::new(program()?)
        .args(["perf", &verb.to_string(), &format!("{url}/{FILE_OF_CP}"), "--json"])
        .args(["--size", &size.to_string(), "--at-once", &at_once.to_string()])
        .args(["--time", &time.as_secs_f64().to_string()])
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = |what: &str| format!("smbd-cp: {what}: {said}{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_str(&said).map_err(|error| wrong(&error.to_string()))?;
    let way = result.get("way").and_then(Value::as_str);
    if url.starts_with("rdma:") && size >= 65_536 && way != Some("rdma") {
        return Err(wrong("its data do not go by RDMA").into());
    }
    let number = |name: &str| result.get(name).and_then(Value::as_f64).ok_or_else(|| wrong(name));
    let mebibytes = number("bytes")? / f64::from(1 << 20);
    Ok(Moved { rate: mebibytes / number("seconds")?, mebibytes })
}

fn program() -> Result<PathBuf, Failure> {
    Ok(Path::with_file_name(&std::env::current_exe()?, "smbd-cp"))
}

#[cfg(test)]
mod tests {
    use super::{By, Subject};
    use crate::numbers::report::Way;

    #[test]
    fn a_folder_is_the_kernels_and_a_url_that_of_smbd_cp() {
        let subject = |text: &str| text.parse::<Subject>();
        let kernel = |folder: &str, gateway| By::Kernel { folder: folder.into(), gateway };
        let of = |way, by| Ok(Subject { way, by });
        assert_eq!(subject("samba=/mnt/a"), of(Way::Samba, kernel("/mnt/a", None)));
        assert_eq!(subject("gateway-samba=/mnt/a,71"), of(Way::GatewaySamba, kernel("/mnt/a", Some(71))));
        assert_eq!(subject("smbd-cp=rdma://u@h:445/s"), of(Way::SmbdCp, By::Cp("rdma://u@h:445/s".into())));
        for wrong in ["samba", "nobody=/mnt", "samba=/mnt,pid"] {
            assert!(subject(wrong).is_err(), "{wrong}");
        }
    }
}
