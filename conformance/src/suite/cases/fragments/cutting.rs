//! How the subject fragments its messages.

use std::time::Duration;

use crate::suite::trace::hex;
use crate::suite::{Data, Peer, Play, Seen, Stop, Terms, Whole};

/// What a fragment should be.
struct Wanted<'a> {
    payload: &'a [u8],
    /// Bytes of the message that come behind it.
    behind: usize,
    max_send_size: usize,
}

/// Each byte of a fragment, field by field.
fn fragment(peer: &mut Peer<'_>, seen: &Seen, wanted: &Wanted<'_>) {
    let (bytes, header) = (&seen.message.bytes, seen.header);
    let (len, behind) = (wanted.payload.len(), wanted.behind);
    let mut field = |statements: &str, range: std::ops::Range<usize>, value: usize, name: &str| {
        let width = range.len();
        let came = bytes.get(range).unwrap_or_default();
        // The widths are 2 and 4, the least significant byte first.
        peer.check(statements, came == &value.to_le_bytes()[..width], || {
            format!("{name} should be {value}, its bytes are {}", hex(came))
        });
    };
    field("2.2.3-05 2.2.3-07", 4..6, 0, "Flags");
    field("2.2.3-09", 6..8, 0, "Reserved");
    let remaining = if behind == 0 { "2.2.3-12 3.1.5.4-17" } else { "3.1.5.4-18" };
    field(&format!("2.2-04 2.2.3-11 {remaining}"), 8..12, behind, "RemainingDataLength");
    field("2.2-04 2.2.3-15 3.1.5.4-11 3.1.5.4-12 3.1.5.4-14 3.1.5.4-19", 12..16, 24, "DataOffset");
    field("2.2-04 3.1.5.4-11 3.1.5.4-15 3.1.5.4-19", 16..20, len, "DataLength");
    field("2.2-09 2.2.3-18 2.2.3-19 3.1.5.4-20", 20..24, 0, "the padding");
    peer.check("3.1.5.4-19 3.1.5.4-21", bytes.get(24..) == Some(wanted.payload), || {
        format!(
            "{len} bytes of payload should come from byte 24 to the end, as they were sent, {header:?} came"
        )
    });
    let max = wanted.max_send_size;
    peer.check("3.1.5.4-13", bytes.len() <= max, || {
        format!("{} bytes came, MaxSendSize is {max}", bytes.len())
    });
}

pub(super) fn exactly(play: &mut Play) -> Result<(), Stop> {
    for size in [1024, 1001] {
        let mut terms = Terms::default();
        (terms.request.max_receive_size, terms.response.max_receive_size) = (size, size);
        let mut peer = play.established_on(&terms)?;
        let max = peer.subject_send_size()? as usize;
        let most = max - 24;
        for (seed, len) in (0..).zip([1, 7, most - 1, most, most + 1, 2 * most, 2 * most + 1, 100_000]) {
            let question = peer.message_for(seed, len, len)?;
            peer.send_fragments(&question)?;
            let whole = peer.answered("3.1.5.4-10 3.1.5.4-21 3.1.5.4-23 3.1.5.4-24", &question)?;
            let (payload, len) = (&whole.payload, whole.payload.len());
            let (came, count) = (whole.fragments.len(), len.div_ceil(most));
            peer.check("3.1.5.4-10 3.1.5.4-15 3.1.5.4-23", came == count, || {
                format!("{len} bytes should come in {count} messages of {max} bytes, {came} came")
            });
            for (seen, (index, payload)) in whole.fragments.iter().zip(payload.chunks(most).enumerate()) {
                let behind = len - index * most - payload.len();
                fragment(&mut peer, seen, &Wanted { payload, behind, max_send_size: max });
            }
        }
    }
    Ok(())
}

pub(super) fn nothing_between(play: &mut Play) -> Result<(), Stop> {
    const BETWEEN: &str = "3.1.4.2-03 3.1.5.4-24";
    let mut peer = play.established_with(&Terms::default(), 2)?;
    let mut questions = vec![peer.message_for(1, 5000, 4000)?, peer.message(2, 100)?];
    for question in &questions {
        for fragment in peer.fragments(question)? {
            peer.send(&fragment.granting(0))?;
        }
    }
    while !questions.is_empty() {
        let mut whole = Whole::default();
        let mut total = None;
        loop {
            let seen = peer.expect_data(BETWEEN, Duration::from_secs(5))?;
            let header = seen.header;
            let says = header.data_length.saturating_add(header.remaining_data_length) as usize;
            // Between two messages anything may come; the first fragment says how long a message is.
            let came = whole.payload.len();
            let fits = if header.data_length == 0 {
                came == 0
            } else {
                says == total.get_or_insert(says).saturating_sub(came)
            };
            peer.require(BETWEEN, fits, || {
                format!("a fragment that continues the {came} bytes before it should come, {header:?} came")
            })?;
            let is_last = whole.take(seen);
            peer.send(&Data::probe())?;
            if is_last {
                break;
            }
        }
        let answered = questions.iter().position(|question| peer.is_answer(question, &whole.payload));
        let fits = answered.is_some_and(|place| place == 0 || !peer.answers_in_order());
        peer.require(BETWEEN, fits, || {
            format!("the answer to a message should come, {} other bytes came", whole.payload.len())
        })?;
        questions.remove(answered.unwrap_or_default());
    }
    Ok(())
}
