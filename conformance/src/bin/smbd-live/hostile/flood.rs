//! Messages as fast as the device takes them.

use std::time::Duration;

use smbd_conformance::suite::{Data, pattern};

use super::raw::{Raw, Seen};
use super::siege::{ENDS, OPTIONS, Siege};
use crate::case::{Context, Outcome};

/// Messages of one flood.
const FLOOD: usize = 200;
const FLOODS: usize = 5;
/// What the log says of one: the device or the server was the first to see that there was no credit.
/// Where the server had not yet heard that the connection is up, the flood may end it as one that does not come up.
const SAID: [&str; 5] =
    ["message without a credit (3.1.5.8)", "failed: ", "lost", "by the client", "closed by the peer"];

/// Credits are not asked for, whatever is posted is overrun.
pub(super) fn without_credits(context: &Context) -> Outcome {
    let options = [OPTIONS, &["--credits", "8"]].concat();
    let siege = Siege::with(context, "flood", &options)?;
    let mut raw = Raw::to(siege.echo.at)?;
    let mut named = 0;
    for _ in 0..FLOODS {
        let mark = siege.echo.mark();
        let (id, _) = raw.established()?;
        let message = Data::of(&pattern(1, 100));
        for _ in 0..FLOOD {
            raw.send(id, &message)?;
        }
        raw.ended(id)?;
        let line = siege.echo.said_in_a_way(mark, &[&siege.attacker], &ENDS)?;
        if !SAID.iter().any(|words| line.contains(words)) {
            return Err(format!("expected one of {SAID:?} in its log, it says '{line}'").into());
        }
        named += usize::from(line.contains(SAID[0]));
    }
    drop(raw);
    siege.end(format!(
        "{FLOODS} times {FLOOD} messages, {named} named by the server, the others by the device"
    ))
}

/// How long probes are sent.
const QUESTIONS: Duration = Duration::from_secs(3);

/// Each message asks for an answer. That is allowed, and must cost nobody else anything.
pub(super) fn probes(context: &Context) -> Outcome {
    let siege = Siege::begin(context, "probes")?;
    let mut raw = Raw::to(siege.echo.at)?;
    let (id, terms) = raw.established()?;
    let until = raw.until(QUESTIONS);
    let (mut credits, mut asked, mut answers) = (u32::from(terms.credits), 0_u64, 0_u64);
    let probe = Data { flags: 1, ..Data::empty() }.encode(255, 1);
    loop {
        // As many as the credits allow, then whatever comes.
        while credits > 1 && asked < answers + 30 {
            raw.say(id, &probe)?;
            (credits, asked) = (credits - 1, asked + 1);
        }
        match raw.next_until(id, until)? {
            Some(Seen::Message(bytes)) => {
                answers += 1;
                credits += bytes.get(2..4).map_or(0, |at| u32::from(at[0]) | u32::from(at[1]) << 8);
            }
            Some(Seen::Over | Seen::Failed) => {
                return Err("probes are no reason to end a connection".into());
            }
            None => break,
        }
    }
    siege.honest.goes_on(1)?;
    raw.leave(id)?;
    drop(raw);
    siege.end(format!("{asked} probes, {answers} messages in answer"))
}
