//! Limits.

mod due;
mod noise;

use std::time::Duration;

use smbd_core::error::SendError;
use smbd_core::{Keepalive, Params};

use super::Entry;
use crate::suite::rig::Opening;
use crate::suite::words::{self, Words};
use crate::suite::{Announced, Data, Peer, Play, Request, Response, Stop, Terms, pattern};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("limits::values_that_can_never_be_negotiated_are_refused", impossible_values),
    Entry::new("limits::no_send_is_longer_than_windows_takes", longest_send),
    Entry::new("limits::the_peers_max_fragmented_size_is_kept", max_fragmented_size),
    Entry::new("limits::a_message_of_no_bytes_is_refused", no_bytes),
    Entry::new("limits::more_credits_than_places_in_the_send_queue", short_send_queue).with(four_places),
    Entry::new("limits::a_lower_target_leaves_the_last_credit_usable", lower_target),
    Entry::new("limits::noise_ends_a_connection_and_nothing_else", noise::ends_nothing_else),
];

/// A setting that no peer could take, and what its refusal names: the field, the value, the least and the greatest value.
type Impossible = (fn(&mut Params), [&'static str; 4]);

const NO_KEEPALIVE: Keepalive =
    Keepalive { interval: Duration::ZERO, answer_timeout: Duration::from_secs(5) };

const IMPOSSIBLE: [Impossible; 6] = [
    (|params| params.max_receive_size = 127, ["max_receive_size", "127", "128", "524280"]),
    (|params| params.max_send_size = 127, ["max_send_size", "127", "128", "8136"]),
    (
        |params| params.max_fragmented_recv_size = 131_071,
        ["max_fragmented_recv_size", "131071", "131072", "4294967295"],
    ),
    (|params| params.send_credit_target = 0, ["send_credit_target", "0", "2", "255"]),
    (|params| params.send_credit_target = 256, ["send_credit_target", "256", "2", "255"]),
    (
        |params| params.keepalive = Some(NO_KEEPALIVE),
        ["keepalive.interval", "0", "1", "18446744073709551615"],
    ),
];

fn impossible_values(play: &mut Play) -> Result<(), Stop> {
    // Whichever side is under test.
    const ALL: &str = "3.1.4.1-04 3.1.7.2-06";
    let statement = if play.subject_accepts() { "3.1.7.2-06" } else { "3.1.4.1-04" };
    for (settings, [field, value, min, max]) in IMPOSSIBLE {
        let refused = play.configure(settings)?.err();
        let text = refused.map(|error| error.to_string()).unwrap_or_default();
        let named = text.starts_with(&format!("{field} is {value}, must be {min} to {max} "));
        play.check(ALL, named, || {
            format!("{field} {value}: field, value and range should be named, not '{text}'")
        });
    }
    for target in [2, 255] {
        let taken = play.configure(|params| {
            (params.max_receive_size, params.max_send_size) = (128, 128);
            (params.max_fragmented_recv_size, params.send_credit_target) = (131_072, target);
        })?;
        play.check(ALL, taken.is_ok(), || {
            format!("the least values should be taken: {}", words::result(&taken))
        });
        let mut peer = play.established()?;
        peer.is_sound()?;
        let (credits, sizes) = match peer.announced()? {
            Announced::Request(all) => (
                all.credits_requested,
                [all.preferred_send_size, all.max_receive_size, all.max_fragmented_size],
            ),
            Announced::Response(all) => (
                all.credits_requested,
                [all.preferred_send_size, all.max_receive_size, all.max_fragmented_size],
            ),
        };
        peer.check(statement, credits == target && sizes == [128, 128, 131_072], || {
            let sizes = words::numbers(sizes);
            format!(
                "CreditsRequested {target} and sizes 128, 128, 131072 should come, {credits} and {sizes} came"
            )
        });
        peer.goes_on(statement)?;
    }
    Ok(())
}

fn longest_send(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    let (request, _) = peer.asked("")?;
    let size = request.preferred_send_size;
    // Note <5>: a property of Windows, which no statement makes a duty.
    peer.check("+2.2.1-12 +3.1.5.2-06", (128..=8136).contains(&size), || {
        format!("PreferredSendSize should be 128 to 8136, which Windows takes at most, it is {size}")
    });
    // Nobody is left waiting.
    peer.respond(&Response::default())
}

/// A connection whose script takes upper-layer messages of so many bytes, commanded by the case.
fn taking(play: &mut Play, max_fragmented_size: u32) -> Result<Peer<'_>, Stop> {
    let usual = Terms::many_credits();
    let terms = Terms {
        request: Request { max_fragmented_size, ..usual.request },
        response: Response { max_fragmented_size, ..usual.response },
        ..usual
    };
    let mut peer = play.established_on(&terms)?;
    // The acceptor knows of credits with the script's first message.
    peer.send(&Data::empty())?;
    peer.upper()?.by_hand();
    Ok(peer)
}

/// The subject's next message should be this one.
fn comes(peer: &mut Peer<'_>, statements: &str, payload: &[u8]) -> Result<(), Stop> {
    peer.echoed(statements, payload).map(|_| ())
}

fn max_fragmented_size(play: &mut Play) -> Result<(), Stop> {
    const REFUSED: &str = "3.1.4.2-02 3.1.5.4-03 +3.1.5.4-02";
    const LONGEST: &str = "3.1.4.2-01";
    let settled = if play.subject_accepts() { "3.1.5.6-15" } else { "3.1.5.7-17" };
    let mut peer = taking(play, 131_072)?;
    let longest = pattern(171, 131_072);
    let sent = peer.upper()?.send(longest.clone(), None);
    peer.check(LONGEST, sent.is_ok(), || format!("131072 bytes should be taken: {}", words::result(&sent)));
    let sent = peer.upper()?.send(pattern(172, 131_073), None);
    let too_long = SendError::TooLong { len: 131_073, max: 131_072 };
    peer.check("3.1.4.2-01 +3.1.4.2-02 +3.1.5.4-02 +3.1.5.4-03", sent == Err(too_long), || {
        format!("131073 bytes should be refused with length and limit: {}", words::result(&sent))
    });
    let text = too_long.to_string();
    peer.check("3.1.4.2-02", text.contains("131073") && text.contains("131072"), || text.clone());
    let short = pattern(173, 10);
    let sent = peer.upper()?.send(short.clone(), None);
    peer.check("3.1.4.2-02", sent.is_ok(), || format!("10 bytes should be taken: {}", words::result(&sent)));
    comes(&mut peer, "3.1.4.2-01", &longest)?;
    // Nothing of the long one comes before it.
    comes(&mut peer, REFUSED, &short)?;
    peer.goes_on("3.1.4.2-02")?;

    let mut peer = taking(play, u32::MAX)?;
    let negotiated = peer.upper()?.endpoint().connection().negotiated();
    let size = negotiated.map(|all| all.max_fragmented_send_size);
    peer.check("2.2-05", size == Some(u32::MAX), || {
        format!("MaxFragmentedSendSize should be {}, it is {}", u32::MAX, words::number(size))
    });
    let long = pattern(174, 1 << 20);
    let sent = peer.upper()?.send(long.clone(), None);
    peer.check(settled, sent.is_ok(), || format!("1 MiB should be taken: {}", words::result(&sent)));
    comes(&mut peer, settled, &long)
}

fn no_bytes(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.5.4-10";
    let mut peer = taking(play, 131_072)?;
    peer.settle();
    let sent = peer.upper()?.send(bytes::Bytes::new(), None);
    peer.check(ALL, sent == Err(SendError::Empty), || {
        format!("a message of no bytes should be refused: {}", words::result(&sent))
    });
    peer.quiet(ALL);
    let payload = pattern(175, 10);
    let sent = peer.upper()?.send(payload.clone(), None);
    peer.check("3.1.5.1-17", sent.is_ok(), || format!("10 bytes should be taken: {}", words::result(&sent)));
    let whole = peer.echoed("3.1.5.1-17", &payload)?;
    peer.check(ALL, whole.fragments.len() == 1 && whole.empties.is_empty(), || {
        format!(
            "one message should come, {} fragments and {} without data came",
            whole.fragments.len(),
            whole.empties.len()
        )
    });
    Ok(())
}

/// A send queue of 4 places, all for messages.
fn four_places(params: &mut Params) {
    params.send_slots = 4;
    (params.rdma_ops, params.rdma_slots) = (0, 0);
    (params.registrations, params.segments_max, params.registration_slots) = (0, 0, 0);
}

fn short_send_queue(play: &mut Play) -> Result<(), Stop> {
    const CREDITS: u16 = 2000;
    let opening = Opening { receives: CREDITS + 100, receive_len: 1024, ..Opening::default() };
    let terms = Terms::default().credits(CREDITS);
    let mut peer = play.established_as(&terms, &opening)?;
    let question = peer.message_for(176, 130_000, 100_000)?;
    peer.send_fragments(&question)?;
    peer.answered("3.1.5.1-17 +3.1.5.4-24", &question)?;
    peer.settle();
    peer.nothing_lost("3.1.5.1-17");
    Ok(())
}

fn lower_target(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.5.9-04";
    let mut peer = play.established_with(&Terms::default().credits(255), 0)?;
    peer.settle();
    let question = peer.message(177, 10)?;
    peer.send(&Data::of(&question).requesting(10).granting(1))?;
    let answer = peer.answered(ALL, &question)?;
    let Some(seen) = answer.fragments.first() else { return Ok(()) };
    peer.check("3.1.5.1-07 +3.1.5.9-04", seen.header.credits_granted > 0, || {
        format!("the last credit should go to a message that grants, {} came", seen.words())
    });
    Ok(())
}
