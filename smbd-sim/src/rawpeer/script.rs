//! The messages of a scripted peer: valid ones, and one for each broken rule.

use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest, NegotiateResponse, NtStatus};
use smbd_core::{Config, Role, Token};

use crate::Rng;
use crate::oracle::Rule;

/// What a scripted peer is up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Breaks a rule with its negotiation message.
    Negotiation(Rule),
    /// As acceptor: refuses with a status.
    Rejects,
    /// Breaks a rule with a data message.
    Data(Rule),
    /// Sends noise.
    Noise,
    /// Says nothing any more.
    Silence,
    /// Grants nothing any more.
    NoGrants,
}

const IN_STRICT: &[Target] = &[
    Target::Data(Rule::EmptyInsideSequence),
    Target::Data(Rule::TrailingBytes),
    Target::Data(Rule::UnusualDataOffset),
    Target::Negotiation(Rule::PreferredSendSizeZero),
];
const TO_ANY: &[Target] = &[
    Target::Negotiation(Rule::ShortMessage),
    Target::Negotiation(Rule::CreditsRequestedZero),
    Target::Negotiation(Rule::MaxReceiveSize),
    Target::Negotiation(Rule::MaxFragmentedSize),
    Target::Data(Rule::ShortMessage),
    Target::Data(Rule::LongMessage),
    Target::Data(Rule::CreditsRequestedZero),
    Target::Data(Rule::NoCredit),
    Target::Data(Rule::CreditOverflow),
    Target::Data(Rule::DataMisaligned),
    Target::Data(Rule::DataInsideHeader),
    Target::Data(Rule::DataBeyondMessage),
    Target::Data(Rule::MessageTooLong),
    Target::Data(Rule::FragmentMismatch),
    Target::Data(Rule::ForeignInvalidation),
    Target::Noise,
    Target::Silence,
    Target::NoGrants,
];
const TO_INITIATOR: &[Target] = &[
    Target::Negotiation(Rule::BeforeRequest),
    Target::Negotiation(Rule::NegotiatedVersion),
    Target::Negotiation(Rule::CreditsGrantedZero),
    Target::Negotiation(Rule::PreferredSendSize),
    Target::Rejects,
];
const TO_ACCEPTOR: &[Target] =
    &[Target::Negotiation(Rule::Version), Target::Negotiation(Rule::PreferredSendSize)];

impl Target {
    /// One that makes sense against a connection of this role.
    pub(super) fn draw(role: Role, rng: &mut Rng) -> Self {
        let own = if role == Role::Initiator { TO_INITIATOR } else { TO_ACCEPTOR };
        let all: Vec<Self> = TO_ANY.iter().chain(own).chain(IN_STRICT).copied().collect();
        rng.pick(&all)
    }

    /// Whether only strict connections mind.
    pub(super) fn is_strict(self) -> bool {
        IN_STRICT.contains(&self)
    }

    const fn breaks(self, rule: Rule) -> bool {
        matches!(self, Self::Negotiation(broken) if broken as u32 == rule as u32)
    }
}

/// The negotiation message of the script.
pub(super) fn greeting(role: Role, config: &Config, target: Target, asked: u16, rng: &mut Rng) -> Vec<u8> {
    let broken = |rule, wrong: u32, right: u32| if target.breaks(rule) { wrong } else { right };
    let credits = broken(Rule::CreditsRequestedZero, 0, if rng.chance(1, 2) { 3 } else { 40 });
    let receive = broken(Rule::MaxReceiveSize, 127, 256);
    let fragmented = broken(Rule::MaxFragmentedSize, 131_071, 1 << 20);
    let credits = u16::try_from(credits).unwrap_or(1);
    let preferred = broken(Rule::PreferredSendSizeZero, 0, 200);
    let mut bytes = [0; 32];
    let len = if role == Role::Acceptor {
        let version = if target.breaks(Rule::Version) { 0x0200 } else { 0x0100 };
        let request = NegotiateRequest {
            min_version: version,
            max_version: version,
            credits_requested: credits,
            preferred_send_size: broken(Rule::PreferredSendSize, 9000, preferred),
            max_receive_size: receive,
            max_fragmented_size: fragmented,
        };
        request.encode(&mut bytes)
    } else if target == Target::Rejects {
        NegotiateResponse::failure(NtStatus(0xC000_00BB)).encode(&mut bytes)
    } else {
        let granted = if target.breaks(Rule::CreditsGrantedZero) { 0 } else { asked.min(6) };
        let response = NegotiateResponse {
            min_version: 0x0100,
            max_version: 0x0100,
            negotiated_version: if target.breaks(Rule::NegotiatedVersion) { 0x0101 } else { 0x0100 },
            credits_requested: credits,
            credits_granted: granted,
            status: NtStatus(0),
            max_read_write_size: 1 << 20,
            preferred_send_size: broken(
                Rule::PreferredSendSize,
                config.max_receive_size + 1,
                preferred.min(128),
            ),
            max_receive_size: receive,
            max_fragmented_size: fragmented,
        };
        response.encode(&mut bytes)
    };
    let len = if target.breaks(Rule::ShortMessage) { 19 } else { len.unwrap_or(0) };
    bytes[..len].to_vec()
}

/// A data message: its bytes and, if it has one, the token it invalidates.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) bytes: Vec<u8>,
    pub(super) invalidates: Option<Token>,
}

/// The sending side of a script.
#[derive(Clone, Debug)]
pub(super) struct Voice {
    pub(super) max_send: u32,
    pub(super) max_fragmented: u32,
    pub(super) strict: bool,
    /// Bytes of the message under way that are still to be sent.
    pub(super) left: u32,
}

impl Voice {
    /// A message nobody can object to.
    pub(super) fn valid(&mut self, granted: u16, rng: &mut Rng) -> Said {
        let payload = u64::from(self.max_send - 24);
        let asks = rng.chance(1, 20);
        let mut header = DataTransfer {
            credits_requested: u16::try_from(rng.between(1, 300)).unwrap_or(1),
            credits_granted: granted,
            flags: if asks { Flags::RESPONSE_REQUESTED } else { Flags::NONE },
            ..DataTransfer::default()
        };
        let empty = rng.chance(1, 4) && !(self.strict && self.left > 0);
        if !empty {
            let total = if self.left > 0 {
                u64::from(self.left)
            } else {
                rng.between(1, payload * 4).min(u64::from(self.max_fragmented))
            };
            let len = rng.between(1, total.min(payload));
            header.data_offset = 24;
            header.data_length = u32::try_from(len).unwrap_or(1);
            header.remaining_data_length = u32::try_from(total - len).unwrap_or(0);
            self.left = header.remaining_data_length;
        }
        let mut said = said(&header);
        if !self.strict && rng.chance(1, 10) {
            let most = self.max_send as usize;
            said.bytes.resize((said.bytes.len() + 5).min(most), 0xee);
        }
        said
    }

    /// A message that breaks a rule.
    pub(super) fn broken(&mut self, rule: Rule, rng: &mut Rng) -> Said {
        let len = 8;
        let mut header = DataTransfer {
            credits_requested: 5,
            data_offset: 24,
            data_length: len,
            remaining_data_length: self.left.saturating_sub(len),
            ..DataTransfer::default()
        };
        let mut extra = 0;
        let mut invalidates = None;
        match rule {
            Rule::CreditsRequestedZero => header.credits_requested = 0,
            Rule::CreditOverflow => header.credits_granted = 65_535,
            Rule::DataMisaligned => (header.data_offset, extra) = (28, 8),
            Rule::DataInsideHeader => header.data_offset = 16,
            Rule::DataBeyondMessage => header.data_length = 1 << rng.between(4, 31),
            Rule::MessageTooLong => header.remaining_data_length = self.max_fragmented,
            Rule::FragmentMismatch => header.remaining_data_length = self.left.saturating_add(3),
            Rule::LongMessage => extra = self.max_send as usize,
            Rule::TrailingBytes => extra = 4,
            Rule::UnusualDataOffset => (header.data_offset, extra) = (32, 8),
            Rule::ForeignInvalidation => invalidates = Some(Token(0x00BA_D000)),
            Rule::EmptyInsideSequence => {
                header.data_offset = 0;
                header.data_length = 0;
                header.remaining_data_length = 0;
            }
            _ => {}
        }
        let mut said = said(&header);
        let end = said.bytes.len() + extra;
        said.bytes.resize(end, 0);
        if rule == Rule::ShortMessage {
            said.bytes.truncate(19);
        }
        if rule == Rule::DataBeyondMessage {
            said.bytes.truncate(24);
        }
        Said { invalidates, ..said }
    }

    /// Whether a rule can be broken now.
    pub(super) const fn is_ripe(&self, rule: Rule) -> bool {
        match rule {
            Rule::EmptyInsideSequence => self.left > 0,
            Rule::FragmentMismatch => self.left > 8,
            _ => self.left == 0 || self.left > 8,
        }
    }

    /// Bytes that mean nothing.
    pub(super) fn noise(&self, rng: &mut Rng) -> Said {
        let len = rng.below(u64::from(self.max_send) + 8);
        let small = rng.chance(1, 2);
        let bytes = (0..len).map(|_| if small { rng.below(4) } else { rng.below(256) });
        Said { bytes: bytes.map(|b| u8::try_from(b).unwrap_or(0)).collect(), invalidates: None }
    }
}

fn said(header: &DataTransfer) -> Said {
    let mut bytes = [0; 24];
    let _fits = header.encode(&mut bytes);
    let data = header.data_length.min(1 << 16) as usize;
    let len = if header.data_length > 0 { 24 + data } else { DataTransfer::LEN };
    let mut bytes = bytes[..len.min(24)].to_vec();
    bytes.resize(len, 0x5a);
    Said { bytes, invalidates: None }
}
