//! `smbd-echo` in a process of its own.

use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;

use crate::case::Failure;
use crate::process::Process;

/// The program.
#[derive(Debug)]
pub(crate) struct Echo {
    process: Process,
    pub(crate) at: SocketAddr,
    /// Bytes that its connections may take altogether, as it says itself.
    pub(crate) room: u64,
}

impl Echo {
    /// Starts it at an address, with these options besides. What it says is kept in the folder of the run, as `echo-NAME.log`.
    pub(crate) fn start(name: &'static str, address: IpAddr, options: &[&str]) -> Result<Self, Failure> {
        let at = SocketAddr::new(address, 7000);
        let listen = at.to_string();
        let arguments = [&["--listen", &listen], options].concat();
        let process = Process::start("smbd-echo", format!("echo-{name}"), &arguments)?;
        process.said(0, &["listening on"])?;
        let line = process.said(0, &["connections take"])?;
        let bytes = line.split_once(" take ").and_then(|(_, rest)| rest.split_whitespace().next());
        let room = bytes.and_then(|bytes| bytes.parse().ok()).ok_or("it does not say what it may take")?;
        Ok(Self { process, at, room })
    }

    /// Ends it in good order; the last it says.
    pub(crate) fn stop(mut self) -> Result<String, Failure> {
        let mark = self.mark();
        self.process.terminate()?;
        let last = self.said(mark, &["connections: now"])?;
        self.process.wait()?;
        Ok(last)
    }
}

impl Deref for Echo {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}
