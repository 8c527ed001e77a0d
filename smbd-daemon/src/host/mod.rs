//! A host's RDMA: what is there, and what keeps clients from it.
//!
//! [`Facts`] are looked at and judge nothing, `check` judges them and looks at nothing.

mod check;
mod facts;
mod port;
mod system;

use std::net::SocketAddr;
use std::path::Path;

use smbd_verbs::device_addresses;

pub use check::check;
pub use facts::{Address, Device, Facts, Listening, Memory, Mount, PortState};

use crate::places::{Found, Over, Rule, wanted};
use port::Known;

/// The program that is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'t> {
    /// The name of its process, such as `smbd-gateway`.
    pub process: &'t str,
    /// Bytes that a connection takes of devices, at most.
    pub each: u64,
    /// Connections that it lets in.
    pub connections: u32,
}

/// Looks at all of it. A program that runs already is what is looked at where there is a difference: its limits, its ports.
#[must_use]
pub fn look<T>(subject: Subject<'_>, rules: &[Rule<T>]) -> Facts {
    let root = Path::new("/");
    let running = system::running(root, subject.process);
    let found = device_addresses().map_err(|error| error.to_string());
    let known: Vec<Found> = found.iter().flatten().cloned().map(Found::from).collect();
    let ask = |at: SocketAddr| {
        let is_of_device = known.iter().any(|found| found.address == at.ip());
        Listening { at, state: port::state(at, Known { is_running: running.is_some(), is_of_device }) }
    };
    let rdma = wanted(rules, &known).into_keys().filter(|(over, _)| *over == Over::Rdma);
    let listeners = rdma.map(|(_, at)| ask(at)).collect();
    let addresses = found.map(|found| {
        let known = found.into_iter().map(|found| Address {
            address: found.address,
            speed_mbit: system::speed_mbit(root, &found.interface),
            interface: found.interface,
            device: found.device,
        });
        known.collect()
    });
    let (locked_max, is_exempt) = system::locked_memory(root, running.as_deref().unwrap_or("self"));
    let memory = Memory { locked_max, is_exempt, each: subject.each, connections: subject.connections };
    Facts { devices: system::devices(root), addresses, listeners, memory }
}

/// Whether ksmbd is running. Its module may be loaded without that.
#[must_use]
pub fn has_ksmbd() -> bool {
    system::has_ksmbd(Path::new("/"))
}

/// What is mounted over SMB Direct.
#[must_use]
pub fn mounts() -> Vec<Mount> {
    system::mounts(Path::new("/"))
}
