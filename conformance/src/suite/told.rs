//! Events of the subject's upper layer, if it is part of this program.

use std::time::Duration;

use smbd_core::error::{CloseReason, ConnectError};
use smbd_core::{Instant, Outstanding};

use super::peer::Peer;
use super::rig::Told;

/// The upper layer hears of an end within this time, and of its being drained within the same again.
const TOLD_WITHIN: Duration = Duration::from_secs(12);
/// So long after that nothing more is told.
const SILENCE: Duration = Duration::from_secs(1);

/// How a connection ended, as the upper layer was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndEvent {
    /// It never was a connection.
    NotConnected(ConnectError),
    /// It was one.
    Closed(CloseReason),
}

impl EndEvent {
    const fn of(told: &Told) -> Option<Self> {
        match told {
            Told::ConnectFailed(error) => Some(Self::NotConnected(*error)),
            Told::Closed(reason) => Some(Self::Closed(*reason)),
            _ => None,
        }
    }
}

impl Peer<'_> {
    /// All that the upper layer was told, when; nothing where it cannot be looked at.
    pub fn told(&mut self) -> Vec<(Instant, Told)> {
        self.upper_if_seen().map(|upper| upper.told().to_vec()).unwrap_or_default()
    }

    /// Lets time pass until the upper layer was told such a thing; `false` if it was not within `time`.
    pub fn until_told(&mut self, time: Duration, wanted: impl Fn(&Told) -> bool) -> bool {
        let until = self.play().now().saturating_add(time);
        let mut step = Duration::from_micros(20);
        while !self.told().iter().any(|(_, told)| wanted(told)) {
            let left = until.saturating_since(self.play().now());
            if left.is_zero() {
                return false;
            }
            self.play().pass(step.min(left));
            step = (step * 2).min(Duration::from_millis(100));
        }
        true
    }

    /// Where the upper layer can be looked at: it is told of the end within 12 s, once, in the way that fits what it knew
    /// of the connection, and then nothing but that the connection is drained, with nothing left of it. `None` where it cannot be looked at, or if
    /// it was told nothing.
    pub fn told_the_end(&mut self, statements: &str) -> Option<EndEvent> {
        self.upper_if_seen()?;
        let ended = self.until_told(TOLD_WITHIN, |told| EndEvent::of(told).is_some());
        self.check(statements, ended, || {
            format!("the upper layer should be told of the end within {} s", TOLD_WITHIN.as_secs())
        });
        let drained = self.until_told(TOLD_WITHIN, |told| *told == Told::Drained);
        self.check(statements, drained || !ended, || {
            format!("{} s after its end the connection should be drained", TOLD_WITHIN.as_secs())
        });
        self.play().pass(SILENCE);
        let told = self.told();
        let announced = told.iter().filter(|(_, told)| matches!(told, Told::Established(_))).count();
        let mut ends = told.iter().filter_map(|(_, told)| EndEvent::of(told));
        let (first, more) = (ends.next(), ends.count());
        let fits = match first {
            Some(EndEvent::NotConnected(_)) => announced == 0,
            Some(EndEvent::Closed(_)) => announced == 1,
            None => false,
        };
        self.check(statements, fits && more == 0, || {
            format!(
                "told {announced} times that there is a connection, and of the end {} times, first {first:?}",
                more + usize::from(first.is_some())
            )
        });
        let after = told.iter().skip_while(|(_, told)| EndEvent::of(told).is_none()).skip(1);
        let after: Vec<_> = after.map(|(_, told)| told.clone()).collect();
        self.check(statements, !ended || after == [Told::Drained], || {
            format!("behind the end only that it is drained should be told, it was {after:?}")
        });
        if let Some(upper) = self.upper_if_seen() {
            let (posted, borrowed) =
                (upper.endpoint().connection().outstanding(), upper.endpoint().borrowed());
            self.check(statements, !drained || (posted == Outstanding::default() && borrowed == 0), || {
                format!(
                    "behind the end nothing should be left, there are {posted:?}, and {borrowed} fragments borrowed"
                )
            });
        }
        first
    }

    /// Where the upper layer can be looked at: connecting failed, once, and it never was told of a connection.
    pub fn not_connected(&mut self, statements: &str) -> Option<ConnectError> {
        match self.told_the_end(statements)? {
            EndEvent::NotConnected(error) => Some(error),
            EndEvent::Closed(reason) => {
                self.check(statements, false, || {
                    format!("connecting should fail, a connection was announced and closed: {reason}")
                });
                None
            }
        }
    }

    /// Where the upper layer can be looked at: there was a connection, and it was closed, once.
    pub fn closed(&mut self, statements: &str) -> Option<CloseReason> {
        match self.told_the_end(statements)? {
            EndEvent::Closed(reason) => Some(reason),
            EndEvent::NotConnected(error) => {
                self.check(statements, false, || {
                    format!("a connection should be closed, connecting failed instead: {error}")
                });
                None
            }
        }
    }
}
