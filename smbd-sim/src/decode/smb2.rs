//! Names the SMB2 command of an upper-layer message by its first bytes.

const HEADER_LEN: usize = 64;
const FLAG_RESPONSE: u32 = 1;
/// Requests of one compound that are named.
const COMPOUND_MAX: usize = 16;

mod field {
    use std::ops::Range;
    pub const COMMAND: Range<usize> = 12..14;
    pub const FLAGS: Range<usize> = 16..20;
    pub const NEXT_COMMAND: Range<usize> = 20..24;
}

const COMMANDS: [&str; 20] = [
    "NEGOTIATE",
    "SESSION_SETUP",
    "LOGOFF",
    "TREE_CONNECT",
    "TREE_DISCONNECT",
    "CREATE",
    "CLOSE",
    "FLUSH",
    "READ",
    "WRITE",
    "LOCK",
    "IOCTL",
    "CANCEL",
    "ECHO",
    "QUERY_DIRECTORY",
    "CHANGE_NOTIFY",
    "QUERY_INFO",
    "SET_INFO",
    "OPLOCK_BREAK",
    "SERVER_TO_CLIENT_NOTIFICATION",
];

fn le32(bytes: &[u8], at: std::ops::Range<usize>) -> u32 {
    bytes.get(at).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// An upper-layer message as far as its first bytes tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upper {
    /// "SMB2 CREATE request", all commands of a compound as far as they are in these bytes.
    pub name: String,
    /// Sent by the server; unknown when encrypted.
    pub response: Option<bool>,
}

/// Names a message by its first bytes; `None` when they are not SMB.
#[must_use]
pub fn name(bytes: &[u8]) -> Option<Upper> {
    match bytes.first_chunk::<4>()? {
        b"\xfdSMB" => Some(Upper { name: "SMB2 encrypted".into(), response: None }),
        b"\xfcSMB" => Some(Upper { name: "SMB2 compressed".into(), response: None }),
        b"\xfbSMB" => Some(Upper { name: "SMB2 RDMA transform".into(), response: None }),
        b"\xffSMB" => Some(Upper { name: "SMB1".into(), response: None }),
        b"\xfeSMB" => Some(compound(bytes)),
        _ => None,
    }
}

fn compound(bytes: &[u8]) -> Upper {
    let mut name = String::from("SMB2 ");
    let response = le32(bytes, field::FLAGS) & FLAG_RESPONSE != 0;
    let mut rest = bytes;
    for index in 0..COMPOUND_MAX {
        if rest.len() < HEADER_LEN || !rest.starts_with(b"\xfeSMB") {
            break;
        }
        if index > 0 {
            name.push_str(" + ");
        }
        let command = rest.get(field::COMMAND).and_then(|b| b.try_into().ok()).map_or(0, u16::from_le_bytes);
        match COMMANDS.get(usize::from(command)) {
            Some(known) => name.push_str(known),
            None => name.push_str(&format!("command {command}")),
        }
        let next = le32(rest, field::NEXT_COMMAND) as usize;
        match rest.get(next..) {
            Some(following) if next >= HEADER_LEN => rest = following,
            _ => break,
        }
    }
    if bytes.len() < HEADER_LEN {
        name.push_str("(header cut)");
    }
    name.push_str(if response { " response" } else { " request" });
    Upper { name, response: Some(response) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(command: u16, flags: u32, next: u32) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[..4].copy_from_slice(b"\xfeSMB");
        bytes[field::COMMAND].copy_from_slice(&command.to_le_bytes());
        bytes[field::FLAGS].copy_from_slice(&flags.to_le_bytes());
        bytes[field::NEXT_COMMAND].copy_from_slice(&next.to_le_bytes());
        bytes
    }

    #[test]
    fn a_compound_names_all_its_commands() {
        let mut bytes = header(5, 0, 64);
        bytes.extend(header(14, 4, 0));
        assert_eq!(
            name(&bytes).map(|upper| upper.name).as_deref(),
            Some("SMB2 CREATE + QUERY_DIRECTORY request")
        );
    }

    #[test]
    fn a_response_is_told_by_its_flag() {
        let upper = name(&header(0, 1, 0)).unwrap();
        assert_eq!((upper.name.as_str(), upper.response), ("SMB2 NEGOTIATE response", Some(true)));
    }

    #[test]
    fn a_next_command_that_points_back_or_outside_ends_the_list() {
        for next in [1, 63, 65, u32::MAX] {
            assert_eq!(name(&header(8, 0, next)).unwrap().name, "SMB2 READ request");
        }
    }

    #[test]
    fn other_bytes_have_no_name() {
        assert_eq!(name(b"NTLM"), None);
        assert_eq!(name(b"\xfeSM"), None);
        assert_eq!(name(b"\xfdSMB").unwrap().response, None);
    }
}
