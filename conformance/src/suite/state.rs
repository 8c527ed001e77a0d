//! The script's records of one connection: credits, posted and granted receives, and received messages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use smbd_core::error::{ConnectReason, WorkError};
use smbd_core::wire::{DataTransfer, NegotiateRequest, NegotiateResponse};
use smbd_core::{BufferDescriptorV1, Instant, Limits};

use super::rig::Opening;
use super::script::Terms;
use super::seen::{Message, Whole, payload_of};
use super::trace::{By, Kind};
use super::upper::{Dialogue, Upper};
use crate::catalogue::UnderTest;

/// Bytes of the receive for a negotiation message.
pub(super) const NEGOTIATION_LEN: u32 = 512;

/// Where a transport connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Opening,
    Up,
    Failed(ConnectReason),
    Down,
}

impl Link {
    pub(super) const fn was_up(self) -> bool {
        matches!(self, Self::Up | Self::Down)
    }

    pub(super) const fn is_over(self) -> bool {
        matches!(self, Self::Failed(_) | Self::Down)
    }
}

/// What the subject announced in its negotiation message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announced {
    /// It connects.
    Request(NegotiateRequest),
    /// It accepts.
    Response(NegotiateResponse),
}

impl Announced {
    /// Its MaxReceiveSize: the longest message the script may send.
    #[must_use]
    pub const fn max_receive_size(&self) -> u32 {
        match self {
            Self::Request(request) => request.max_receive_size,
            Self::Response(response) => response.max_receive_size,
        }
    }

    /// Its PreferredSendSize.
    #[must_use]
    pub const fn preferred_send_size(&self) -> u32 {
        match self {
            Self::Request(request) => request.preferred_send_size,
            Self::Response(response) => response.preferred_send_size,
        }
    }

    /// Its CreditsRequested.
    #[must_use]
    pub const fn credits_requested(&self) -> u16 {
        match self {
            Self::Request(request) => request.credits_requested,
            Self::Response(response) => response.credits_requested,
        }
    }

    /// Its MaxFragmentedSize.
    #[must_use]
    pub const fn max_fragmented_size(&self) -> u32 {
        match self {
            Self::Request(request) => request.max_fragmented_size,
            Self::Response(response) => response.max_fragmented_size,
        }
    }
}

/// The records of one connection.
#[derive(Debug)]
pub(super) struct State {
    pub(super) link: Link,
    pub(super) down_at: Option<Instant>,
    pub(super) limits: Option<Limits>,
    pub(super) inbox: VecDeque<Message>,
    /// Messages of the subject, the negotiation's included.
    pub(super) came: u64,
    /// Messages of the script.
    pub(super) said: u64,
    pub(super) last_said: Instant,
    /// Messages the script may send.
    pub(super) credits: i64,
    /// Receives posted, and how many of them the subject does not know of.
    pub(super) posted: u32,
    pub(super) ungranted: u32,
    /// Messages the subject may send.
    pub(super) granted: i64,
    pub(super) receives_max: u32,
    pub(super) receive_len_max: u32,
    pub(super) receive_len: u32,
    /// A message could not be sent any more: the connection was down.
    pub(super) unsent: bool,
    /// CreditsRequested of the script's last message, where a case has one of its own.
    pub(super) asking: Option<u16>,
    /// The script said what it keeps no records of.
    pub(super) raw: bool,
    /// Post each receive again as soon as its message came.
    pub(super) reposts: bool,
    pub(super) terms: Terms,
    pub(super) announced: Option<Announced>,
    pub(super) failures: Vec<WorkError>,
    /// Work whose end is waited for, and that of work that has ended.
    pub(super) awaited: BTreeSet<u64>,
    pub(super) ended: BTreeMap<u64, Result<(), WorkError>>,
    pub(super) registered: BTreeMap<u64, Vec<BufferDescriptorV1>>,
    /// The talk with the subject's upper layer.
    pub(super) dialogue: Dialogue,
    /// The last message ends one of so many fragments that is a matter of the dialogue alone.
    own: Option<usize>,
    /// Messages of the upper layer that were read while another one was waited for.
    pub(super) early: Vec<Whole>,
    /// Up to where the file of an SMB2 server has the content that it is to write by RDMA, in bytes.
    pub(super) filled: u64,
    subject: UnderTest,
}

impl State {
    pub(super) fn new(opening: &Opening, subject: UnderTest, upper: &Upper) -> Self {
        Self {
            link: Link::Opening,
            down_at: None,
            limits: None,
            inbox: VecDeque::new(),
            came: 0,
            said: 0,
            last_said: Instant::ORIGIN,
            credits: 0,
            posted: 0,
            ungranted: 0,
            granted: 0,
            receives_max: u32::from(opening.receives),
            receive_len_max: opening.receive_len.max(NEGOTIATION_LEN),
            receive_len: 1024,
            unsent: false,
            asking: None,
            raw: false,
            reposts: true,
            terms: Terms::default(),
            announced: None,
            failures: Vec::new(),
            awaited: BTreeSet::new(),
            ended: BTreeMap::new(),
            registered: BTreeMap::new(),
            dialogue: Dialogue::with(upper),
            own: None,
            early: Vec::new(),
            filled: 0,
            subject,
        }
    }

    /// Whether there is a transport connection.
    pub(super) const fn is_up(&self) -> bool {
        matches!(self.link, Link::Up)
    }

    /// What message number `index` of one side should be.
    pub(super) const fn kind(&self, by: By, index: u64) -> Kind {
        match (index, by, self.subject) {
            (0, By::Subject, UnderTest::Initiator)
            | (0, By::Script, UnderTest::Acceptor | UnderTest::Both) => Kind::NegotiateRequest,
            (0, By::Script, UnderTest::Initiator)
            | (0, By::Subject, UnderTest::Acceptor | UnderTest::Both) => Kind::NegotiateResponse,
            _ => Kind::DataTransfer,
        }
    }

    /// Puts a message where cases read it; they do not see what is between the script and the upper layer alone.
    pub(super) fn show(&mut self, message: Message) {
        self.inbox.push_back(message);
        let Some(fragments) = self.own.take() else { return };
        let has_data = |message: &Message| {
            DataTransfer::parse(&message.bytes).is_ok_and(|header| header.data_length > 0)
        };
        for _ in 0..fragments {
            if let Some(last) = self.inbox.iter().rposition(has_data) {
                self.inbox.remove(last);
            }
        }
    }

    /// Records a message of the subject; whether a receive is to be posted in the place of the one it used.
    pub(super) fn came(&mut self, kind: Kind, bytes: &[u8]) -> bool {
        self.came += 1;
        self.posted = self.posted.saturating_sub(1);
        match kind {
            Kind::NegotiateRequest => {
                self.announced = NegotiateRequest::parse(bytes).ok().map(Announced::Request);
                false
            }
            Kind::NegotiateResponse => {
                if let Ok(response) = NegotiateResponse::parse(bytes) {
                    self.announced = Some(Announced::Response(response));
                    self.credits += i64::from(response.credits_granted);
                }
                false
            }
            Kind::DataTransfer => {
                self.granted -= 1;
                if let Ok(header) = DataTransfer::parse(bytes) {
                    self.credits += i64::from(header.credits_granted);
                    self.own = self.dialogue.heard(&header, payload_of(&header, bytes));
                }
                self.reposts
            }
        }
    }
}
