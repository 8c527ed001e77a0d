//! Time as a value: the core has no clock, its caller passes the time.

use core::num::NonZeroU64;
use core::ops::Add;
use core::time::Duration;

/// A point on the caller's monotonic clock, in nanoseconds since an origin the caller chose.
///
/// There is no `now()`: only a backend reads a clock. `Option<Instant>` is eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(NonZeroU64);

impl Instant {
    /// The origin of the caller's clock.
    pub const ORIGIN: Self = Self(NonZeroU64::MIN);

    /// The instant `nanos` nanoseconds after the origin, or the last representable one.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0.get().saturating_sub(1)
    }

    /// `self + after`, or the last representable instant, at which no timer expires.
    #[must_use]
    pub fn saturating_add(self, after: Duration) -> Self {
        self.saturating_add_nanos(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(crate) const fn saturating_add_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// The earlier of two, of which each may be missing.
    pub(crate) fn earliest(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        // None comes after all others so.
        let order = |instant: Option<Self>| instant.map_or(0, |instant| instant.0.get()).wrapping_sub(1);
        NonZeroU64::new(order(one).min(order(other)).wrapping_add(1)).map(Self)
    }

    /// Time from `earlier` to `self`, zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// As [`saturating_add`](Self::saturating_add). Never overflows.
    fn add(self, after: Duration) -> Self {
        self.saturating_add(after)
    }
}

impl core::fmt::Debug for Instant {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}", Duration::from_nanos(self.as_nanos()))
    }
}
