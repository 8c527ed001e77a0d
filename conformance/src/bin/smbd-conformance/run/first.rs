//! What is done before the first case: whether there is a peer, and what its upper layers do.

use std::thread;
use std::time::Duration;

use smbd_conformance::catalogue::{Case, UnderTest};
use smbd_conformance::suite::{Liveness, SIDES, Upper};

use super::super::stage::Lost;
use super::super::target::UpperLayers;
use super::{Run, Unreached};

/// Looks at a peer that may not listen yet, and the time between two.
const STARTING_LOOKS: u32 = 11;
const PAUSE: Duration = Duration::from_millis(200);

impl Run<'_> {
    /// Looks whether there is a peer at all, before the first case; if not, what is missing, or the signal that came.
    pub(in super::super) fn reach(&mut self, chosen: &[&Case]) -> Result<Option<Unreached>, i32> {
        let known = &self.known;
        if !known.is_apart() {
            return Ok(None);
        }
        let mut sides = chosen.iter().flat_map(|case| known.arguments.choice.sides(case));
        let Some(role) = sides.find(|role| known.target.lacks(*role, None).is_none()) else {
            return Ok(None);
        };
        // A client whose connection ends while it mounts may be of no use any more. What looks for its upper layer ends none
        // so soon, and says whether it is there.
        if role == UnderTest::Initiator
            && matches!(known.arguments.target.upper_layers(), UpperLayers::Unknown(_))
        {
            return Ok(None);
        }
        self.look_for(role)
    }

    /// Whether there is a peer on this side; if not, what is missing, or the signal that came.
    fn look_for(&mut self, role: UnderTest) -> Result<Option<Unreached>, i32> {
        let name = self.known.target.name();
        Ok(match self.first_look(role) {
            // What is wrong with a negotiation is told by the cases.
            Ok(Liveness::Alive | Liveness::NoNegotiation { .. } | Liveness::NoAnswer { .. }) => None,
            Ok(Liveness::NoConnection { why, advice }) => {
                let advice = self.known.arguments.target.advice_on_no_connection().unwrap_or(advice);
                Some((format!("{name}: no connection: {why}"), Some(advice.to_owned())))
            }
            Ok(Liveness::NoRequest { why }) => {
                let advice = self.known.arguments.target.advice_on_no_request();
                Some((format!("{name}: no connection request came: {why}"), Some(advice)))
            }
            Err(Lost::Signal(signal)) => return Err(signal),
            Err(Lost::Hangs) => Some((format!("{name}: a call to the device does not return"), None)),
            Err(Lost::Panicked) => Some((format!("{name}: the first connection panicked"), None)),
        })
    }

    /// Looks at a peer that may have been started with this program, and may not listen yet.
    fn first_look(&mut self, role: UnderTest) -> Result<Liveness, Lost> {
        let looks = if self.known.arguments.target.may_be_starting() { STARTING_LOOKS } else { 1 };
        let unknown = Upper::Silent("nobody has looked at it yet".into());
        let mut looked = self.stage.look((role, 0), unknown.clone());
        for _ in 1..looks {
            if !matches!(looked, Ok(Liveness::NoConnection { .. })) {
                break;
            }
            thread::sleep(PAUSE);
            looked = self.stage.look((role, 0), unknown.clone());
        }
        looked
    }

    /// Finds out what the upper layers do, before the first case, if that is not known. If there is no peer, what is missing,
    /// or the signal that came.
    pub(super) fn look_at_upper_layers(&mut self) -> Result<Option<Unreached>, i32> {
        let choice = match self.known.arguments.target.upper_layers() {
            UpperLayers::Known(uppers) => {
                self.options.uppers = uppers;
                return Ok(None);
            }
            UpperLayers::Unknown(choice) => choice,
        };
        for role in SIDES {
            if self.known.target.lacks(role, None).is_some() {
                continue;
            }
            let found = match self.stage.detect(role, choice.clone()) {
                Ok(upper) => upper,
                Err(Lost::Signal(signal)) => return Err(signal),
                Err(Lost::Hangs) => Upper::Silent("a call to the device does not return".into()),
                Err(Lost::Panicked) => Upper::Silent("what looks for the upper layer panicked".into()),
            };
            if role == UnderTest::Initiator
                && matches!(found, Upper::Silent(_))
                && let Some(unreached) = self.look_for(role)?
            {
                return Ok(Some(unreached));
            }
            let text = found.to_string();
            eprintln!("{}: {text}", self.known.target.name());
            self.known.upper_layers.push(text);
            self.options.uppers = std::mem::take(&mut self.options.uppers).with(role, found);
        }
        Ok(None)
    }
}
