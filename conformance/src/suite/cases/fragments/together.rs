//! Messages of both sides at the same time.

use std::slice::from_ref;
use std::time::Duration;

use super::settled;
use crate::suite::words;
use crate::suite::{Data, Next, Peer, Play, Question, Stop, Terms, Whole, pattern};

/// A credit has to come within this time.
const CREDIT_TIME: Duration = Duration::from_secs(10);

pub(super) fn many_small(play: &mut Play) -> Result<(), Stop> {
    let mut terms = Terms::default();
    terms.request.credits_requested = 4;
    terms.response.credits_requested = 4;
    let mut peer = play.established_on(&terms)?;
    let question = peer.message(1, 4096)?;
    for (index, byte) in question.chunks(1).enumerate() {
        peer.has_credit("3.1.5.9-07", CREDIT_TIME, &format!("after {index} fragments"))?;
        let remaining = u32::try_from(question.len() - index - 1).unwrap_or(u32::MAX);
        peer.send_now(&Data::of(byte).remaining(remaining))?;
    }
    peer.answered("3.1.5.8-17", &question)?;
    Ok(())
}

pub(super) fn empties_are_nothing(play: &mut Play) -> Result<(), Stop> {
    const NOTHING: &str = "3.1.5.8-24 +2.2.3-01";
    let mut peer = settled(play)?;
    let question = peer.message(2, 10)?;
    for _ in 0..5 {
        peer.send(&Data::empty().granting(1))?;
    }
    peer.send(&Data::of(&question))?;
    for _ in 0..5 {
        peer.send(&Data::empty().granting(1))?;
    }
    // In how many fragments each comes is for other cases.
    let mut came = vec![Whole::default()];
    while let Next::Message(message) = peer.next(Duration::from_secs(3)) {
        let seen = peer.as_data(message)?;
        let whole = came.last_mut();
        if whole.is_some_and(|whole| peer.take_answer(whole, seen, from_ref(&question))) {
            came.push(Whole::default());
        }
    }
    came.retain(|whole| !whole.fragments.is_empty());
    if came.is_empty() {
        peer.is_usable(question.len())?;
        peer.nothing_returned(question.len())?;
    }
    let answered = came.first().is_some_and(|whole| peer.is_answer(&question, &whole.payload));
    peer.check(NOTHING, came.len() == 1 && answered, || {
        let lengths = words::numbers(came.iter().map(|whole| whole.payload.len()));
        format!("the answer to one message should come, messages of these lengths came: {lengths}")
    });
    if let Some(upper) = peer.upper_if_seen() {
        upper.by_hand();
        let payload = pattern(2, 10);
        for data in [Data::empty().granting(1), Data::of(&payload), Data::empty()] {
            peer.send(&data)?;
        }
        peer.settle();
        let received: Vec<_> = peer.upper()?.received();
        peer.check("3.1.5.8-24", received == [payload], || {
            let lengths = words::numbers(received.iter().map(|message| message.len()));
            format!(
                "the upper layer should get one message of 10 bytes, it got some of these lengths: {lengths}"
            )
        });
    }
    Ok(())
}

pub(super) fn at_once(play: &mut Play) -> Result<(), Stop> {
    const COUNT: u64 = 20;
    in_the_middle(play)?;
    let mut peer = play.established_on(&Terms::default())?;
    let mut whole = Whole::default();
    let mut done = 0;
    let mut before_the_end = 0;
    let questions: Result<Vec<_>, _> =
        (0..COUNT).map(|seed| peer.message_for(seed, 65_536, 65_000)).collect();
    let mut questions = questions?;
    for question in questions.clone() {
        for fragment in peer.fragments(&question)? {
            before_the_end = whole.fragments.len() as u64 + done;
            peer.send(&fragment)?;
            while let Next::Message(message) = peer.next(Duration::ZERO) {
                let seen = peer.as_data(message)?;
                if peer.take_answer(&mut whole, seen, &questions) {
                    same(&mut peer, &std::mem::take(&mut whole), &mut questions);
                    done += 1;
                }
            }
        }
    }
    peer.check("2.2-02", before_the_end > 0, || {
        "the subject should send while the script sends, nothing came before its last message".into()
    });
    while done < COUNT {
        peer.keep_granting()?;
        let seen = peer.back("3.1.5.8-17", 65_536, CREDIT_TIME)?;
        if peer.take_answer(&mut whole, seen, &questions) {
            same(&mut peer, &std::mem::take(&mut whole), &mut questions);
            done += 1;
        }
    }
    Ok(())
}

/// The subject gets its credits while the script has begun a message and not finished it.
fn in_the_middle(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_with(&Terms::default(), 0)?;
    let (first, second) = (peer.message(50, 100)?, peer.message(51, 3000)?);
    peer.send(&Data::of(&first).granting(0))?;
    let mut fragments = peer.fragments(&second)?.into_iter();
    for (fragment, credits) in fragments.by_ref().take(2).zip([0, 5]) {
        peer.send(&fragment.granting(credits))?;
    }
    // Nothing more is granted until the echo is there.
    let mut whole = Whole::default();
    loop {
        let seen = peer.back("2.2-02", 100, Duration::from_secs(3))?;
        if peer.take_answer(&mut whole, seen, from_ref(&first)) {
            break;
        }
    }
    let answered = peer.is_answer(&first, &whole.payload);
    peer.check("3.1.5.8-24", answered, || {
        format!("the answer to the first message should come, {} other bytes came", whole.payload.len())
    });
    for fragment in fragments {
        peer.send(&fragment)?;
    }
    peer.answered("3.1.5.8-17 +2.2-02", &second)?;
    Ok(())
}

/// The answer to one of the messages that have none yet: to the first, where they come in order.
fn same(peer: &mut Peer<'_>, whole: &Whole, open: &mut Vec<Question>) {
    let place = open.iter().position(|question| peer.is_answer(question, &whole.payload));
    let right = place.is_some_and(|place| place == 0 || !peer.answers_in_order());
    peer.check("3.1.5.8-17 +2.2-02 +3.1.4.2-03 +3.1.5.8-24", right, || {
        format!(
            "the answer to one of {} messages should come, in its place, {} other bytes came",
            open.len(),
            whole.payload.len()
        )
    });
    if !open.is_empty() {
        open.remove(place.unwrap_or_default());
    }
}
