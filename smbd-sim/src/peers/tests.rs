//! Models with injected bugs, and the common part of the tests of models.

use std::time::Duration;

use smbd_core::Instant;
use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest, NegotiateResponse, NtStatus};

use super::line::{Arrived, Line, Order, Segment};
use super::model::{Model, Rules};
use super::run::run_model;
use super::{Kind, ModelParams, Opening, Plan, Posting, ScriptedMessage, Verdict};
use crate::Side;

/// Eight receives.
pub(super) fn params() -> ModelParams {
    ModelParams {
        receive_credit_max: 8,
        send_credit_target: 8,
        max_send_size: 1000,
        max_receive_size: 1000,
        max_fragmented_recv_size: 131_072,
        keepalive_interval: Duration::from_secs(120),
        posting: Posting::Missing,
        reading: Duration::ZERO,
        put_off: Duration::ZERO,
        work_first: true,
    }
}

/// A message of 100 bytes.
pub(super) const SMALL: ScriptedMessage = ScriptedMessage { len: 100, key: 7, pause: Duration::ZERO };

/// A model that was asked for four credits and granted so many, and what its response grants if it is an acceptor.
pub(super) fn met(
    side: Side,
    params: ModelParams,
    rules: Box<dyn Rules>,
    credits_granted: u16,
    says: &[ScriptedMessage],
) -> (Model, u16) {
    let mut model = Model::new(side, params, rules, Opening::AtOnce, says, &[]);
    model.start();
    let mut bytes = [0; NegotiateResponse::LEN];
    let encoded = match side {
        Side::Acceptor => NegotiateRequest {
            min_version: 0x0100,
            max_version: 0x0100,
            credits_requested: 4,
            preferred_send_size: 1364,
            max_receive_size: 1364,
            max_fragmented_size: 131_072,
        }
        .encode(&mut bytes),
        Side::Initiator => NegotiateResponse {
            min_version: 0x0100,
            max_version: 0x0100,
            negotiated_version: 0x0100,
            credits_requested: 4,
            credits_granted,
            status: NtStatus(0),
            max_read_write_size: 0,
            preferred_send_size: 1000,
            max_receive_size: 1000,
            max_fragmented_size: 131_072,
        }
        .encode(&mut bytes),
    };
    let len = encoded.expect("there is room");
    model.on_received(Instant::ORIGIN, 0, &bytes[..len]);
    let granted = match side {
        Side::Initiator => 0,
        Side::Acceptor => {
            std::iter::from_fn(|| model.next_order())
                .find_map(|order| {
                    if let Order::Send(said) = order { NegotiateResponse::parse(&said).ok() } else { None }
                })
                .expect("a response")
                .credits_granted
        }
    };
    (model, granted)
}

/// An empty message that asks for four credits.
pub(super) fn data(credits_granted: u16, asks: bool) -> Vec<u8> {
    let flags = if asks { Flags::RESPONSE_REQUESTED } else { Flags::NONE };
    let header = DataTransfer { credits_requested: 4, credits_granted, flags, ..DataTransfer::default() };
    let mut bytes = vec![0; DataTransfer::LEN];
    header.encode(&mut bytes).expect("there is room");
    bytes
}

/// What a model said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) granted: u16,
    pub(super) len: u32,
    pub(super) asks: bool,
}

/// Its Data Transfer messages since the last time.
pub(super) fn heard(model: &mut Model) -> Vec<Heard> {
    let orders = std::iter::from_fn(|| model.next_order());
    orders
        .filter_map(
            |order| if let Order::Send(bytes) = order { DataTransfer::parse(&bytes).ok() } else { None },
        )
        .map(|header| Heard {
            granted: header.credits_granted,
            len: header.data_length,
            asks: header.flags.contains(Flags::RESPONSE_REQUESTED),
        })
        .collect()
}

/// What each of them grants.
pub(super) fn granted(heard: &[Heard]) -> Vec<u16> {
    heard.iter().map(|message| message.granted).collect()
}

/// A fragment of 10 bytes, with so many to come.
pub(super) fn fragment(credits_granted: u16, remaining_data_length: u32) -> Vec<u8> {
    let header = DataTransfer {
        credits_requested: 4,
        credits_granted,
        remaining_data_length,
        data_offset: 24,
        data_length: 10,
        ..DataTransfer::default()
    };
    let mut bytes = vec![0; 34];
    header.encode(&mut bytes).expect("there is room");
    bytes
}

/// What a broken peer does otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// Takes no credit into account but its own: it sends although it has none.
    SendsWithoutCredits,
    /// Posts no receive again.
    NeverGrants,
    /// Answers every message, grants or not.
    AlwaysAnswers,
    /// Has something to say every ten seconds.
    Chatters,
}

/// A peer that would be fine but for one thing.
#[derive(Debug)]
struct BrokenPeer {
    broken: Broken,
    credits: u32,
    queue: Vec<Segment>,
    chatter: Option<Instant>,
}

impl BrokenPeer {
    fn flush(&mut self, line: &mut Line) {
        while !self.queue.is_empty() && (self.credits > 0 || self.broken == Broken::SendsWithoutCredits) {
            let segment = self.queue.remove(0);
            self.say(line, Some(segment));
        }
    }

    fn say(&mut self, line: &mut Line, segment: Option<Segment>) {
        let posted = if self.broken == Broken::NeverGrants { 0 } else { line.post_receives(8) };
        self.credits = self.credits.saturating_sub(1);
        line.send(segment, 8, posted, Flags::NONE);
    }
}

impl Rules for BrokenPeer {
    fn buffers(&self, _: &ModelParams) -> u16 {
        9
    }

    fn on_request(&mut self, line: &mut Line, credits_requested: u16) -> u32 {
        line.post_receives(u32::from(credits_requested.min(8)))
    }

    fn on_response(&mut self, line: &mut Line, _: u16, credits_granted: u16) {
        self.credits = u32::from(credits_granted);
        self.say(line, None);
    }

    fn on_data(&mut self, line: &mut Line, arrived: &Arrived<'_>) {
        self.credits += u32::from(arrived.header.credits_granted);
        self.flush(line);
        if self.credits > 1 && self.broken != Broken::NeverGrants {
            self.say(line, None);
        }
    }

    fn send(&mut self, line: &mut Line, segments: Vec<Segment>) {
        self.queue.extend(segments);
        self.flush(line);
    }

    fn deadline(&self) -> Option<Instant> {
        self.chatter
    }

    fn idle_deadline(&self) -> Option<Instant> {
        None
    }

    fn on_time(&mut self, line: &mut Line) {
        self.chatter = Some(line.now.saturating_add(Duration::from_secs(10)));
        if self.credits > 1 {
            self.say(line, None);
        }
    }
}

/// What went wrong with broken peers in the place of a good one, with each of some seeds.
fn failures(broken: Broken) -> Vec<String> {
    let failure = |seed: u64| {
        let plan = Plan::of(Kind::Text2021Acceptor, seed);
        let chatter = (broken == Broken::Chatters).then_some(Instant::ORIGIN);
        let peer = BrokenPeer { broken, credits: 0, queue: Vec::new(), chatter };
        match run_model(&plan, plan.model_of(Box::new(peer)), None).verdict {
            Verdict::Failed(what) => Some(what),
            Verdict::Delivered | Verdict::Stalled => None,
        }
    };
    (0..60).filter_map(failure).collect()
}

#[test]
fn a_peer_that_never_grants_is_found() {
    let failures = failures(Broken::NeverGrants);
    let stalls = failures.iter().filter(|what| what.contains("CreditStall"));
    assert!(stalls.count() > 20, "{failures:#?}");
}

#[test]
fn a_peer_that_sends_without_credits_is_found() {
    let failures = failures(Broken::SendsWithoutCredits);
    assert!(failures.iter().any(|what| what.contains("no receive posted")), "{failures:#?}");
}

#[test]
fn a_peer_that_is_not_quiet_is_found() {
    let failures = failures(Broken::Chatters);
    let noisy = failures.iter().filter(|what| what.contains("not quiet before the keepalive"));
    assert_eq!(noisy.count(), 60, "{failures:#?}");
}

#[test]
fn a_peer_that_answers_answers_is_not_what_the_connection_is() {
    // It answers whatever comes; that it comes to an end is the connection's doing (CR-3).
    let failures = failures(Broken::AlwaysAnswers);
    assert_eq!(failures, Vec::<String>::new());
}
