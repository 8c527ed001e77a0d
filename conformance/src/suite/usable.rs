//! Whether a connection is of use for what a case is about.

use std::time::Duration;

use super::basis::Basis;
use super::outcome::Stop;
use super::peer::{Next, Peer};
use super::waiting::QUIET;
use super::words::Words;

/// A message for which there was a credit met no receive.
const RECEIVED: &str = "3.1.5.9-08";

impl Peer<'_> {
    /// That the connection is up. Where it is down and a message of `len` bytes brings down any connection, the case can say
    /// nothing.
    ///
    /// # Errors
    /// It is down for a reason that other cases are about. Where it is down for another reason that is for the caller to say.
    pub fn is_usable(&mut self, len: usize) -> Result<(), Stop> {
        self.all_received()?;
        let stop = self.is_down().then(|| self.play.lacks(Basis::Echo(len), "the connection went down"));
        stop.flatten().map_or(Ok(()), Err)
    }

    /// That each message of the script has met a receive. Where some do not on any connection, the case can say nothing.
    pub(super) fn all_received(&mut self) -> Result<(), Stop> {
        let failures = self.failures().to_vec();
        if failures.is_empty() {
            return Ok(());
        }
        let because = format!("a message of the script was lost: {}", failures.words());
        self.play.lacks(Basis::Credits, &because).map_or(Ok(()), Err)
    }

    /// Something that should have been returned has not. Where a message of `len` bytes is not returned on a usual connection,
    /// either, the case can say nothing.
    ///
    /// # Errors
    /// It is not. Where it is, what that means is for the caller to say.
    pub fn nothing_returned(&mut self, len: usize) -> Result<(), Stop> {
        let stop = self.play.lacks(Basis::Echo(len), "what was sent does not come back");
        stop.map_or(Ok(()), Err)
    }

    /// There is a credit for the script within `time`: what `statements` are about, unless there never is one when all are spent.
    ///
    /// # Errors
    /// There is none.
    pub fn has_credit(&mut self, statements: &str, time: Duration, when: &str) -> Result<(), Stop> {
        let begin = self.play.now();
        if self.credit_within(time) {
            return self.require(statements, true, String::new);
        }
        self.is_usable(1)?;
        if !self.failures().is_empty() {
            self.nothing_lost(RECEIVED);
            return Err(Stop::Failed);
        }
        let waited = self.play.now().saturating_since(begin).words();
        let text = format!(
            "a credit should come for the script within {} {when}, none came in {waited}",
            time.words()
        );
        if let Some(stop) = self.play.lacks(Basis::Credits, &text) {
            return Err(stop);
        }
        self.require(statements, false, || text)
    }

    /// Nothing of the script's own work failed, and the connection is up: each message met a receive long enough.
    pub fn nothing_lost(&mut self, statements: &str) -> bool {
        let (failures, down) = (self.failures().to_vec(), self.is_down());
        if failures.is_empty()
            && let Err(stop) = self.is_usable(1)
        {
            self.play.set_aside(stop);
            return false;
        }
        self.check(statements, failures.is_empty() && !down, || {
            let state = if down { "down" } else { "up" };
            let failed = failures.words();
            format!("no message of the script should be lost: {failed} failed, and the connection is {state}")
        })
    }

    /// For 3 s no message comes but such that grant, which nobody has to be asked for.
    ///
    /// # Errors
    /// One is shorter than its header.
    pub fn nothing_more(&mut self, statements: &str) -> Result<(), Stop> {
        let until = self.play.now().saturating_add(QUIET);
        loop {
            let next = self.next(until.saturating_since(self.play.now()));
            match next {
                Next::Message(message) => {
                    let seen = self.as_data(message)?;
                    let grants = seen.header.data_length == 0 && seen.header.credits_granted > 0;
                    // Of a credit that was not there something is said where the message comes.
                    if !grants && seen.message.left >= 0 {
                        self.check(statements, false, || {
                            format!("no message should come that nobody asked for, {} came", seen.words())
                        });
                        return Ok(());
                    }
                }
                Next::Down => return Err(self.play.without(Basis::Echo(1), next.words())),
                Next::Nothing => {
                    self.check(statements, true, String::new);
                    return Ok(());
                }
            }
        }
    }
}
