//! What has ended servers, not only connections: behind each step the subject has to serve a new connection.

mod credits;
mod lengths;
mod negotiation;
mod sequences;

use super::Entry;
use crate::suite::rig::Opening;
use crate::suite::{Peer, Play, Stop, Terms};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("survival::a_payload_far_outside_its_message", lengths::far_outside),
    Entry::new("survival::a_payload_of_gigabytes", lengths::gigabytes),
    Entry::new("survival::a_sequence_without_end", sequences::without_end),
    Entry::new("survival::a_sequence_that_announces_gigabytes", sequences::announces_gigabytes),
    Entry::new("survival::a_message_in_very_many_fragments", sequences::of_one_byte),
    Entry::new("survival::very_many_fragments_and_no_last_one", sequences::never_the_last),
    Entry::new("survival::all_credits_asked_for_in_every_message", credits::all_asked_for),
    Entry::new("survival::all_credits_granted_in_every_message", credits::all_granted),
    Entry::new("survival::a_negotiation_in_the_middle", negotiation::in_the_middle),
    Entry::new("survival::an_smb2_negotiate_in_the_middle", negotiation::of_smb2),
];

/// Bytes of a message for the upper layer, if it takes any so short: an SMB2 ECHO has few more.
const SHORT: usize = 60;

/// An end of the script that takes little memory: there are many of them.
fn opening() -> Opening {
    Opening { receives: 300, receive_len: 1024, send_len: 2048, ..Opening::default() }
}

/// As many of these as there is time for: all of them in virtual time.
fn some<'a, T>(play: &Play, all: &'a [T], real: usize) -> &'a [T] {
    let most = if play.is_real() { real } else { all.len() };
    all.get(..most).unwrap_or(all)
}

/// What has to become of a connection.
#[derive(Clone, Copy, Debug)]
enum Becomes {
    /// It is ended, and no message comes any more.
    Down,
    /// It goes on.
    Up,
    /// Either.
    Any,
}

/// One step: what is done on a connection on which nothing is under way, until `steps` say what it was. Then the connection has
/// become what it should, which is what `statements` say, and the subject lives. What fails in between stops the step and not
/// the case. A subject that did not live before is not judged.
fn alone(
    play: &mut Play,
    terms: &Terms,
    (becomes, statements): (Becomes, &str),
    steps: impl FnOnce(&mut Peer<'_>, &mut String) -> Result<(), Stop>,
) -> Result<(), Stop> {
    play.lives_before()?;
    let mut peer = play.established_as(terms, &opening())?;
    peer.settle();
    let (id, mut what, mut stands_behind) = (peer.id(), String::from("a connection"), None);
    match steps(&mut peer, &mut what) {
        Ok(()) => {
            // What was on its way before is passed over.
            peer.settle();
            let up = !peer.is_down();
            match becomes {
                Becomes::Down => drop(peer.ends(statements)),
                Becomes::Up => {
                    peer.check(statements, up, || {
                        format!("the connection should go on after {what}, it went down")
                    });
                }
                Becomes::Any => {}
            }
        }
        Err(Stop::Failed) => {}
        Err(Stop::NotJudged(why)) => stands_behind = Some(why),
        Err(stop) => return Err(stop),
    }
    if !peer.is_down() {
        peer.disconnect()?;
    }
    // A subject that died is the reason for all else.
    play.lives_after(id, &what)?;
    stands_behind.map_or(Ok(()), |why| Err(Stop::NotJudged(why)))
}
