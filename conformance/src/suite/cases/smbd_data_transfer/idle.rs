//! Idle connections.

use std::time::Duration;

use smbd_core::{Instant, Keepalive, Params};

use crate::suite::{Data, PATIENCE, Peer, Play, Seen, Stop, Terms};

const INTERVAL: Duration = Duration::from_secs(120);
/// The answer to a probe comes within this time.
const ANSWER: Duration = Duration::from_secs(5);

/// KeepaliveInterval 120 s, and 5 s for the answer.
pub(super) fn keepalive_of_the_text(params: &mut Params) {
    params.keepalive = Some(Keepalive { interval: INTERVAL, answer_timeout: ANSWER });
}

/// The next message, which should come 120 to 125 s after `from`, ask for an answer, and have nothing in it.
fn keepalive_response(peer: &mut Peer<'_>, statements: &str, from: Instant) -> Result<Seen, Stop> {
    let seen = peer.expect_data(statements, PATIENCE + 2 * ANSWER)?;
    let after = seen.message.at.saturating_since(from);
    peer.check(statements, (INTERVAL..=INTERVAL + ANSWER).contains(&after), || {
        format!(
            "a message should come 120 to 125 s after the last one of the script, it came after {after:?}"
        )
    });
    bare(peer, &seen, statements, 1);
    Ok(seen)
}

/// A message without data, and its flags.
fn bare(peer: &mut Peer<'_>, seen: &Seen, statements: &str, flags: u16) {
    let header = seen.header;
    peer.check(statements, header.flags.0 == flags, || {
        format!("Flags should be {flags}, they are {}", header.flags.0)
    });
    let nothing = [header.data_offset, header.data_length, header.remaining_data_length] == [0; 3];
    peer.check(statements, header.credits_requested >= 1 && nothing, || {
        format!("CreditsRequested should be 1 at least and all about data 0, it is {header:?}")
    });
}

/// A connection whose subject has credits.
fn with_credits(play: &mut Play) -> Result<Peer<'_>, Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    peer.send(&Data::empty())?;
    Ok(peer)
}

pub(super) fn client(play: &mut Play) -> Result<(), Stop> {
    let mut peer = with_credits(play)?;
    peer.play().pass(INTERVAL - Duration::from_secs(1));
    peer.send(&Data { flags: 1, ..Data::empty() })?;
    peer.post_receives(1)?;
    let answer = peer.expect_data("2.2.3-06 3.1.5.8-14", ANSWER)?;
    let header = answer.header;
    peer.check("2.2.3-06", header.credits_granted >= 1, || {
        "CreditsGranted of the answer should be 1 at least, it is 0".into()
    });
    peer.check("3.1.5.1-14", header.flags.0 == 0, || {
        format!("Flags should be 0, they are {}", header.flags.0)
    });
    let fields = [
        ("3.1.5.4-04", "Reserved", u32::from(answer.reserved()), 0),
        ("3.1.5.4-05", "RemainingDataLength", header.remaining_data_length, 0),
        ("3.1.5.4-06", "DataOffset", header.data_offset, 0),
        ("3.1.5.4-07", "DataLength", header.data_length, 0),
        ("3.1.5.4-08", "the length", u32::try_from(answer.message.bytes.len()).unwrap_or(u32::MAX), 20),
    ];
    for (statement, name, value, wanted) in fields {
        peer.check(statement, value == wanted, || format!("{name} should be {wanted}, it is {value}"));
    }
    Ok(())
}

pub(super) fn server(play: &mut Play) -> Result<(), Stop> {
    const EXPIRES: &str = "3.1.2.2-01 3.1.2.2-02 3.1.5.1-11 3.1.6.2-01 3.1.6.2-03 3.1.6.2-04";
    let mut peer = with_credits(play)?;
    let from = peer.last_said();
    keepalive_response(&mut peer, &format!("{EXPIRES} 3.1.5.6-21"), from)?;
    peer.play().pass(Duration::from_secs(4));
    peer.send(&Data { flags: 1, ..Data::empty().requesting(255).granting(1) })?;
    let answer = peer.expect_data("3.1.5.1-13", Duration::from_secs(6))?;
    bare(&mut peer, &answer, "3.1.5.1-13", 0);
    let from = peer.last_said();
    keepalive_response(&mut peer, &format!("{EXPIRES} 3.1.5.5-03"), from)?;
    Ok(())
}

pub(super) fn server_timeout(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.2.2-03 3.1.5.1-13 3.1.6.2-02";
    let mut peer = with_credits(play)?;
    let from = peer.last_said();
    let asked = keepalive_response(&mut peer, "3.1.2.2-03", from)?.message.at;
    peer.quiet_for(ALL, Duration::from_secs(4));
    let down = peer.down_within(asked, Duration::from_secs(17));
    peer.check(ALL, down, || "the connection should be down 17 s after the probe, it is up".into());
    Ok(())
}
