//! Messages that are wrong, and what the log has to say about each.

use super::raw::{Id, Raw};
use super::siege::Siege;
use crate::case::Failure;

/// A wrong message.
#[derive(Clone, Debug)]
pub(super) struct Attack {
    pub(super) name: &'static str,
    /// Said one after the other.
    pub(super) messages: Vec<Vec<u8>>,
    /// One of these is what the log says.
    pub(super) said: &'static [&'static str],
}

/// Says what is wrong on a connection, waits for its end, and for the line of the log that names peer and rule: one with
/// one of the ways to end in it.
pub(super) fn play(
    siege: &Siege,
    raw: &mut Raw,
    id: Id,
    (mark, ends): (usize, &[&str]),
    attack: &Attack,
) -> Result<(), Failure> {
    let because = |failure: Failure| format!("{}: {failure}", attack.name);
    for message in &attack.messages {
        raw.say(id, message).map_err(because)?;
    }
    raw.ended(id).map_err(because)?;
    let line = siege.echo.said_in_a_way(mark, &[&siege.attacker], ends).map_err(because)?;
    if attack.said.iter().any(|words| line.contains(words)) {
        return Ok(());
    }
    Err(format!("{}: expected {:?} in its log, it says '{line}'", attack.name, attack.said).into())
}
