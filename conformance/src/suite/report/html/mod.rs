//! A report as one HTML page that needs no network and no other file. It can be read without scripts, and searched with
//! them.
//!
//! # Content
//! Every case, statement and finding, and with each finding the bytes of the first variant that had it. Message
//! sequences are drawn of one play of each case and role, and of each play with findings that the ones before it had
//! not, up to [`DRAWN_MAX`] of a case. Repeated events of a sequence are folded into one band, and so is the middle of
//! a long one. A recording has the first and last events only: see [`Trace`](crate::suite::trace::Trace).
//! [`mod@super::json`] has the folded events. All cases over the simulator make a page of 3 to 4 MB.
//!
//! # Bytes and texts of a peer
//! The page contains bytes and texts of a peer. [`maud`] escapes everything. Invisible characters, and those that
//! change the direction of text, are replaced by their numbers. The content security policy of the page forbids it to
//! load anything.

mod book;
mod bytes;
mod case;
mod diagram;
mod findings;
mod matrix;
mod page;
mod peer;
#[cfg(test)]
mod tests;
mod words;

use std::fmt::Write as _;
use std::io::{self, Write};

use super::Report;

pub use case::DRAWN_MAX;

/// Writes it.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report, mut out: impl Write) -> io::Result<()> {
    out.write_all(visible(&page::page(report).into_string()).as_bytes())
}

/// The page with everything replaced by its number that is no character of HTML, cannot be seen, or changes the
/// direction of text. None of these is in the markup itself.
fn visible(page: &str) -> String {
    let mut shown = String::with_capacity(page.len());
    for character in page.chars() {
        if is_hidden(character) {
            // Writing to a String does not fail.
            _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

fn is_hidden(character: char) -> bool {
    match character {
        '\n' => false,
        // What changes direction or takes no room, and what is no character.
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fdd0}'..='\u{fdef}' => true,
        _ => character.is_control() || u32::from(character) & 0xFFFE == 0xFFFE,
    }
}
