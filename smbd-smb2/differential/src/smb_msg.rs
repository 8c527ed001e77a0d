//! The crate `smb-msg`: a header and a body at once.

use std::io::Cursor;
use std::panic::catch_unwind;

use binrw::{BinRead, BinWrite};
use smb_msg::{PlainRequest, PlainResponse};

use crate::{Again, Kind};

/// It is asked for every command.
pub fn again(element: &[u8], (_, is_response): Kind) -> Option<Again> {
    let bytes = element.to_vec();
    // Some of its assertions are about what a peer sends.
    let result = catch_unwind(move || if is_response { response(&bytes) } else { request(&bytes) });
    Some(result.unwrap_or_else(|_| Err("it panics".into())))
}

fn request(element: &[u8]) -> Again {
    let message = PlainRequest::read(&mut Cursor::new(element)).map_err(|error| short(&error.to_string()))?;
    let mut out = Cursor::new(Vec::new());
    message.write(&mut out).map_err(|error| short(&error.to_string()))?;
    Ok(out.into_inner())
}

fn response(element: &[u8]) -> Again {
    let message =
        PlainResponse::read(&mut Cursor::new(element)).map_err(|error| short(&error.to_string()))?;
    let mut out = Cursor::new(Vec::new());
    message.write(&mut out).map_err(|error| short(&error.to_string()))?;
    Ok(out.into_inner())
}

/// What is wrong with the variant that the command means, without colours. An error tells all that the others are not.
fn short(error: &str) -> String {
    let plain: String =
        error.split('\x1b').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
    let is_reason = |line: &&str| {
        let is_other = line.contains("matches!") || line.contains("no variants matched at 0x40");
        !is_other
            && ["Error:", "Unexpected value", "While parsing field"].iter().any(|word| line.contains(word))
    };
    let lines =
        plain.lines().filter(is_reason).map(|line| line.trim_matches(|c: char| !c.is_ascii_alphanumeric()));
    lines.collect::<Vec<_>>().join("; ")
}
