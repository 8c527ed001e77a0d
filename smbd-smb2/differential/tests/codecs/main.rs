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
const OTHERWISE: &[(&str, &str, &str, &str)] = &[];

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

mod messages;
