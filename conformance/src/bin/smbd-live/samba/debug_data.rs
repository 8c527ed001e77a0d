//! What the kernel's client says of its connections, in `/proc/fs/cifs/DebugData`.

use std::fs;

use super::service::await_that;
use crate::case::Failure;

/// A connection over SMB Direct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Connection {
    /// Memory regions that can be used at once, and are used; there are two for each responder resource.
    pub(super) ready: u32,
    pub(super) used: u32,
    pub(super) responder_resources: u32,
    /// Whether it is established.
    pub(super) is_up: bool,
}

/// All connections over SMB Direct, channels included.
pub(super) fn connections() -> Result<Vec<Connection>, Failure> {
    let text = fs::read_to_string("/proc/fs/cifs/DebugData")?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Vec<Connection> {
    let mut found: Vec<Connection> = Vec::new();
    for line in text.lines() {
        if line.contains("SMBDirect (in hex) protocol version: 100") {
            let is_up = line.contains("transport status: 2");
            found.push(Connection { is_up, ..Connection::default() });
        } else if let Some(last) = found.last_mut() {
            let set = |field: &mut u32, name: &str| {
                if let Some(value) = number(line, name) {
                    *field = value;
                }
            };
            set(&mut last.responder_resources, "responder_resources:");
            set(&mut last.ready, "mr_ready_count:");
            set(&mut last.used, "mr_used_count:");
        }
    }
    found
}

/// The hexadecimal number behind a name.
fn number(line: &str, name: &str) -> Option<u32> {
    let (_, rest) = line.split_once(name)?;
    u32::from_str_radix(rest.split_whitespace().next()?, 16).ok()
}

/// Waits until no connection uses a memory region, and all of its regions can be used: an operation that was answered has gone, and
/// a region is made anew a little later.
pub(super) fn no_region_is_left() -> Result<Vec<Connection>, Failure> {
    let mut seen = Vec::new();
    let is_good = |one: &Connection| one.used == 0 && one.ready == 2 * one.responder_resources && one.is_up;
    let waited = await_that("connections without a registration", || {
        seen = connections()?;
        Ok(!seen.is_empty() && seen.iter().all(is_good))
    });
    match waited {
        Ok(_) => Ok(seen),
        Err(why) => Err(format!("{why}; {seen:?}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_over_smb_direct_has_its_own_numbers() {
        let text = "Servers: \n1) ConnectionId: 0x1\n\
            SMBDirect (in hex) protocol version: 100 transport status: 2\n\
            MR responder_resources: 20 max_frmr_depth: 100 mr_type: 0\n\
            MR mr_ready_count: 3e mr_used_count: 2\n\
            Extra Channels: 1\n\
            SMBDirect (in hex) protocol version: 100 transport status: 4\n\
            MR mr_ready_count: 0 mr_used_count: 0\n";
        let first = Connection { ready: 62, used: 2, responder_resources: 32, is_up: true };
        assert_eq!(parse(text), [first, Connection::default()]);
        assert_eq!(parse("1) ConnectionId: 0x1\nMR mr_ready_count: 3e mr_used_count: 2\n"), []);
    }
}
