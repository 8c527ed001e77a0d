//! Names of Linux that Windows has not, and what they are called in SMB.
//!
//! Windows has no names with `"*:<>?\|`, with control characters, or with a space or a dot at the end. Characters of the private use area
//! stand for them (U+F001 to U+F01F, U+F020 to U+F029), with cifs (`mapposix`), with macOS, and here.

use alloc::string::String;

/// The first of the characters that stand for control characters.
const CONTROL: u32 = 0xF000;
/// What stands for what, besides.
const PAIRS: [(char, char); 8] = [
    ('\u{F020}', '"'),
    ('\u{F021}', '*'),
    ('\u{F022}', ':'),
    ('\u{F023}', '<'),
    ('\u{F024}', '>'),
    ('\u{F025}', '?'),
    ('\u{F026}', '\\'),
    ('\u{F027}', '|'),
];
const LAST_SPACE: char = '\u{F028}';
const LAST_DOT: char = '\u{F029}';

/// The SMB name of a file that Linux calls `name`.
#[must_use]
pub fn to_smb(name: &str) -> String {
    let end = name.chars().next_back().and_then(|last| match last {
        ' ' => Some(LAST_SPACE),
        '.' => Some(LAST_DOT),
        _ => None,
    });
    with_end(name.chars().map(of_posix).collect(), end)
}

/// The Linux name of a file that SMB calls `name`.
#[must_use]
pub fn to_posix(name: &str) -> String {
    let end = name.chars().next_back().and_then(|last| match last {
        LAST_SPACE => Some(' '),
        LAST_DOT => Some('.'),
        _ => None,
    });
    with_end(name.chars().map(of_smb).collect(), end)
}

/// A name with another last character.
fn with_end(mut name: String, end: Option<char>) -> String {
    if let Some(end) = end {
        name.pop();
        name.push(end);
    }
    name
}

fn of_smb(c: char) -> char {
    let control = u32::from(c).checked_sub(CONTROL).filter(|code| (1..0x20).contains(code));
    let control = control.and_then(char::from_u32);
    let pair = PAIRS.iter().find(|(smb, _)| *smb == c).map(|(_, posix)| *posix);
    control.or(pair).unwrap_or(c)
}

fn of_posix(c: char) -> char {
    let pair = PAIRS.iter().find(|(_, posix)| *posix == c).map(|(smb, _)| *smb);
    let control = || char::from_u32(CONTROL.saturating_add(c.into())).filter(|_| ('\u{1}'..' ').contains(&c));
    pair.or_else(control).unwrap_or(c)
}
