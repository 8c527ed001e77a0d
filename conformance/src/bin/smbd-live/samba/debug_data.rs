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
    let (mut found, mut radix): (Vec<Connection>, u32) = (Vec::new(), 16);
    for line in text.lines() {
        let is_hexadecimal = line.contains("SMBDirect (in hex) protocol version: 100");
        // Linux 7.3 has decimal numbers and the name of the status.
        if is_hexadecimal || line.contains("SMBDirect protocol version: 0x100") {
            radix = if is_hexadecimal { 16 } else { 10 };
            let up = if is_hexadecimal { "transport status: 2" } else { "transport status: CONNECTED " };
            found.push(Connection { is_up: line.contains(up), ..Connection::default() });
        } else if let Some(last) = found.last_mut() {
            let set = |field: &mut u32, name: &str| {
                if let Some(value) = number(line, name, radix) {
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

/// The number behind a name.
fn number(line: &str, name: &str, radix: u32) -> Option<u32> {
    let (_, rest) = line.split_once(name)?;
    u32::from_str_radix(rest.split_whitespace().next()?, radix).ok()
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
        let of_7_3 = "SMBDirect protocol version: 0x100 transport status: CONNECTED (14)\n\
            MR responder_resources: 16 max_frmr_depth: 256 mr_type: 0x0\n\
            MR mr_ready_count: 32 mr_used_count: 10\n\
            SMBDirect protocol version: 0x100 transport status: DISCONNECTED (17)\n";
        let first = Connection { ready: 32, used: 10, responder_resources: 16, is_up: true };
        assert_eq!(parse(of_7_3), [first, Connection::default()]);
        assert_eq!(parse("1) ConnectionId: 0x1\nMR mr_ready_count: 3e mr_used_count: 2\n"), []);
    }
}
