//! The messages of the script: every field can have any value, independent of the others.

use bytes::Bytes;
use smbd_core::Token;
use smbd_core::wire::NtStatus;

/// How many credits a message of the script grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// What the subject has used since, and all that is posted and was never granted. Messages with data grant 1 at least,
    /// as long as there is room for another receive.
    #[default]
    Standing,
    /// The same, and never more than that.
    Used,
    /// So many; receives that are missing are posted first.
    Posted(u16),
    /// So many, whatever is posted.
    Claimed(u16),
}

/// A Data Transfer message (2.2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// `None`: what the terms of the connection have.
    pub credits_requested: Option<u16>,
    /// CreditsGranted.
    pub grant: Grant,
    /// Flags.
    pub flags: u16,
    /// Reserved.
    pub reserved: u16,
    /// RemainingDataLength.
    pub remaining: u32,
    /// DataOffset, as written into the header.
    pub offset: u32,
    /// DataLength, as written into the header.
    pub length: u32,
    /// What follows the header: padding, payload and what comes behind.
    pub body: Vec<u8>,
    /// The subject's token to invalidate.
    pub invalidate: Option<Token>,
}

/// Padding between the header and the payload: the payload begins at 24.
const PADDING: usize = 4;

impl Data {
    /// `empty`: 20 bytes that grant nothing, unless the subject has used credits.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            credits_requested: None,
            grant: Grant::Standing,
            flags: 0,
            reserved: 0,
            remaining: 0,
            offset: 0,
            length: 0,
            body: Vec::new(),
            invalidate: None,
        }
    }

    /// `probe`: `empty` with Flags 1 and CreditsGranted 1.
    #[must_use]
    pub fn probe() -> Self {
        Self { flags: 1, grant: Grant::Posted(1), ..Self::empty() }
    }

    /// `data(N)`: DataOffset 24, 4 zero bytes of padding, the payload.
    #[must_use]
    pub fn of(payload: &[u8]) -> Self {
        Self::at(24, PADDING, payload)
    }

    /// A payload behind any padding, with any DataOffset.
    #[must_use]
    pub fn at(offset: u32, padding: usize, payload: &[u8]) -> Self {
        let mut body = vec![0; padding];
        body.extend_from_slice(payload);
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        Self { offset, length, body, ..Self::empty() }
    }

    /// The bytes of the message.
    #[must_use]
    pub fn encode(&self, credits_requested: u16, credits_granted: u16) -> Vec<u8> {
        let mut out = Vec::with_capacity(20 + self.body.len());
        for half in [credits_requested, credits_granted, self.flags, self.reserved] {
            out.extend_from_slice(&half.to_le_bytes());
        }
        for word in [self.remaining, self.offset, self.length] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.body);
        out
    }

    /// The same with another CreditsRequested.
    #[must_use]
    pub const fn requesting(mut self, credits: u16) -> Self {
        self.credits_requested = Some(credits);
        self
    }

    /// The same with another CreditsGranted; receives are posted for it.
    #[must_use]
    pub const fn granting(mut self, credits: u16) -> Self {
        self.grant = Grant::Posted(credits);
        self
    }

    /// The same with another RemainingDataLength.
    #[must_use]
    pub const fn remaining(mut self, remaining: u32) -> Self {
        self.remaining = remaining;
        self
    }

    /// The same with zero bytes behind it, `len` bytes in all.
    #[must_use]
    pub fn filled_to(mut self, len: usize) -> Self {
        self.body.resize(len.saturating_sub(20).max(self.body.len()), 0);
        self
    }

    /// Payload cut into messages of at most `size` bytes each, header and padding included, with exact
    /// RemainingDataLength.
    #[must_use]
    pub fn fragments(payload: &[u8], size: u32) -> Vec<Self> {
        let most = (size as usize).saturating_sub(24).max(1);
        let mut remaining = payload.len();
        let cut = payload.chunks(most).map(|piece| {
            remaining -= piece.len();
            Self::of(piece).remaining(u32::try_from(remaining).unwrap_or(u32::MAX))
        });
        cut.collect()
    }
}

/// A Negotiate Request (2.2.1), Reserved included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// MinVersion.
    pub min_version: u16,
    /// MaxVersion.
    pub max_version: u16,
    /// Reserved.
    pub reserved: u16,
    /// CreditsRequested.
    pub credits_requested: u16,
    /// PreferredSendSize.
    pub preferred_send_size: u32,
    /// MaxReceiveSize.
    pub max_receive_size: u32,
    /// MaxFragmentedSize.
    pub max_fragmented_size: u32,
    /// Values that are the usual ones are meant: none is replaced by what a product needs instead.
    pub exact: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            min_version: 0x0100,
            max_version: 0x0100,
            reserved: 0,
            credits_requested: 10,
            preferred_send_size: 1024,
            max_receive_size: 1024,
            max_fragmented_size: 131_072,
            exact: false,
        }
    }
}

impl Request {
    /// The same with what a product needs in place of the usual values.
    #[must_use]
    pub fn with(self, usual: Usual) -> Self {
        let standard = Self::default();
        let instead = |value, default, usual: Option<u32>| match usual {
            Some(usual) if value == default && !self.exact => usual,
            _ => value,
        };
        let sends = (standard.preferred_send_size, usual.preferred_send_size);
        let takes = (standard.max_fragmented_size, usual.max_fragmented_size);
        Self {
            preferred_send_size: instead(self.preferred_send_size, sends.0, sends.1),
            max_fragmented_size: instead(self.max_fragmented_size, takes.0, takes.1),
            ..self
        }
    }

    /// Its 20 bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(20);
        for half in [self.min_version, self.max_version, self.reserved, self.credits_requested] {
            out.extend_from_slice(&half.to_le_bytes());
        }
        for word in [self.preferred_send_size, self.max_receive_size, self.max_fragmented_size] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out
    }
}

/// What the script does otherwise for a product than usual, to get as far as most cases begin, or to see what they ask about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usual {
    /// PreferredSendSize of its requests, in bytes.
    pub preferred_send_size: Option<u32>,
    /// MaxFragmentedSize of its requests, in bytes.
    pub max_fragmented_size: Option<u32>,
    /// The product answers no probe: that a connection goes on is seen by its staying up.
    pub answers_no_probe: bool,
}

/// A Negotiate Response (2.2.2), Reserved included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// MinVersion.
    pub min_version: u16,
    /// MaxVersion.
    pub max_version: u16,
    /// NegotiatedVersion.
    pub negotiated_version: u16,
    /// Reserved.
    pub reserved: u16,
    /// CreditsRequested.
    pub credits_requested: u16,
    /// CreditsGranted; receives for so many are posted before it leaves.
    pub credits_granted: u16,
    /// Status.
    pub status: NtStatus,
    /// MaxReadWriteSize.
    pub max_read_write_size: u32,
    /// PreferredSendSize; `None`: 1024, or the subject's MaxReceiveSize if that is less.
    pub preferred_send_size: Option<u32>,
    /// MaxReceiveSize.
    pub max_receive_size: u32,
    /// MaxFragmentedSize.
    pub max_fragmented_size: u32,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            min_version: 0x0100,
            max_version: 0x0100,
            negotiated_version: 0x0100,
            reserved: 0,
            credits_requested: 10,
            credits_granted: 10,
            status: NtStatus(0),
            max_read_write_size: 1 << 20,
            preferred_send_size: None,
            max_receive_size: 1024,
            max_fragmented_size: 131_072,
        }
    }
}

impl Response {
    /// Its 32 bytes, for a subject with this MaxReceiveSize.
    #[must_use]
    pub fn encode(&self, subject_max_receive_size: u32) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        let halves = [self.min_version, self.max_version, self.negotiated_version, self.reserved];
        for half in halves.into_iter().chain([self.credits_requested, self.credits_granted]) {
            out.extend_from_slice(&half.to_le_bytes());
        }
        let preferred = self.preferred_send_size.unwrap_or_else(|| subject_max_receive_size.min(1024));
        let words = [self.status.0, self.max_read_write_size, preferred];
        for word in words.into_iter().chain([self.max_receive_size, self.max_fragmented_size]) {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out
    }
}

/// What the script offers and asks for when a connection is set up as usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Its request, if the subject accepts.
    pub request: Request,
    /// Its response, if the subject connects.
    pub response: Response,
    /// Receives it keeps posted from the end of the negotiation on.
    pub receives: u16,
}

impl Default for Terms {
    fn default() -> Self {
        Self { request: Request::default(), response: Response::default(), receives: 10 }
    }
}

impl Terms {
    /// As the cases of data transfer: 255 credits asked for, 255 receives kept.
    #[must_use]
    pub fn many_credits() -> Self {
        Self::default().credits(255)
    }

    /// As the cases of credits: PreferredSendSize 1364, MaxReceiveSize 8192.
    #[must_use]
    pub fn credit_cases() -> Self {
        let mut terms = Self::default();
        (terms.request.preferred_send_size, terms.request.max_receive_size) = (1364, 8192);
        (terms.response.preferred_send_size, terms.response.max_receive_size) = (Some(1364), 8192);
        terms
    }

    /// So many credits asked for in each message, and so many receives kept.
    #[must_use]
    pub const fn credits(mut self, credits: u16) -> Self {
        self.request.credits_requested = credits;
        self.response.credits_requested = credits;
        self.response.credits_granted = credits;
        self.receives = credits;
        self
    }

    /// Bytes of each receive after the negotiation.
    #[must_use]
    pub const fn receive_len(&self) -> u32 {
        if self.request.max_receive_size > self.response.max_receive_size {
            self.request.max_receive_size
        } else {
            self.response.max_receive_size
        }
    }
}

/// The first `len` bytes of a pattern that differs with `seed` and never repeats; see `smbd_tools::exercise`.
#[must_use]
pub fn pattern(seed: u64, len: usize) -> Bytes {
    smbd_tools::exercise::pattern(seed, len)
}
