//! The effects of an idle connection.

use std::time::Duration;

use smbd_core::wire::Flags;

use super::{
    INTERVAL, INTERVAL_MAX, able_to_speak, granted, has_flags, is_up, nothing_asks, silence_is_probed,
    slowly, unanswered_probe_ends,
};
use crate::suite::basis::Basis;
use crate::suite::words::{self, Words};
use crate::suite::{Data, Grant, Next, Play, Stop, Terms, pattern};

pub(super) fn probed(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let timed = if accepts { "3.1.2.2-02" } else { "3.1.2.2-02 +3.1.5.7-21" };
    let mut peer = slowly(play, &Terms::default())?;
    if accepts {
        peer.send(&Data::empty().granting(10))?;
    }
    peer.settle();
    let from = peer.last_said();
    silence_is_probed(&mut peer, from, INTERVAL..=INTERVAL_MAX, timed)?;
    peer.send(&Data::empty().granting(1))?;
    let from = peer.last_said();
    silence_is_probed(
        &mut peer,
        from,
        INTERVAL..=INTERVAL_MAX,
        "3.1.5.5-03 +3.1.1.1-03 +3.1.2.2-01 +3.1.6.2-05",
    )
}

pub(super) fn unanswered(play: &mut Play) -> Result<(), Stop> {
    let mut peer = able_to_speak(play)?;
    unanswered_probe_ends(&mut peer, INTERVAL, Duration::from_secs(12))
}

pub(super) fn unsent(play: &mut Play) -> Result<(), Stop> {
    let established = if play.subject_accepts() { "3.1.5.6-21" } else { "3.1.5.7-21" };
    let ended = format!("3.1.6.2-02 +{established}");
    // The script's last message is that of the negotiation, and nothing is granted behind it.
    let mut terms = Terms::default();
    terms.response.credits_granted = 1;
    let mut peer = slowly(play, &terms)?;
    let from = peer.last_said();
    let left = Duration::from_secs(8).saturating_sub(peer.play().now().saturating_since(from));
    let next = peer.next(left);
    peer.check("3.1.5.1-06", !matches!(next, Next::Message(_)), || {
        format!("nothing should come without a credit, {}", next.words())
    });
    // The interval, from the end of the negotiation on, and 5 s more.
    is_up(&mut peer, established, "8 s after the script's last message")?;
    peer.goes_down(&ended, from, "the script's last message", Duration::from_secs(17));
    let next = peer.next(Duration::ZERO);
    peer.check("3.1.5.1-06", !matches!(next, Next::Message(_)), || {
        format!("nothing should come before the end, {}", next.words())
    });
    Ok(())
}

/// Most messages that it takes until the script has no credit: 10, one in reserve, and some that grants lead to.
const MESSAGES_MAX: u64 = 40;

pub(super) fn mute(play: &mut Play) -> Result<(), Stop> {
    const UP: &str = "3.1.6.2-02";
    let mut peer = able_to_speak(play)?;
    peer.upper()?.by_hand();
    peer.upper()?.pause(true);
    for seed in 0..MESSAGES_MAX {
        if peer.credits() <= 0 {
            // A question may come that grants the credit for its answer.
            let Next::Message(message) = peer.next(2 * INTERVAL_MAX) else { break };
            let granted = peer.as_data(message)?.header.credits_granted;
            peer.require(UP, granted > 0, || {
                "a message that grants nothing came to a script without a credit".into()
            })?;
        }
        if peer.is_down() {
            break;
        }
        peer.send(&Data { grant: Grant::Used, ..Data::of(&pattern(seed, 10)) })?;
        peer.settle();
    }
    let credits = peer.credits();
    let next = if credits == 0 { peer.next(3 * INTERVAL_MAX) } else { Next::Down };
    if matches!(next, Next::Down) {
        let because = format!("the script has {credits} credits, and the connection may be down");
        return Err(peer.play().without(Basis::Quiet, because));
    }
    peer.check(UP, matches!(next, Next::Nothing), || {
        format!("a script that cannot answer should be asked nothing, {}", next.words())
    });
    is_up(&mut peer, UP, "with a script that has no credit")?;
    peer.upper()?.pause(false);
    let until = peer.play().now().saturating_add(INTERVAL);
    let mut asked = false;
    while !asked {
        let left = until.saturating_since(peer.play().now());
        let Next::Message(message) = peer.next(left) else { break };
        asked = peer.as_data(message)?.header.flags == Flags::RESPONSE_REQUESTED;
    }
    peer.check("3.1.6.2-04", asked, || "with a credit the script should be asked, it was not".into());
    peer.send(&Data::empty().granting(1))?;
    peer.settle();
    is_up(&mut peer, UP, "behind the answer")
}

pub(super) fn what_comes(play: &mut Play) -> Result<(), Stop> {
    const LIFE: &str = "3.1.2.2-01 +3.1.5.5-03";
    let mut peer = granted(play, 20)?;
    peer.upper()?.by_hand();
    let from = peer.last_said();
    let mut asked = None;
    for seed in 0..6 {
        // Half seconds, so that no message is due when the probe is.
        let at = from.saturating_add(Duration::from_millis(500 + 1000 * seed));
        while asked.is_none() {
            let left = at.saturating_since(peer.play().now());
            let Next::Message(message) = peer.next(left) else { break };
            let seen = peer.as_data(message)?;
            let after = seen.message.at.saturating_since(from);
            if after < INTERVAL {
                has_flags(&mut peer, "3.1.5.1-14", &seen, 0);
            } else {
                asked = Some(seen);
            }
        }
        is_up(&mut peer, LIFE, "while only the subject sends")?;
        let sent = peer.upper()?.send(pattern(seed, 10), None);
        peer.require("3.1.5.1-17", sent.is_ok(), || {
            format!("the upper layer's message should be taken: {}", words::result(&sent))
        })?;
    }
    let seen = match asked {
        Some(seen) => seen,
        None => peer.expect_data(LIFE, INTERVAL_MAX)?,
    };
    let after = seen.message.at.saturating_since(from);
    has_flags(&mut peer, LIFE, &seen, 1);
    peer.check(LIFE, (INTERVAL..=INTERVAL_MAX).contains(&after), || {
        let after = after.words();
        format!("the probe should come 5 to 7 s after the script's last message, it came after {after}")
    });
    Ok(())
}

pub(super) fn kept_away(play: &mut Play) -> Result<(), Stop> {
    const AWAY: &str = "3.1.5.5-03 +3.1.2.2-01 +3.1.5.5-04";
    let mut peer = able_to_speak(play)?;
    for _ in 0..5 {
        let until = peer.play().now().saturating_add(Duration::from_secs(3));
        nothing_asks(&mut peer, AWAY, until)?;
        is_up(&mut peer, AWAY, "while the script sends")?;
        peer.send(&Data::empty().granting(0))?;
    }
    if peer.granted() <= 0 {
        let because = "the subject has spent the credit it would ask with".into();
        return Err(peer.play().without(Basis::Quiet, because));
    }
    Ok(())
}
