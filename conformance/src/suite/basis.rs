//! What a case takes for granted: that a connection can be made, that a message comes back, that there are credits.
//!
//! A case is about a few statements and needs much else. Where something else is missing, nothing is known of its statements,
//! and they must not be blamed: the case ends as [`Outcome::NotJudged`](super::Outcome), and names the case that is about what
//! is missing. Whether it is missing, or is missing only after what the case does, a usual connection shows.

use std::time::Duration;

/// A probe for which a case has to wait longer than this is for Microsoft's cases.
const SOON: Duration = Duration::from_secs(10);
/// A message longer than this is cut into fragments, with the usual sizes.
const SHORT_MAX: usize = 1000;

/// Something that most cases take for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// A transport connection comes up.
    Transport,
    /// A usual request is answered and accepted; a request comes.
    Negotiation,
    /// The sizes that the subject announces can be used.
    Sizes,
    /// A subject that has connected sends a first message, which grants.
    FirstMessage,
    /// The script gets credits.
    Credits,
    /// A message that breaks a rule ends the connection.
    End,
    /// A message of so many bytes comes back.
    Echo(usize),
    /// A probe is answered.
    Answer,
    /// The subject spends no credits on messages that nobody has asked for.
    Quiet,
    /// A script that is silent is probed, after so long.
    Probe(Duration),
}

impl Basis {
    /// The case that is about it.
    pub(super) fn case(self, subject_accepts: bool) -> &'static str {
        match self {
            Self::Transport | Self::Negotiation | Self::Sizes if subject_accepts => "BVT_SmbdNegotiate_Basic",
            Self::Transport | Self::Negotiation | Self::Sizes => {
                "negotiate::the_request_comes_first_and_alone"
            }
            Self::FirstMessage => "negotiate::the_initiators_first_message_grants",
            Self::Credits => "credits::each_credit_granted_has_its_receive",
            Self::End => "fragments::a_short_message_ends_the_connection",
            Self::Echo(len) if len <= SHORT_MAX && subject_accepts => {
                "BVT_SmbdDataTransfer_Basic_SendSmallBytesOfData"
            }
            Self::Echo(len) if len <= SHORT_MAX => "upper::the_payload_may_be_anything",
            Self::Echo(_) => "fragments::the_next_message_starts_from_nothing",
            Self::Answer => "keepalive::an_answer_does_not_ask",
            Self::Quiet => "credits::grants_do_not_answer_grants",
            Self::Probe(interval) if interval > SOON && subject_accepts => {
                "SmbdDataTransfer_IdleConnection_Server"
            }
            Self::Probe(_) => "keepalive::silence_is_probed",
        }
    }

    /// The statements that are broken where it is missing and the case is about it.
    pub(super) const fn statements(self, subject_accepts: bool) -> &'static str {
        match self {
            Self::Transport if subject_accepts => "3.1.7.2-04",
            Self::Transport => "3.1.4.1-12",
            Self::Credits => "3.1.5.8-09",
            Self::FirstMessage => "3.1.5.7-18",
            _ => "",
        }
    }

    /// What it needs itself.
    pub(super) const fn below(self) -> Option<Self> {
        match self {
            Self::Transport => None,
            Self::Negotiation => Some(Self::Transport),
            Self::Echo(len) if len > SHORT_MAX => Some(Self::Echo(SHORT_MAX)),
            _ => Some(Self::Negotiation),
        }
    }

    /// Whether a usual connection shows it, and soon.
    pub(super) const fn is_soon_seen(self) -> bool {
        !matches!(self, Self::Sizes | Self::FirstMessage | Self::Quiet | Self::Probe(_))
    }
}
