//! Answers to probes.

use std::time::Duration;

use super::{INTERVAL, able_to_speak, has_flags, is_asked, is_up, nothing_asks};
use crate::suite::trace::hex;
use crate::suite::words::Words;
use crate::suite::{Data, Play, Stop, pattern};

/// A probe is answered within this time.
const ANSWER_TIME: Duration = Duration::from_secs(5);

pub(super) fn does_not_ask(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    peer.settle();
    peer.send(&Data::probe())?;
    let answer = peer.answer("3.1.5.8-14 +2.2.3-06", ANSWER_TIME)?;
    has_flags(&mut peer, "3.1.5.1-14 +2.2.3-07", &answer, 0);
    // What is below is about empty messages.
    if answer.header.data_length > 0 {
        return Ok(());
    }
    let bytes = answer.message.bytes;
    let mut field = |statements: &str, range: std::ops::Range<usize>, name: &str| {
        let came = bytes.get(range).unwrap_or_default();
        peer.check(statements, came.iter().all(|byte| *byte == 0), || {
            format!("{name} of an empty answer should be 0, it is {}", hex(came))
        });
    };
    field("2.2-06 2.2.3-09 3.1.5.4-04", 6..8, "Reserved");
    field("3.1.5.4-05", 8..12, "RemainingDataLength");
    field("2.2.3-14 3.1.5.4-06", 12..16, "DataOffset");
    field("2.2.3-17 3.1.5.4-07", 16..20, "DataLength");
    peer.check("3.1.5.4-08", bytes.len() == 20, || {
        format!("an empty answer should have 20 bytes, it has {}", bytes.len())
    });
    peer.nothing_more("3.1.5.1-19")
}

pub(super) fn any_message(play: &mut Play) -> Result<(), Stop> {
    const ANSWERED: &str = "3.1.5.5-04 +3.1.5.5-03";
    let first = Data::of(&pattern(1, 1000)).remaining(2000);
    for answer in [Data::empty(), Data::of(&pattern(2, 8)), Data::probe(), first] {
        let mut peer = able_to_speak(play)?;
        is_asked(&mut peer, INTERVAL)?;
        peer.play().pass(Duration::from_secs(3));
        is_up(&mut peer, "3.1.5.1-13", "3 s after the probe")?;
        peer.send(&answer)?;
        let until = peer.last_said().saturating_add(Duration::from_secs(4));
        nothing_asks(&mut peer, "3.1.5.5-03", until)?;
        is_up(&mut peer, ANSWERED, "4 s after the answer")?;
    }
    Ok(())
}

pub(super) fn both_at_once(play: &mut Play) -> Result<(), Stop> {
    let mut peer = able_to_speak(play)?;
    is_asked(&mut peer, INTERVAL)?;
    peer.send(&Data::probe())?;
    let said = peer.last_said();
    let answer = peer.answer("3.1.5.8-14", ANSWER_TIME)?;
    has_flags(&mut peer, "3.1.5.1-14", &answer, 0);
    peer.nothing_more("3.1.5.1-19 +3.1.5.5-04")?;
    // The script's probe was an answer, too: the next one comes an interval later.
    let next = is_asked(&mut peer, INTERVAL)?;
    let after = next.message.at.saturating_since(said);
    peer.check("3.1.5.5-03", after >= INTERVAL, || {
        let after = after.words();
        format!("the next probe should come 5 s after the script's last message, it came after {after}")
    });
    Ok(())
}
