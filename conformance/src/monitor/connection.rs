//! One connection: its phase, and the distribution of items to the parts of the monitor.

use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest, NegotiateResponse};
use smbd_sim::decode::{self, Body, Direction, Item, ItemKind, Message, RdmaKind};

use super::credits::Credits;
use super::keepalive::Keepalive;
use super::negotiation::{Negotiation, Phase};
use super::rdma::Rdma;
use super::rules::{behaviour, data as data_rules, negotiation as negotiation_rules};
use super::sequence::Sequence;
use super::verdict::{At, Connection, Journal, sender};
use super::{data, negotiation};

/// Follows one connection.
#[derive(Debug)]
pub(super) struct Monitor<'a> {
    connection: &'a decode::Connection,
    journal: Journal,
    messages: u64,
    negotiation: Negotiation,
    sequences: [Sequence; 2],
    credits: Credits,
    keepalive: Keepalive,
    rdma: Rdma,
    /// Who said that the connection ends.
    ended: [bool; 2],
}

impl<'a> Monitor<'a> {
    /// `ordered`: requests and messages of one side are in the order they were sent.
    pub(super) fn new(connection: &'a decode::Connection, ordered: bool) -> Self {
        Self {
            connection,
            journal: Journal::new(connection.number),
            messages: 0,
            negotiation: Negotiation::new(connection.from_start),
            sequences: [Sequence::new(connection.from_start), Sequence::new(connection.from_start)],
            credits: Credits::default(),
            keepalive: Keepalive::default(),
            rdma: Rdma::new(ordered),
            ended: [false; 2],
        }
    }

    pub(super) fn item(&mut self, item: &Item) {
        let at = At::of(item);
        match &item.kind {
            ItemKind::Message(message) => {
                self.messages += 1;
                self.still_there(at);
                self.message(at, message);
            }
            ItemKind::Rdma(operation) => {
                if operation.kind != RdmaKind::ReadResponse {
                    self.still_there(at);
                    let most = self.negotiation.response().map(|response| response.max_read_write_size);
                    self.rdma.request(at, operation, most, &mut self.journal);
                }
            }
            ItemKind::Cm(event) => match event.name {
                "REP" | "RTU" => self.negotiation.connected(at.time_ns),
                "DREQ" => self.end(at),
                _ => {}
            },
            ItemKind::Mpa(event) => {
                if event.reply && !event.rejected {
                    self.negotiation.connected(at.time_ns);
                }
            }
            ItemKind::Terminate { .. } => self.end(at),
            ItemKind::Lost { .. } => self.lost(at.direction),
        }
    }

    /// The verdict; `end_ns` is when the capture ends.
    pub(super) fn finish(mut self, end_ns: u64) -> Connection {
        let end_ns = self.connection.ended_ns.map_or(end_ns, |ended| ended.min(end_ns));
        self.keepalive.finish(end_ns, &mut self.journal);
        Connection {
            connection: self.connection.clone(),
            messages: self.messages,
            findings: self.journal.findings,
            not_judged: self.journal.not_judged,
            ledgers: self.credits.ledgers(),
        }
    }

    fn still_there(&mut self, at: At) {
        if self.ended[sender(at.direction)] {
            self.journal.broken(&behaviour::AFTER_END, at, "sent after its sender disconnected", "nothing");
        }
    }

    fn end(&mut self, at: At) {
        self.ended[sender(at.direction)] = true;
        self.keepalive.finish(at.time_ns, &mut self.journal);
    }

    /// Something of this direction is not in the capture.
    fn lost(&mut self, direction: Direction) {
        self.negotiation.lost();
        self.sequences[sender(direction)] = Sequence::new(false);
        self.credits.lost();
        self.keepalive.lost();
        self.rdma.lost();
    }

    fn message(&mut self, at: At, message: &Message) {
        match &message.body {
            Body::NegotiateRequest(request) => self.request(at, request, message),
            Body::NegotiateResponse(response) => self.response(at, response, message),
            Body::DataTransfer(header) => self.data(at, header, message),
            Body::Malformed(_) => self.malformed(at, message),
        }
    }

    fn request(&mut self, at: At, request: &NegotiateRequest, message: &Message) {
        if self.negotiation.is_over_for(at.direction) || at.direction == Direction::ToInitiator {
            self.repeated(at);
            return;
        }
        negotiation::request(at, request, message, &mut self.journal);
        self.negotiation.requested(request);
        self.credits.asked(at.direction, request.credits_requested);
    }

    fn response(&mut self, at: At, response: &NegotiateResponse, message: &Message) {
        if self.negotiation.is_over_for(at.direction) || at.direction == Direction::ToAcceptor {
            self.repeated(at);
            return;
        }
        negotiation::response(at, response, message, &self.negotiation, &mut self.journal);
        self.negotiation.answered(response);
        if response.status.is_success() {
            self.credits.begin(at.direction, response);
        }
    }

    fn repeated(&mut self, at: At) {
        let rule = &negotiation_rules::NEGOTIATION_REPEATED;
        self.journal.broken(rule, at, "a second negotiation", "a data message");
        self.credits.spend_only(at.direction);
    }

    fn data(&mut self, at: At, header: &DataTransfer, message: &Message) {
        if negotiation::reads_as_one(message) {
            self.repeated(at);
            return;
        }
        match self.negotiation.phase() {
            Phase::Fresh | Phase::Requested | Phase::Refused => {
                let (seen, expected) = self.negotiation.phase().before_data();
                self.journal.broken(&negotiation_rules::DATA_BEFORE_ESTABLISHED, at, seen, expected);
                return;
            }
            Phase::Unknown | Phase::Established => {}
        }
        let journal = &mut self.journal;
        data::fields(at, header, message, journal);
        data::sizes(at, header, message, &self.negotiation, journal);
        let invalidates = message.invalidate.is_some();
        self.sequences[sender(at.direction)].fragment(at, header, invalidates, journal);
        self.rdma.message(at, message);
        self.credits.data(at, header, journal);
        let asks = header.flags.contains(Flags::RESPONSE_REQUESTED);
        let may_answer = self.credits.may_answer(at.direction);
        self.keepalive.message(at, asks, data::is_empty(header), may_answer, journal);
    }

    /// A message without all of its header: cut by the capture, or by its sender.
    fn malformed(&mut self, at: At, message: &Message) {
        let phase = self.negotiation.phase();
        let (rule, least) = match (phase, at.direction) {
            (Phase::Fresh, Direction::ToAcceptor) => {
                (&negotiation_rules::REQUEST_TOO_SHORT, NegotiateRequest::LEN)
            }
            (Phase::Fresh | Phase::Requested, Direction::ToInitiator) => {
                (&negotiation_rules::RESPONSE_TOO_SHORT, NegotiateResponse::LEN)
            }
            _ => (&data_rules::TOO_SHORT, DataTransfer::LEN),
        };
        if message.len >= least as u64 {
            self.journal.not_judged(rule);
            self.lost(at.direction);
            return;
        }
        let expected = format!("at least {least} bytes");
        self.journal.broken(rule, at, format!("{} bytes", message.len), expected);
        if rule == &data_rules::TOO_SHORT {
            self.credits.spend_only(at.direction);
        } else {
            self.negotiation.lost();
        }
    }
}
