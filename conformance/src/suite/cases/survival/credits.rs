//! As many credits as there can be, again and again.

use std::time::Duration;

use super::{Becomes, SHORT, alone};
use crate::suite::{Data, Grant, Peer, Play, Stop, Terms};

/// How often, and where time is real.
const ROUNDS: u64 = 300;
const ROUNDS_REAL: u64 = 60;
/// A credit comes within this time, or none does.
const CREDIT_TIME: Duration = Duration::from_secs(5);
const SUM: &str = "3.1.5.8-15";

fn rounds(play: &Play) -> u64 {
    if play.is_real() { ROUNDS_REAL } else { ROUNDS }
}

/// All credits are asked for in the negotiation.
fn greedy() -> Terms {
    let mut terms = Terms::default();
    (terms.request.credits_requested, terms.response.credits_requested) = (u16::MAX, u16::MAX);
    terms
}

/// What brings the subject's credits to 65535, if it has one left to be given.
fn missing(peer: &Peer<'_>) -> Grant {
    let missing = i64::from(u16::MAX).saturating_sub(peer.granted());
    u16::try_from(missing).map_or(Grant::Used, Grant::Claimed)
}

pub(super) fn all_asked_for(play: &mut Play) -> Result<(), Stop> {
    const WANTED: &str = "2.2.3-02";
    let rounds = rounds(play);
    alone(play, &greedy(), (Becomes::Up, WANTED), |peer, what| {
        for round in 0..rounds {
            *what = format!("CreditsRequested 65535 in {} messages", round + 1);
            // Most carry nothing: they are about credits alone.
            if round % 10 == 0 {
                peer.exchange(WANTED, round, SHORT)?;
            } else if !peer.try_send(&Data::empty())? {
                break;
            }
            let credits = peer.credits();
            peer.require(WANTED, credits <= i64::from(u16::MAX), || {
                format!("65535 credits were asked for altogether, the script has {credits}")
            })?;
        }
        Ok(())
    })
}

pub(super) fn all_granted(play: &mut Play) -> Result<(), Stop> {
    let rounds = rounds(play);
    // Never more than there can be.
    alone(play, &greedy(), (Becomes::Up, SUM), |peer, what| {
        for round in 0..rounds / 10 {
            *what = format!("{} grants that bring its credits to 65535", round + 1);
            let question = peer.message(round, SHORT)?;
            peer.settle();
            let grant = missing(peer);
            peer.send(&Data { grant, ..Data::of(&question) })?;
            peer.answered(SUM, &question)?;
        }
        Ok(())
    })?;
    // More than there can be, in every message.
    alone(play, &greedy(), (Becomes::Down, SUM), |peer, what| {
        let question = peer.message(1, SHORT)?;
        peer.settle();
        for round in 0..rounds {
            let data = if round % 2 == 0 { Data::of(&question) } else { Data { flags: 1, ..Data::empty() } };
            // Whoever has ended gives no credit.
            if !peer.credit_within(CREDIT_TIME) {
                break;
            }
            peer.send_now(&Data { grant: Grant::Claimed(u16::MAX), ..data })?;
            *what = format!("CreditsGranted 65535 in each of {} messages", round + 1);
        }
        Ok(())
    })
}
