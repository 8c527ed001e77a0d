//! Invalidations that are none.
//!
//! A message can invalidate a token of the receiver. The device of the receiver carries that out, before anybody is asked:
//! siw checks nothing and tells nobody. rxe's kernel does not survive a token that is not valid (docs/hostile.md), so
//! nothing is played there.

use std::time::Duration;

use smbd_conformance::suite::{Data, pattern};
use smbd_core::{Access, Token};
use smbd_tools::exercise::{Answer, Request};
use smbd_verbs::quirks::Invalidate;

use super::raw::{Id, Raw, Seen};
use super::siege::Siege;
use crate::case::{Context, Failure, Outcome, Skipped};
use crate::device;
use crate::patience::PATIENCE;

pub(super) fn nonsense(context: &Context) -> Outcome {
    let quirks = device::quirks(context.address)?;
    if quirks.invalidate == Invalidate::Free || quirks.invalidates_foreign {
        return Err(Skipped::because(format!("the kernel of {} does not survive it", quirks.name)));
    }
    wherever(context)
}

/// The same on any device.
pub(super) fn wherever(context: &Context) -> Outcome {
    let siege = Siege::begin(context, "invalidation")?;
    let mut raw = Raw::to(siege.echo.at)?;
    let mut outcomes = Vec::new();
    for (name, times, offered) in [("none", 1, false), ("twice", 2, true), ("three times", 3, true)] {
        let (id, _) = raw.established()?;
        let token = if offered { offered_token(&mut raw, id)? } else { Token(0x00c0_ffee) };
        let message = Data::of(&pattern(1, 50)).encode(255, 10);
        for _ in 0..times {
            raw.say_invalidating(id, &message, token)?;
        }
        // Taken without a word, or the end: either is well.
        let mut returned = 0;
        let until = raw.until(Duration::from_secs(2));
        let end = loop {
            match raw.next_until(id, until)? {
                Some(Seen::Message(bytes)) if bytes.len() > 24 => returned += 1,
                Some(Seen::Message(_)) => {}
                Some(Seen::Over | Seen::Failed) => break "ended",
                None => break "goes on",
            }
        };
        outcomes.push(format!("{name}: {returned} of {times} returned, {end}"));
        if end == "goes on" {
            raw.leave(id)?;
        }
    }
    siege.honest.goes_on(1)?;
    drop(raw);
    siege.end(outcomes.join("; "))
}

/// Has the server offer a buffer; its token.
fn offered_token(raw: &mut Raw, id: Id) -> Result<Token, Failure> {
    let request = Request::Offer { length: 4096, access: Access::ReadWrite, seed: 1 };
    raw.send(id, &Data::of(&request.encode(1)))?;
    loop {
        let Seen::Message(bytes) = raw.next(id, PATIENCE)? else {
            return Err("the connection ended instead of an offer".into());
        };
        let Some(payload) = bytes.get(24..).filter(|payload| !payload.is_empty()) else { continue };
        return match Answer::parse(payload)?.map(|answer| answer.what) {
            Some(Answer::Offered { descriptors, .. }) => {
                Ok(descriptors.first().ok_or("an offer without a descriptor")?.token)
            }
            other => Err(format!("instead of an offer came {other:?}").into()),
        };
    }
}
