//! A report as one HTML page that needs nothing beside it: no network, no other file. It can be read without
//! scripts; with them it can be searched.
//!
//! # What is kept
//! Every case, statement and finding, and with each finding the bytes of the first variant that had it. Message sequences
//! are drawn of one play of each case and role, and of each play with findings that the ones before it had not, up to
//! [`DRAWN_MAX`] of a case. What repeats itself in a sequence is folded into one band, and so is the middle of a long one;
//! a recording has the first and last events only, as [`Trace`](crate::suite::trace::Trace) says. [`mod@super::json`] has
//! what is folded here. All cases over the simulator make a page of 3 to 4 MB.
//!
//! # What a peer sends
//! Bytes and texts of a peer get into the page. Everything is escaped by [`maud`], what cannot be seen or would change the
//! direction of text is replaced by its number, and the page forbids itself to load anything.

mod book;
mod bytes;
mod case;
mod diagram;
mod findings;
mod matrix;
mod page;
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
