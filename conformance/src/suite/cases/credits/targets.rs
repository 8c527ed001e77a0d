//! How many credits are requested.

use smbd_core::Params;

use crate::suite::{Data, PATIENCE, Peer, Play, Seen, Stop, Terms};

/// Sends a message as long as messages may be, and reads its echo.
fn round(peer: &mut Peer<'_>, seed: u64, requested: u16, statements: &str) -> Result<(), Stop> {
    let size = peer.send_size()?.min(peer.subject_send_size()?) as usize;
    let question = peer.message(seed, size - 24)?;
    peer.send(&Data::of(&question).requesting(requested))?;
    peer.answered(statements, &question).map(|_| ())
}

pub(super) fn no_more_than_asked(play: &mut Play) -> Result<(), Stop> {
    // Where time is real, a message takes some of it.
    let rounds = if play.is_real() { 20 } else { 100 };
    let target = if play.subject_accepts() { "3.1.5.6-13" } else { "3.1.5.7-11" };
    for asked in [1, 2, 3, 10, 255_u16] {
        let mut terms = Terms::default();
        terms.request.credits_requested = asked;
        terms.response.credits_requested = asked;
        let mut peer = play.established_on(&terms)?;
        let most = i64::from(asked.max(3)) + 1;
        // With its first message an initiator grants for the first time.
        round(&mut peer, 1000, asked, "3.1.5.8-24")?;
        let first = peer.credits();
        let mut before = first;
        // What the negotiation grants is for others. Beyond what was asked for no more comes.
        let mut bounded = |peer: &mut Peer<'_>| {
            let credits = peer.credits();
            peer.check(&format!("3.1.5.9-02 +{target}"), credits <= most.max(before), || {
                format!(
                    "{asked} were asked for, so the script, which had {before}, should have {most} at most, it has {credits}"
                )
            });
            before = credits;
        };
        bounded(&mut peer);
        for seed in 0..rounds {
            round(&mut peer, seed, asked, "3.1.5.8-24")?;
            bounded(&mut peer);
        }
        peer.settle();
        bounded(&mut peer);
        let credits = peer.credits();
        peer.check("3.1.5.9-04", credits >= 1, || "the script should have a credit, it has none".into());
        // Its own maximum may be less than what is asked for; how many it posts without telling is not known.
        if asked >= 10 {
            let wanted = i64::from(asked).min(first);
            peer.check(&format!("+3.1.5.9-07 +{target}"), 2 * credits >= wanted, || {
                format!("{wanted} credits were there at first, so the script should have half of that, it has {credits}")
            });
        }
    }
    Ok(())
}

pub(super) fn changes(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    for seed in 0..300_u64 {
        let targets = [1, 65_535, 2, 10, 1, 1, 255];
        let target = targets[usize::try_from(seed % 7).unwrap_or(0)];
        round(&mut peer, seed, target, "3.1.5.8-24 +2.2.3-02 +3.1.5.8-12")?;
    }
    // The credits that are there are used up before the number is small.
    for seed in 0..300 {
        round(&mut peer, seed, 1, "3.1.5.8-24 +3.1.5.9-02 +3.1.5.9-03")?;
    }
    peer.settle();
    let credits = peer.credits();
    peer.check("3.1.5.8-12 +2.2.3-02 +3.1.5.9-02 +3.1.5.9-03", credits <= 4, || {
        format!("behind 300 messages with CreditsRequested 1 there should be 4 credits at most, there are {credits}")
    });
    for seed in 0..20 {
        round(&mut peer, seed, 255, "3.1.5.8-24 +3.1.5.8-12")?;
    }
    peer.settle();
    let credits = peer.credits();
    peer.check("3.1.5.8-12 +2.2.3-02", credits > 4, || {
        format!("behind 20 messages with CreditsRequested 255 there should be more than 4 credits, there are {credits}")
    });
    Ok(())
}

/// No implementation has this by itself.
const TARGET: u16 = 77;

pub(super) fn asks_for_77(params: &mut Params) {
    params.send_credit_target = TARGET;
}

fn asks(peer: &mut Peer<'_>, seen: &Seen) {
    let (requested, granted) = (seen.header.credits_requested, seen.header.credits_granted);
    // The target where the grants should be is in the wrong place.
    let broken = match requested {
        0 => "3.1.5.8-03",
        _ if granted == TARGET => "2.2.3-02 2.2.3-03",
        _ => "3.1.5.1-10",
    };
    peer.check(&format!("{broken} +2.2.3-02 +3.1.5.1-10"), requested == TARGET, || {
        format!("CreditsRequested should be {TARGET}, it is {requested}, and CreditsGranted {granted}")
    });
}

pub(super) fn asked_for(play: &mut Play) -> Result<(), Stop> {
    let statement = if play.subject_accepts() { "3.1.5.3-10" } else { "3.1.5.2-05" };
    let mut peer = play.established()?;
    peer.is_sound()?;
    let requested = peer.announced()?.credits_requested();
    peer.check(statement, requested == TARGET, || {
        format!("CreditsRequested should be {TARGET}, it is {requested}")
    });
    let question = peer.message_for(1, 3000, 3000)?;
    peer.send_fragments(&question)?;
    let whole = peer.answered("3.1.5.8-17", &question)?;
    for seen in whole.empties.iter().chain(&whole.fragments) {
        asks(&mut peer, seen);
    }
    peer.send(&Data::probe())?;
    let answer = peer.answer("3.1.5.8-14", PATIENCE)?;
    asks(&mut peer, &answer);
    let whole = peer.exchange("3.1.5.8-24", 2, 10)?;
    for seen in whole.empties.iter().chain(&whole.fragments) {
        asks(&mut peer, seen);
    }
    Ok(())
}
