//! The rules that a peer can break, without the values.

use smbd_core::error::Violation;

macro_rules! rules {
    ($($variant:ident),* $(,)?) => {
        /// A rule a peer can break: a [`Violation`] without its values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each is documented at `Violation`")]
        pub enum Rule {
            $($variant,)*
            /// One this simulator does not know.
            Other,
        }

        impl Rule {
            /// All that are known.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)*
                    Self::Other => "Other",
                }
            }

            /// Which rule a violation breaks.
            #[must_use]
            pub const fn of(violation: &Violation) -> Self {
                match violation {
                    $(Violation::$variant { .. } => Self::$variant,)*
                    _ => Self::Other,
                }
            }
        }
    };
}

rules! {
    ShortMessage, LongMessage, BeforeRequest, Version, NegotiatedVersion, CreditsRequestedZero, CreditsGrantedZero,
    MaxReceiveSize, MaxFragmentedSize, PreferredSendSize, PreferredSendSizeZero, NoCredit, CreditOverflow,
    DataMisaligned, DataInsideHeader, DataBeyondMessage, MessageTooLong, FragmentMismatch, EmptyInsideSequence,
    TrailingBytes, UnusualDataOffset, ForeignInvalidation,
}

/// A set of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules(u32);

impl Rules {
    pub(super) const fn none() -> Self {
        Self(0)
    }

    pub(super) const fn one(rule: Rule) -> Self {
        Self(1 << rule as u32)
    }

    pub(super) const fn add_if(&mut self, broken: bool, rule: Rule) {
        if broken {
            self.0 |= 1 << rule as u32;
        }
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn contains(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u32) != 0
    }
}
