//! RDMA operations that the script's device refuses.

use std::fmt;
use std::sync::Arc;

use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};

use super::refused::either;
use crate::suite::rig::{Ability, Told};
use crate::suite::words::{self, Words};
use crate::suite::{Peer, Play, Stop, pattern};

/// What is wrong with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bad {
    /// Its token opens nothing.
    Token,
    /// It begins where the registered memory ends.
    Offset,
    /// It is one byte longer than what is registered.
    Length,
    /// Its memory was registered for the other verb.
    Right,
    /// Its memory is no longer registered.
    Gone,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token => "the token",
            Self::Offset => "the offset",
            Self::Length => "the length",
            Self::Right => "what the memory is registered for",
            Self::Gone => "that the memory is no longer registered",
        })
    }
}

const ALL: [Bad; 5] = [Bad::Token, Bad::Offset, Bad::Length, Bad::Right, Bad::Gone];
/// Bytes registered.
const LEN: u32 = 100;

pub(super) fn descriptors(play: &mut Play) -> Result<(), Stop> {
    for (verb, told) in [(RdmaVerb::Write, "3.1.4.5-06"), (RdmaVerb::Read, "3.1.4.6-06")] {
        for bad in ALL {
            play.step(format!("{}, wrong is {bad}", words::verb(verb)));
            let mut peer = play.established()?;
            let unchecked = (verb, bad) == (RdmaVerb::Read, Bad::Right);
            if !unchecked || peer.play().can(Ability::ReadRights) {
                operation(&mut peer, verb, bad, told)?;
            }
        }
        play.step("a new connection");
        let mut peer = play.established()?;
        let content = pattern(61, LEN as usize);
        let registered = peer.register(&content, right(verb, false))?;
        let descriptors: Arc<[_]> = registered.descriptors.clone().into();
        let answer = peer.ask(told, &either(verb, (0, LEN), &descriptors))?;
        let done = !matches!(answer, smbd_tools::exercise::Answer::Failed(_));
        peer.check(told, done, || format!("a new connection should work, {} came", answer.words()));
        peer.returns("3.1.7.1-02")?;
    }
    Ok(())
}

/// What the script's memory has to be registered for, or what would be wrong.
fn right(verb: RdmaVerb, wrong: bool) -> Access {
    if (verb == RdmaVerb::Read) == wrong { Access::Write } else { Access::Read }
}

fn operation(peer: &mut Peer<'_>, verb: RdmaVerb, bad: Bad, about: &str) -> Result<(), Stop> {
    let content = pattern(60, LEN as usize);
    let registered = peer.register(&content, right(verb, bad == Bad::Right))?;
    let Some(BufferDescriptorV1 { offset, token, length }) = registered.descriptors.first().copied() else {
        return Err(Stop::Broken("the script's device tells of no segment".into()));
    };
    if bad == Bad::Gone {
        peer.deregister(&registered)?;
    }
    let descriptor = match bad {
        Bad::Token => BufferDescriptorV1 { offset, token: Token(token.0 ^ 0x4000_0000), length },
        Bad::Offset => BufferDescriptorV1 { offset: offset.wrapping_add(length.into()), token, length },
        Bad::Length => BufferDescriptorV1 { offset, token, length: length + 1 },
        Bad::Right | Bad::Gone => BufferDescriptorV1 { offset, token, length },
    };
    let asked = either(verb, (0, descriptor.length), &[descriptor].into());
    peer.begin_asking(&asked)?;
    peer.ends("3.1.7.1-01");
    let now = peer.contents(registered.buffer);
    let name = words::verb(verb);
    peer.check("", now == content, || format!("{name}, wrong is {bad}: bytes of the script are changed"));
    let Some(upper) = peer.upper_if_seen() else { return Ok(()) };
    // Where a write is done when it is handed over, nobody knows of its fate but the script's device.
    let has_to_fail = verb == RdmaVerb::Read || upper.acknowledges_writes();
    peer.closed("3.1.7.1-01");
    let told = peer.told();
    let results: Vec<_> = told.iter().filter_map(|(_, told)| result_of(told)).collect();
    let right = matches!(results[..], [Err(_)]) || (!has_to_fail && results.len() == 1);
    peer.check(about, right, || {
        let results: Vec<_> = results.iter().map(words::result).collect();
        format!(
            "{name}, wrong is {bad}: one result, an error, should be told, told was: {}",
            words::numbers(results)
        )
    });
    Ok(())
}

fn result_of(told: &Told) -> Option<Result<(), smbd_core::error::OpError>> {
    if let Told::RdmaDone(_, result) = told { Some(*result) } else { None }
}
