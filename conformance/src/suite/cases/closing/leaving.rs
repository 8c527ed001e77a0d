//! The peer disconnects, or is disconnected.

use std::fmt;
use std::time::Duration;

use smbd_core::error::{CloseReason, ConnectError, Violation};
use smbd_core::{Close, Keepalive, Params};

use super::super::keepalive::is_asked;
use crate::suite::basis::Basis;
use crate::suite::rig::Opening;
use crate::suite::words::Words;
use crate::suite::{Data, EndEvent, Grant, Next, Peer, Play, Request, Response, Stop, Terms, pattern};

/// How far a connection gets before the script leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Connected,
    OwnNegotiationMessage,
    SubjectsNegotiationMessage,
    Data,
    WithinFragments,
    AnswerWaits,
}

const PLACES: [Place; 6] = [
    Place::Connected,
    Place::OwnNegotiationMessage,
    Place::SubjectsNegotiationMessage,
    Place::Data,
    Place::WithinFragments,
    Place::AnswerWaits,
];

/// How the script leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Disconnect,
    Drop,
}

const WAYS: [Way; 2] = [Way::Disconnect, Way::Drop];

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connected => "when it is connected",
            Self::OwnNegotiationMessage => "behind the script's negotiation message",
            Self::SubjectsNegotiationMessage => "behind the subject's negotiation message",
            Self::Data => "behind a message with data",
            Self::WithinFragments => "between fragments",
            Self::AnswerWaits => "while a message waits for a credit",
        })
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disconnect => "the script disconnects",
            Self::Drop => "the connection is dropped",
        })
    }
}

impl Way {
    /// Where nothing can be dropped, it is disconnected. Whether it was.
    fn go(self, peer: &mut Peer<'_>) -> Result<bool, Stop> {
        match self {
            Self::Disconnect => peer.disconnect().map(|()| true),
            Self::Drop => match peer.cut() {
                Err(Stop::NotApplicable(_)) => peer.disconnect().map(|()| true),
                done => done.map(|()| false),
            },
        }
    }
}

impl Place {
    fn reach(self, play: &mut Play) -> Result<Peer<'_>, Stop> {
        let accepts = play.subject_accepts();
        match self {
            Self::Connected => play.connect(),
            Self::OwnNegotiationMessage => {
                let mut peer = play.connect()?;
                if accepts {
                    peer.request(&Request::default())?;
                } else {
                    peer.asked("")?;
                    peer.respond(&Response::default())?;
                }
                Ok(peer)
            }
            Self::SubjectsNegotiationMessage => {
                let mut peer = play.connect()?;
                if accepts {
                    peer.request(&Request::default())?;
                    peer.response("")?;
                } else {
                    peer.asked("")?;
                }
                Ok(peer)
            }
            Self::Data => {
                let mut peer = play.established()?;
                peer.send(&Data::of(&pattern(1, 100)))?;
                Ok(peer)
            }
            Self::WithinFragments => {
                let mut peer = play.established()?;
                for fragment in peer.fragments(&pattern(2, 3000))?.iter().take(2) {
                    peer.send(fragment)?;
                }
                Ok(peer)
            }
            Self::AnswerWaits => {
                let mut terms = Terms::default();
                // Which the initiator spends on its first message.
                terms.response.credits_granted = 1;
                let mut peer = play.established_on(&terms)?;
                let question = peer.message_for(3, 3000, 3000)?;
                for fragment in peer.fragments(&question)? {
                    peer.send(&Data { grant: Grant::Claimed(0), ..fragment })?;
                }
                Ok(peer)
            }
        }
    }

    /// Whether the subject's upper layer has a connection there: always, never, or as it comes.
    const fn announced(self, subject_accepts: bool) -> Option<bool> {
        match (self, subject_accepts) {
            (Self::Connected, _) | (Self::SubjectsNegotiationMessage, false) => Some(false),
            (Self::OwnNegotiationMessage, _) => None,
            _ => Some(true),
        }
    }
}

/// On a new connection a message comes back.
fn works(play: &mut Play, statements: &str, seed: u64) -> Result<(), Stop> {
    let mut peer = play.connect_as(statements, &Opening::default())?;
    peer.negotiate(&Terms::default())?;
    peer.exchange(statements, seed, 100).map(|_| ())
}

pub(super) fn at_any_time(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.7.1-02 +3.1.7.2-01";
    for way in WAYS {
        for place in PLACES {
            play.step(format!("{way} {place}"));
            let mut peer = place.reach(play)?;
            way.go(&mut peer)?;
            let now = peer.play().now();
            let down = peer.down_within(now, Duration::from_secs(12));
            peer.check("", down, || "the script's own end should be down".into());
            peer.told_the_end("3.1.7.1-01");
        }
        works(play, ALL, 160)?;
    }
    Ok(())
}

/// Timers short enough to be waited for in turn.
pub(super) fn short_timers(params: &mut Params) {
    let (interval, answer_timeout) = (Duration::from_secs(3), Duration::from_secs(3));
    params.keepalive = Some(Keepalive { interval, answer_timeout });
    params.active_negotiation_timeout = Duration::from_secs(3);
    params.passive_negotiation_timeout = Duration::from_secs(3);
}

pub(super) fn told_once(play: &mut Play) -> Result<(), Stop> {
    for way in WAYS {
        for place in PLACES {
            lost(play, place, way)?;
        }
    }
    let accepts = play.subject_accepts();
    let mut peer = play.established()?;
    peer.settle();
    peer.send(&Data::empty().requesting(0))?;
    let zero = Violation::CreditsRequestedZero { section: "3.1.5.8" };
    closed_with(&mut peer, CloseReason::Violation(zero));

    let mut peer = play.established()?;
    peer.send(&Data::empty())?;
    peer.settle();
    // The probe comes; nobody answers.
    is_asked(&mut peer, Duration::from_secs(3))?;
    closed_with(&mut peer, CloseReason::KeepaliveTimeout);

    let mut peer = play.connect()?;
    let whose = if accepts { "3.1.7.1-01" } else { "3.1.4.1-15" };
    let told = peer.told_the_end(whose);
    let timeout = Some(EndEvent::NotConnected(ConnectError::Timeout));
    peer.check(whose, told == timeout, || {
        format!("connecting should fail for want of time, told was: {}", told.words())
    });

    let mut peer = play.established()?;
    peer.settle();
    let now = peer.play().now();
    peer.upper()?.endpoint_mut().close(now, Close::Abort);
    peer.ends("3.1.7.1-01");
    closed_with(&mut peer, CloseReason::Local);
    Ok(())
}

fn lost(play: &mut Play, place: Place, way: Way) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    play.step(format!("{way} {place}"));
    let mut peer = place.reach(play)?;
    if place != Place::OwnNegotiationMessage {
        peer.settle();
    }
    let disconnects = way.go(&mut peer)?;
    let is_real = peer.play().is_real();
    // Who wanted a connection and got none is told that; of a connection that was one its loss is told.
    let connecting = !accepts && place.announced(accepts) == Some(false);
    let whose = if connecting { "3.1.4.1-15" } else { "3.1.7.1-01" };
    let told = peer.told_the_end(whose);
    let (announced, as_closed) = match told {
        Some(EndEvent::NotConnected(ConnectError::PeerClosed)) => (false, true),
        Some(EndEvent::NotConnected(ConnectError::Lost { .. })) => (false, false),
        Some(EndEvent::Closed(CloseReason::PeerClosed)) => (true, true),
        Some(EndEvent::Closed(CloseReason::Lost { .. })) => (true, false),
        _ => {
            peer.check(whose, false, || {
                format!("{way} {place}: the end should be told as that, told was: {}", told.words())
            });
            return Ok(());
        }
    };
    // Not every real device can tell a close from a loss.
    peer.check(whose, place.announced(accepts) != Some(!announced), || {
        let what = if announced { "none" } else { "one" };
        format!("{way} {place}: there was {what}, told was: {}", told.words())
    });
    let reported = if disconnects { whose } else { "3.1.6.1-02" };
    peer.check(reported, as_closed == disconnects || is_real, || {
        let how = if disconnects { "closed by the peer" } else { "lost" };
        format!("{way} {place}: it should be told as {how}, told was: {}", told.words())
    });
    Ok(())
}

fn closed_with(peer: &mut Peer<'_>, reason: CloseReason) {
    let told = peer.closed("3.1.7.1-01");
    peer.check("3.1.7.1-01", told == Some(reason), || {
        let told = told.map_or_else(|| "nothing".into(), |told| told.to_string());
        format!("the reason should be: {reason}; told was: {told}")
    });
}

pub(super) fn after_the_end(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.5.8-07 +3.1.7.1-02";
    let mut peer = play.established()?;
    peer.settle();
    let many = peer.credits();
    if many < 3 {
        return Err(peer.play().without(Basis::Credits, format!("3 credits are needed, there are {many}")));
    }
    peer.upper()?.by_hand();
    peer.send_now(&Data::empty().requesting(0))?;
    for seed in [163, 164] {
        peer.send_now(&Data::of(&pattern(seed, 100)))?;
    }
    peer.ends(ALL);
    let reason = peer.closed("3.1.7.1-01");
    peer.check("3.1.5.8-07", matches!(reason, Some(CloseReason::Violation(_))), || {
        let told = reason.map_or_else(|| "nothing".into(), |reason| reason.to_string());
        format!("the script broke a rule, and that should be told; told was: {told}")
    });
    let received = peer.upper()?.received();
    peer.check(ALL, received.is_empty(), || {
        format!("no data should be told, {} messages were", received.len())
    });
    Ok(())
}

pub(super) fn a_hundred(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.7.1-02 +3.1.7.2-01";
    let mut first = None;
    for round in 0..100 {
        let mut peer = play.connect_as("3.1.7.2-04", &Opening::default())?;
        peer.request(&Request::default())?;
        let (response, message) = peer.response("3.1.7.2-04")?;
        peer.accepted("3.1.7.2-04", &response)?;
        let mut bytes = message.bytes;
        // How many credits there are may depend on what was granted before.
        bytes[10..12].fill(0);
        let usual = first.get_or_insert_with(|| bytes.clone());
        peer.same("3.1.7.2-01", &bytes, usual);
        peer.post_receives(10)?;
        let question = peer.message_for(round, 3000, 3000)?;
        peer.send_fragments(&question)?;
        peer.answered(ALL, &question)?;
        match round % 3 {
            0 => peer.disconnect()?,
            1 => {
                peer.say(&[0; 19])?;
                let now = peer.play().now();
                if !peer.down_within(now, Duration::from_secs(12)) {
                    peer.disconnect()?;
                }
            }
            _ => drop(Way::Drop.go(&mut peer)?),
        }
        while let Next::Message(_) = peer.next(Duration::from_secs(12)) {}
    }
    works(play, ALL, 165)
}
