//! Events of the subject's upper layer, if it is part of this program.

use std::time::Duration;

use smbd_core::error::{CloseReason, ConnectError};
use smbd_core::{Instant, Outstanding};

use super::peer::Peer;
use super::rig::Told;
use super::words::Words;

/// The upper layer hears of an end within this time, and of its being drained within the same again.
const TOLD_WITHIN: Duration = Duration::from_secs(12);
/// Of the loss of a connection is told; what was told before is told once.
const ONCE: &str = "3.1.7.1-01";
/// What belonged to it is gone.
const GONE: &str = "3.1.7.1-02";
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

impl Words for EndEvent {
    fn words(&self) -> String {
        match self {
            Self::NotConnected(error) => format!("not connected: {error}"),
            Self::Closed(reason) => format!("closed: {reason}"),
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
    /// of the connection, and then nothing but that the connection is drained, with nothing left of it. `None` where it cannot be
    /// looked at, or if it was told nothing. That it is told is what `statements` are about.
    pub fn told_the_end(&mut self, statements: &str) -> Option<EndEvent> {
        self.upper_if_seen()?;
        let begin = self.play().now();
        let ended = self.until_told(TOLD_WITHIN, |told| EndEvent::of(told).is_some());
        let waited = self.play().now().saturating_since(begin);
        self.check(statements, ended, || {
            format!("the upper layer should be told of the end, it was not for {}", waited.words())
        });
        let drained = self.until_told(TOLD_WITHIN, |told| *told == Told::Drained);
        self.play().pass(SILENCE);
        let told = self.told();
        let announced = told.iter().filter(|(_, told)| matches!(told, Told::Established(_))).count();
        let mut ends = told.iter().filter_map(|(_, told)| EndEvent::of(told));
        let (first, more) = (ends.next(), ends.count());
        let fits = match first {
            Some(EndEvent::NotConnected(_)) => announced == 0,
            Some(EndEvent::Closed(_)) => announced == 1,
            None => !ended,
        };
        let id = self.id();
        self.play().shared(id, ONCE, fits && more == 0, || {
            let times = more + usize::from(first.is_some());
            format!(
                "of the end should be told once, as of a connection that was announced or was not; it was announced \
                 {announced} times, and its end told {times} times, first as {}",
                first.words()
            )
        });
        if ended {
            self.is_drained(drained, &told);
        }
        first
    }

    /// Behind the end only that it is drained is told, and nothing is left.
    fn is_drained(&mut self, drained: bool, told: &[(Instant, Told)]) {
        let id = self.id();
        self.play().shared(id, GONE, drained, || {
            format!("{} after its end the connection should be drained", TOLD_WITHIN.words())
        });
        let after = told.iter().skip_while(|(_, told)| EndEvent::of(told).is_none()).skip(1);
        let after: Vec<_> = after.map(|(_, told)| told.clone()).collect();
        self.play().shared(id, GONE, !drained || after == [Told::Drained], || {
            format!("behind the end only that it is drained should be told, it was: {}", after.words())
        });
        let Some(upper) = self.upper_if_seen() else { return };
        let (posted, borrowed) = (upper.endpoint().connection().outstanding(), upper.endpoint().borrowed());
        let nothing = posted == Outstanding::default() && borrowed == 0;
        self.play().shared(id, GONE, !drained || nothing, || {
            format!(
                "behind the end nothing should be left, there are {}; {borrowed} are with the upper layer",
                posted.words()
            )
        });
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
