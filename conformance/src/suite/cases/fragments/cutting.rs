//! How the subject fragments its messages.

use std::time::Duration;

use crate::suite::layout::of_data;
use crate::suite::trace::hex;
use crate::suite::words::{self, Words};
use crate::suite::{Data, Peer, Play, Seen, Stop, Terms, Whole};

/// What a fragment should be.
struct Wanted<'a> {
    payload: &'a [u8],
    /// Bytes that it has room for, and that there are.
    len: usize,
    /// Bytes of the message that come behind it.
    behind: usize,
}

/// Each byte of a fragment, field by field.
fn fragment(peer: &mut Peer<'_>, seen: &Seen, wanted: &Wanted<'_>) {
    let (bytes, header) = (&seen.message.bytes, seen.header);
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let behind = number(wanted.behind);
    let remaining = if behind == 0 { "3.1.5.4-17 +2.2.3-12" } else { "3.1.5.4-18" };
    let offset = if header.data_offset % 8 == 0 { "3.1.5.4-14" } else { "2.2.3-15 3.1.5.4-12 3.1.5.4-14" };
    let offset = format!("{offset} +2.2.3-15 +3.1.5.4-11 +3.1.5.4-12");
    peer.layout(
        bytes,
        &[
            of_data::FLAGS.holds("3.1.5.1-14 +2.2.3-05 +2.2.3-07", 0),
            of_data::RESERVED.holds("2.2-06 2.2.3-09", 0),
            of_data::REMAINING_DATA_LENGTH.holds(remaining, behind),
            of_data::DATA_OFFSET.holds(&offset, 24),
            of_data::DATA_LENGTH.holds("3.1.5.4-15", number(wanted.len)),
        ],
    );
    is_placed(peer, seen, wanted.payload);
}

/// The payload is where the header says, behind padding of zeros.
fn is_placed(peer: &mut Peer<'_>, seen: &Seen, payload: &[u8]) {
    const PLACED: &str = "3.1.5.4-19 +2.2.3-18 +3.1.5.4-11 +3.1.5.4-21";
    let bytes = &seen.message.bytes;
    let padding = bytes.get(20..seen.header.data_offset as usize).unwrap_or_default();
    if padding.iter().any(|byte| *byte != 0) && !bytes.get(20..).is_some_and(|from| from.starts_with(payload))
    {
        peer.check("2.2-09 2.2.3-19 3.1.5.4-20", false, || {
            format!("the padding should be zero, it is {}", hex(padding))
        });
    } else {
        peer.check("+2.2-09 +2.2.3-19 +3.1.5.4-20", true, String::new);
    }
    if seen.payload() == payload {
        peer.check(PLACED, true, String::new);
        return;
    }
    // It is there, and the header says otherwise; or it is not there.
    let place = bytes.windows(payload.len().max(1)).position(|window| window == payload);
    let statements = match place {
        // Where the header ends, as if there was no padding.
        Some(20) => "2.2.3-18",
        Some(_) => "3.1.5.4-19",
        None => "3.1.5.4-21",
    };
    peer.check(statements, false, || {
        let place = words::number(place);
        format!(
            "{} bytes should come as they were sent, they begin at {place} of: {}",
            payload.len(),
            seen.words()
        )
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
            let whole = peer.answered("3.1.5.4-23 +3.1.5.4-10 +3.1.5.4-21 +3.1.5.4-24", &question)?;
            // What should come is known where it is what was sent.
            let payload = if peer.answers_in_order() { &question[..] } else { &whole.payload[..] };
            let len = payload.len();
            let (came, count) = (whole.fragments.len(), len.div_ceil(most));
            peer.check("3.1.5.4-15 +3.1.5.4-10", came <= count, || {
                format!("{len} bytes should come in {count} messages of {max} bytes, {came} came")
            });
            let too_long = whole.fragments.iter().find(|seen| seen.message.bytes.len() > max);
            peer.check("3.1.5.4-13", too_long.is_none(), || {
                format!(
                    "a message should have {max} bytes at most, MaxSendSize, {} came",
                    too_long.cloned().words()
                )
            });
            if came != count || too_long.is_some() {
                continue;
            }
            let mut rest = payload;
            for seen in &whole.fragments {
                let (header, len) = (seen.header, rest.len().min(most));
                let (own, behind) = (header.data_length as usize, header.remaining_data_length as usize);
                // One that has less than there is room for, and says so, is short and nothing else.
                let is_short = own < len && own.checked_add(behind) == Some(rest.len());
                let (payload, behind) = rest.split_at(if is_short { own } else { len });
                fragment(&mut peer, seen, &Wanted { payload, len, behind: behind.len() });
                rest = behind;
            }
        }
    }
    Ok(())
}

/// So many messages without data come between two fragments at most.
const EMPTIES_MAX: usize = 100;

pub(super) fn nothing_between(play: &mut Play) -> Result<(), Stop> {
    const BETWEEN: &str = "3.1.4.2-03 3.1.5.4-24";
    let mut peer = play.established_with(&Terms::default(), 2)?;
    let mut questions = vec![peer.message_for(1, 5000, 4000)?, peer.message(2, 100)?];
    for question in &questions {
        for fragment in peer.fragments(question)? {
            peer.send(&fragment.granting(0))?;
        }
    }
    let echo = peer.answers_in_order();
    while let Some(question) = questions.first() {
        let mut whole = Whole::default();
        let mut total = None;
        loop {
            let seen = peer.back("3.1.5.8-16", question.len(), Duration::from_secs(5))?;
            let came = whole.payload.len();
            let rest = question.get(came..).unwrap_or_default();
            let header = seen.header;
            let says = header.data_length.saturating_add(header.remaining_data_length) as usize;
            // Between two messages anything may come. Where what should come is not known, the first fragment says how long
            // it is.
            let between = match header.data_length {
                0 => came > 0,
                _ if echo => questions.iter().skip(1).any(|other| other.starts_with(seen.payload())),
                _ => says != total.get_or_insert(says).saturating_sub(came),
            };
            peer.require(BETWEEN, !between, || {
                format!(
                    "a fragment that continues the {came} bytes before it should come, {} came",
                    seen.words()
                )
            })?;
            peer.require("3.1.5.4-21", !echo || rest.starts_with(seen.payload()), || {
                format!("what was sent should come back, behind {came} bytes {} came", seen.words())
            })?;
            let over = peer.take_answer(&mut whole, seen, &questions);
            if whole.fragments.is_empty() {
                total = None;
            }
            // Each probe may be answered, and the rest be lost.
            let empties = whole.empties.len();
            peer.require("3.1.5.8-16", empties <= EMPTIES_MAX, || {
                format!("the rest of a message should come, {empties} messages without data came instead")
            })?;
            let is_last = if echo { whole.payload.len() >= question.len() } else { over };
            peer.send(&Data::probe())?;
            if is_last {
                break;
            }
        }
        let answered = questions.iter().position(|question| peer.is_answer(question, &whole.payload));
        let fits = answered.is_some_and(|place| place == 0 || !peer.answers_in_order());
        peer.require("3.1.5.4-21", fits, || {
            format!("the answer to a message should come, {} other bytes came", whole.payload.len())
        })?;
        questions.remove(answered.unwrap_or_default());
    }
    Ok(())
}
