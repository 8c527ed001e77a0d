//! Each message, through each codec.

use smbd_smb2::wire::*;
use smbd_smb2_differential::{Again, Kind, smb_msg, smb_server, smb2};

type Codec = (&'static str, fn(&[u8], Kind) -> Option<Again>, Option<fn(&[u8]) -> Again>);

const CODECS: [Codec; 3] = [
    ("smb-msg", smb_msg::again, None),
    ("smb2", smb2::again, Some(smb2::failure)),
    ("smb-server", smb_server::again, Some(smb_server::failure)),
];

/// Where a codec does otherwise: its name, the message, what happens, and why that is no fault of smbd-smb2's.
const OTHERWISE: &[(&str, &str, &str, &str)] = &[
    (
        "smb-msg",
        "create request",
        "Unexpected value for enum: 9",
        "2.2.13 has other numbers of oplock levels",
    ),
    ("smb-msg", "create request with contexts", "Unexpected value for enum: 9", "2.2.13, as before"),
    ("smb-msg", "create response", "Unexpected value for enum: 8", "2.2.14, as before"),
    ("smb-msg", "create response with a context", "Unexpected value for enum: 8", "2.2.14, as before"),
    ("smb-msg", "read request", "padding: 0", "2.2.19: it writes no Padding, whatever it read"),
    (
        "smb-msg",
        "read request by RDMA",
        "channel == CommunicationChannel :: None",
        "2.2.19: it has no channel",
    ),
    (
        "smb-msg",
        "read response by RDMA",
        "_data_length > 0",
        "2.2.20: data that went by a channel is not in the message",
    ),
    (
        "smb-msg",
        "write request",
        "got: 112",
        "2.2.21: it keeps no data; whoever sends the message appends it",
    ),
    (
        "smb-msg",
        "write request by RDMA",
        "channel == CommunicationChannel :: None",
        "2.2.21: it has no channel",
    ),
    (
        "smb-msg",
        "oplock acknowledgment",
        "_structure_size == 12u16",
        "2.2.24.1: StructureSize is 24, FileId 16 bytes",
    ),
    ("smb-msg", "oplock break", "_structure_size == 12u16", "2.2.23.1, as before"),
    (
        "smb-msg",
        "failure of QUERY_INFO",
        "another meaning",
        "3.3.4.4: the status tells a failure from an answer of 9 bytes; it does not ask",
    ),
    ("smb-msg", "failure with data", "another meaning", "3.3.4.4, as before"),
    (
        "smb2",
        "read request by RDMA",
        "Inside",
        "2.2.19: it leaves ReadChannelInfoOffset 0, to be filled in by its caller",
    ),
    (
        "smb-msg",
        "create request, reconnect",
        "While parsing field 'data' in CreateContextRequest",
        "2.2.13.2: it takes DHNc for the name, which is DHnC",
    ),
    (
        "smb-msg",
        "create response, lease",
        "lease_flags == 0",
        "2.2.14.2.10: BREAK_IN_PROGRESS is a flag of the first form as well",
    ),
    ("smb2", "lease acknowledgment", "expected 24, got 36", "2.2.24.2: it has no leases"),
    ("smb2", "lease break", "expected 24, got 44", "2.2.23.2, as before"),
    ("smb2", "lease break response", "expected 24, got 36", "2.2.25.2, as before"),
    ("smb2", "write request by RDMA", "WriteChannelInfoLength", "2.2.21: it keeps no channel info"),
    (
        "smb-server",
        "negotiate request 3.1.1",
        "got: 0",
        "2.2.3: it reads contexts apart from the message, and writes none",
    ),
    ("smb-server", "negotiate response 3.1.1", "got: 135", "2.2.4, as before"),
    ("smb-server", "negotiate request for RDMA", "got: 102", "2.2.3, as before"),
    ("smb-server", "negotiate response for RDMA", "got: 135", "2.2.4, as before"),
    ("smb-server", "write request by RDMA", "WriteChannelInfoLength", "2.2.21: it keeps no channel info"),
];

/// What a codec made of a message.
fn outcome(element: &[u8], again: Again, is_failure: bool) -> String {
    let again = match again {
        Ok(again) => again,
        Err(error) => return format!("refuses it: {error}"),
    };
    let (ours, theirs) = (Header::parse(element), Header::parse(&again));
    if ours != theirs {
        return format!("another header: {theirs:?}");
    }
    let is_response = ours.expect("our own").is_response();
    let (ours, theirs) = if is_failure || is_response {
        (format!("{:?}", Response::parse(element)), format!("{:?}", Response::parse(&again)))
    } else {
        (format!("{:?}", Request::parse(element)), format!("{:?}", Request::parse(&again)))
    };
    if ours == theirs { String::new() } else { format!("another meaning: {theirs}, not {ours}") }
}

#[test]
fn other_codecs_write_what_they_read_of_our_messages_with_the_same_meaning() {
    let mut found = Vec::new();
    let mut compared = 0;
    messages::each(|name, kind, element| {
        let is_failure = name.starts_with("failure");
        for (codec, again, failure) in CODECS {
            let again = match failure {
                Some(failure) if is_failure => Some(failure(element)),
                _ => again(element, kind),
            };
            let Some(again) = again else { continue };
            compared += 1;
            let outcome = outcome(element, again, is_failure);
            if !outcome.is_empty() {
                found.push((codec, name.to_owned(), outcome));
            }
        }
    });
    assert!(compared > 100, "{compared}");
    let mut news = Vec::new();
    for (codec, name, outcome) in &found {
        let known = OTHERWISE.iter().any(|(crate_name, message, what, _)| {
            crate_name == codec && message == name && outcome.contains(what)
        });
        if !known {
            news.push(format!("{codec}, {name}: {outcome}"));
        }
    }
    assert!(news.is_empty(), "{} of {compared}:\n{}", news.len(), news.join("\n"));
    let gone: Vec<_> = OTHERWISE
        .iter()
        .filter(|(codec, message, ..)| !found.iter().any(|(is, name, _)| is == codec && name == message))
        .collect();
    assert!(gone.is_empty(), "no longer otherwise: {gone:?}");
}

mod contexts;
mod data;
mod made;
mod messages;
mod values;
