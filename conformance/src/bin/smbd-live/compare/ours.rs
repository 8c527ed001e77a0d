//! smbd-echo and smbd-perf.

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Server;
use super::subject::{Kind, Measured, Subject};
use crate::case::Failure;

/// What a message has before its payload.
const HEADER: u32 = 24;
/// Bytes of a payload that stands for an empty message with its padding: the least there can be.
const LATENCY_PAYLOAD: u32 = 8;

/// Where the programs are, and how they are run.
pub(super) struct Tools {
    folder: PathBuf,
    spin: Option<u64>,
}

impl Tools {
    pub(super) fn find(folder: Option<&Path>, spin: Option<u64>) -> Result<Self, Failure> {
        let own = std::env::current_exe()?;
        let folder = folder.or(own.parent()).ok_or("this program is in no folder")?.to_owned();
        for tool in ["smbd-echo", "smbd-perf"] {
            if !folder.join(tool).is_file() {
                let folder = folder.display();
                return Err(format!(
                    "no {tool} in {folder}: cargo build --locked --release -p smbd-tools --features verbs"
                )
                .into());
            }
        }
        Ok(Self { folder, spin })
    }

    fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(self.folder.join(tool));
        if let Some(spin) = self.spin {
            command.args(["--spin", &spin.to_string()]);
        }
        command
    }

    pub(super) fn measure(&self, subject: &Subject, address: IpAddr, port: u16) -> Result<Measured, Failure> {
        let at = SocketAddr::new(address, port).to_string();
        // Messages of the size that is compared, header included, fill the largest that may be sent.
        let size = subject.size.to_string();
        let sizes: &[&str] = match subject.kind {
            Kind::Send => &["--large-sends", "--max-send-size", &size, "--max-receive-size", &size],
            _ => &[],
        };
        let mut server = self.command("smbd-echo");
        server.args(["--listen", &at]).args(sizes);
        // Why it does not listen, or refuses, is on its standard error.
        let mut server = Server::start(server.stdout(Stdio::piped()))?;
        let said = server.0.stdout.take().ok_or("no output")?;
        listens(BufReader::new(said))?;
        let (kind, size) = match subject.kind {
            Kind::Send => ("send", subject.size - HEADER),
            Kind::Write => ("write", subject.size),
            Kind::Read => ("read", subject.size),
            Kind::Latency => ("latency", LATENCY_PAYLOAD),
        };
        let mut client = self.command("smbd-perf");
        client
            .args([&at, kind, "--json", "--time", "1.5", "--warm-up", "0.3", "--size", &size.to_string()])
            .args(sizes)
            .args(["--depth", &subject.depth.to_string()]);
        let output = client.output()?;
        if !output.status.success() {
            // What went wrong is in the object, too, unless the command line did.
            let [object, said] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
            return Err(format!("smbd-perf {kind}: {object}{said}").into());
        }
        let result: Value = serde_json::from_slice(&output.stdout)?;
        let number = |path: &str| {
            result.pointer(path).and_then(Value::as_f64).ok_or(format!("smbd-perf has no {path}"))
        };
        let value = match subject.kind {
            Kind::Latency => number("/micros/p50")? / 2.0,
            // Bytes on the wire, as perftest counts them.
            Kind::Send => number("/operations_per_second")? * f64::from(subject.size) / 1e6,
            Kind::Write | Kind::Read => number("/megabytes_per_second")?,
        };
        let (posts, completions) = ("/for_each_operation/send_posts", "/for_each_operation/send_completions");
        Ok(Measured { value, posts: number(posts)?, completions: number(completions)? })
    }
}

/// Waits until smbd-echo says that it listens, which is not the first that it says.
fn listens(said: impl BufRead) -> Result<(), Failure> {
    for line in said.lines() {
        if line?.starts_with("listening on ") {
            return Ok(());
        }
    }
    Err("smbd-echo ended before it listened".into())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::listens;

    #[test]
    fn a_server_listens_when_it_says_so_and_not_before() {
        let mut said = &b"connections may take 1 MiB\nlistening on 10.9.0.9:1\nmore"[..];
        assert!(listens(&mut said).is_ok());
        let mut behind = String::new();
        said.read_to_string(&mut behind).expect("text");
        assert_eq!(behind, "more");
        assert!(listens(&b"connections may take 1 MiB\n"[..]).is_err());
    }
}
