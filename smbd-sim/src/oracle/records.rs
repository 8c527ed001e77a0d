//! The records of one side of a connection: inputs, outputs, and what has to follow.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};

use smbd_core::error::DisconnectReason;
use smbd_core::wire::{DataTransfer, Flags};
use smbd_core::{Config, Input, Instant, Limits, Negotiated, RecvId, Role, SendId};

use super::credit::Credit;
use super::fingerprint::distance;
use super::ids::Ids;
use super::keepalive::Keepalive;
use super::law::{Law, Verdicts};
use super::negotiation::{self, Verdict};
use super::operations::Operations;
use super::receiving::Receiving;
use super::registrations::Registrations;
use super::rule::Rules;
use super::sending::{Carries, Leaving, Sending};
use super::whole::Whole;

/// Why a connection is over, as far as it can be seen from outside.
#[derive(Clone, Debug)]
pub(super) enum Cause {
    Closed,
    Lost(DisconnectReason),
    ConnectFailed,
    Broken(Rules),
    Negotiation(Verdict),
    Work,
    /// A timer, or the end of what was to be flushed: seen by a result that says so.
    Itself,
}

/// Use of a receive slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Slot {
    Posted {
        data: bool,
    },
    /// Holds a fragment that the upper layer has or will get.
    Borrowed,
}

/// What happened with the transport connection.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(super) struct Link {
    /// Any action but an event.
    pub(super) touched: bool,
    pub(super) started: bool,
    pub(super) connected: bool,
    pub(super) disconnect: bool,
    pub(super) over: bool,
}

/// What the upper layer was told.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(super) struct Told {
    pub(super) established: bool,
    pub(super) end: bool,
    pub(super) drained: bool,
}

/// One side.
#[derive(Clone, Debug)]
pub(super) struct Records {
    pub(super) role: Role,
    pub(super) config: Config,
    pub(super) limits: Limits,
    pub(super) recvs: Ids<Slot>,
    pub(super) sends: Ids<Carries>,
    pub(super) rdma: Ids<smbd_core::OpId>,
    pub(super) credit: Credit,
    pub(super) sending: Sending,
    pub(super) receiving: Receiving,
    pub(super) whole: Whole,
    pub(super) ops: Operations,
    pub(super) registrations: Registrations,
    pub(super) keepalive: Keepalive,
    pub(super) negotiated: Option<Negotiated>,
    /// The status with which the acceptor refuses.
    pub(super) rejecting: Option<smbd_core::wire::NtStatus>,
    pub(super) link: Link,
    pub(super) told: Told,
    pub(super) cause: Option<Cause>,
    pub(super) flush: Option<Instant>,
    /// The acceptor's response, or the initiator's request, is out.
    pub(super) greeted: bool,
    pub(super) answer_owed: bool,
    /// A `send`, an `rdma` was refused for want of room.
    pub(super) refused: [bool; 2],
    /// When time was last told, a message had waited for credits.
    pub(super) stalled: bool,
    /// Actions since the last input or command, and how many there may be.
    pub(super) actions: u32,
    pub(super) actions_max: u32,
    /// The last action was `Wait`, and nothing has happened since.
    pub(super) waiting: bool,
    /// When `Timeout` was told, if that was the last input.
    pub(super) timeout: Option<Instant>,
    pub(super) began: Option<Instant>,
    /// The latest time the connection was told.
    pub(super) heard: Instant,
    /// Names that came back, for forgeries.
    pub(super) spent: [Option<smbd_core::WrId>; 4],
}

impl Records {
    pub(super) fn new(role: Role, config: &Config) -> Self {
        let budget = config.budget();
        let limits = Limits {
            read_depth: config.read_depth,
            send_queue: u16::try_from(budget.send_queue).unwrap_or(u16::MAX),
            rdma_len_max: u32::MAX,
            registration_requests: 0,
            send_with_invalidate: false,
            reads_in_order: false,
        };
        let actions_max = 64
            + 4 * (budget.recv_slots + budget.send_queue + budget.rdma_ops + budget.registrations)
            + u32::from(config.segments_max)
            + u32::from(config.message_slots);
        Self {
            role,
            limits,
            recvs: Ids::new(budget.recv_slots),
            sends: Ids::new(budget.send_slots),
            rdma: Ids::new(budget.rdma_slots),
            credit: Credit::new(config.receive_credit_max),
            sending: Sending::new(config),
            receiving: Receiving::new(config),
            whole: Whole::default(),
            ops: Operations::new(budget.rdma_ops),
            registrations: Registrations::new(budget.registrations, config.segments_max),
            keepalive: Keepalive::new(config),
            negotiated: None,
            rejecting: None,
            link: Link::default(),
            told: Told::default(),
            cause: None,
            flush: None,
            greeted: false,
            answer_owed: false,
            refused: [false; 2],
            stalled: false,
            actions: 0,
            actions_max,
            waiting: false,
            timeout: None,
            began: None,
            heard: Instant::ORIGIN,
            spent: [None; 4],
            config: config.clone(),
        }
    }

    /// Data flow, as far as this can be seen from outside.
    pub(super) const fn is_flowing(&self) -> bool {
        self.negotiated.is_some() && self.cause.is_none() && !self.told.end
    }

    /// When the negotiation has to be over, of a connection that has begun.
    pub(super) fn negotiation_deadline(&self) -> Option<Instant> {
        let timeout = match self.role {
            Role::Initiator => self.config.active_negotiation_timeout,
            Role::Acceptor => self.config.passive_negotiation_timeout,
        };
        Some(self.began?.saturating_add(timeout))
    }

    /// Work that has not come back.
    pub(super) fn is_empty(&self) -> bool {
        self.recvs.used() == 0
            && self.sends.used() == 0
            && self.rdma.used() == 0
            && self.registrations.with_device() == 0
    }

    pub(super) fn queue_used(&self) -> u32 {
        self.sends.used() + self.rdma.used() + self.registrations.requests()
    }

    pub(super) fn end(&mut self, cause: Cause) {
        if self.cause.is_none() && !self.told.end {
            self.cause = Some(cause);
        }
    }

    /// A message arrived in a receive that was posted.
    pub(super) fn on_received(&mut self, now: Instant, input: &Input<'_>, data: bool, v: &mut Verdicts) {
        let Input::Received { id, head, len, invalidated } = *input else { return };
        if self.cause.is_some() || self.told.end || self.rejecting.is_some() {
            return;
        }
        if self.negotiated.is_some() {
            return self.on_data(now, id, head.as_bytes(), len, invalidated, v);
        }
        if data || (self.role == Role::Initiator && !self.greeted) {
            return self.end(Cause::Broken(Rules::one(super::Rule::BeforeRequest)));
        }
        if len > negotiation::RECEIVE {
            let too_long = Verdict::Broken(Rules::one(super::Rule::LongMessage));
            return self.end(Cause::Negotiation(too_long));
        }
        let verdict = match self.role {
            Role::Acceptor => negotiation::judge_request(&self.config, head.as_bytes()),
            Role::Initiator => negotiation::judge_response(&self.config, head.as_bytes()),
        };
        match verdict {
            Verdict::Settled { negotiated, target, granted } => {
                self.negotiated = Some(negotiated);
                self.sending.max_send_size = negotiated.max_send_size;
                self.receiving.max_receive_size = negotiated.max_receive_size;
                self.credit.negotiated(target, granted, self.role == Role::Initiator);
                self.keepalive.alive(now);
            }
            Verdict::RejectsPeer(status) => self.rejecting = Some(status),
            verdict @ (Verdict::Broken(_) | Verdict::Rejected(_)) => self.end(Cause::Negotiation(verdict)),
        }
    }

    fn on_data(
        &mut self,
        now: Instant,
        id: RecvId,
        head: &[u8],
        len: u32,
        invalidated: Option<smbd_core::Token>,
        v: &mut Verdicts,
    ) {
        let Ok(header) = DataTransfer::parse(head) else {
            return self.end(Cause::Broken(Rules::one(super::Rule::ShortMessage)));
        };
        let mut rules = self.receiving.judge(&header, len).and(self.credit.judge(header.credits_granted));
        if rules.is_empty()
            && let Some(token) = invalidated
        {
            let live = self.registrations.on_invalidated(token);
            rules.add_if(!live, super::Rule::ForeignInvalidation);
        }
        if !rules.is_empty() {
            return self.end(Cause::Broken(rules));
        }
        self.credit.on_message(header.credits_requested, header.credits_granted, v);
        self.keepalive.alive(now);
        self.answer_owed |= header.flags.contains(Flags::RESPONSE_REQUESTED);
        self.whole.on_fragment(&header);
        if self.receiving.on_message(id, &header) {
            // Its slot is in use until the upper layer gives it back.
            let borrowed = self.recvs.reopen(id.slot(), Slot::Borrowed);
            v.check(Law::Memory, borrowed, move || format!("{id:?} in use twice"));
        }
    }

    /// A data message or a negotiation message leaves.
    pub(super) fn on_send(&mut self, id: SendId, send: &Leaving<'_>, v: &mut Verdicts) {
        let negotiating = !self.greeted;
        v.check(Law::Actions, self.role == Role::Acceptor || self.link.connected, move || {
            format!("{id:?} posted before the connection is up")
        });
        let carries = if negotiating {
            self.greeted = true;
            let (settled, bytes) = (self.negotiated.as_ref(), send.head.as_bytes());
            let granted = negotiation::check_sent(self.role, &self.config, settled, self.rejecting, bytes, v);
            if self.role == Role::Acceptor && self.rejecting.is_none() {
                self.credit.on_response(granted, v);
            }
            Carries::Control
        } else {
            self.on_send_data(send, v)
        };
        if let Err(wrong) = self.sends.open(id.slot(), id, carries) {
            v.fail(Law::Ledger, format!("{id:?} handed out: {wrong}"));
        }
        let (used, queue) = (self.queue_used(), u32::from(self.limits.send_queue));
        v.check(Law::Memory, used <= queue, move || {
            format!("{used} places of a send queue of {queue} in use")
        });
    }

    fn on_send_data(&mut self, send: &Leaving<'_>, v: &mut Verdicts) -> Carries {
        let Ok(header) = DataTransfer::parse(send.head.as_bytes()) else {
            v.fail(Law::Wire, format!("a message of {} bytes", send.head.len()));
            return Carries::Control;
        };
        v.check(Law::Actions, self.negotiated.is_some(), || {
            "data sent before the negotiation ended".to_owned()
        });
        let flag = header.flags.contains(Flags::RESPONSE_REQUESTED);
        let wanted = self.keepalive.wants_flag();
        v.check(Law::Keepalive, flag == wanted, move || format!("flag is {flag}, should be {wanted}"));
        if send.body.is_none() {
            let ends_silence = self.ends_silence() && send.signal;
            let reason = self.answer_owed || wanted || self.credit.may_only_grant() || ends_silence;
            v.check(Law::Quiet, reason, || "an empty message without a reason".to_owned());
        }
        if flag {
            self.keepalive.on_flag_sent(self.heard);
        }
        self.answer_owed = false;
        if self.recvs.free() > 0 {
            self.credit.on_send_with_a_slot(v);
        }
        self.credit.on_send(header.credits_granted, v);
        let invalidates = self.limits.send_with_invalidate;
        self.sending.on_post(&header, send, invalidates, self.ops.writes_posted, v)
    }

    /// Whether the upper layer was told of the connection, or is about to be told.
    pub(super) const fn is_announced(&self) -> bool {
        self.told.established || self.negotiated.is_some() && self.greeted && self.link.connected
    }

    /// Whether the connection may take commands.
    pub(super) const fn takes_commands(&self) -> bool {
        self.is_announced() && self.flush.is_none() && self.is_flowing()
    }

    /// Whether a connection that closes in good order waits for sends, or for RDMA requests alone, of which no completion was asked for.
    pub(super) fn ends_silence(&self) -> bool {
        let are_sends = self.sending.is_silent() && self.sends.used() > 0;
        let are_requests = self.ops.is_silent() && self.sending.is_empty() && self.sends.used() == 0;
        self.flush.is_some() && (are_sends || are_requests)
    }

    pub(super) fn is_flushed(&self) -> bool {
        self.sending.is_empty() && self.sends.used() == 0 && self.ops.is_idle()
    }

    /// Which refused commands there is room for again.
    pub(super) fn writable(&self) -> [bool; 2] {
        [self.refused[0] && !self.sending.is_full(), self.refused[1] && !self.ops.is_full()]
    }

    /// An action, or an event, which is one.
    pub(super) fn count_action(&mut self, waits: bool, action: &impl Debug, v: &mut Verdicts) {
        v.check(Law::Bounded, waits || !self.waiting, move || {
            format!("{action:?} after a wait, and nothing happened")
        });
        self.actions += 1;
        let max = self.actions_max;
        v.check(Law::Bounded, self.actions <= max, move || format!("{max} actions without a wait"));
        v.check(Law::Drained, waits || !self.told.drained, move || format!("{action:?} after Drained"));
    }

    /// What can influence a verdict: names left out, times by their distance from `now`.
    pub(super) fn fingerprint(&self, now: Instant, into: &mut impl Hasher) {
        let relative = |at: Option<Instant>| at.map(|at| distance(at, now));
        let mut recvs: Vec<_> = self.recvs.iter().collect();
        recvs.sort_unstable();
        recvs.hash(into);
        let mut sends: Vec<_> = self.sends.iter().map(|carries| self.sending.relative(*carries)).collect();
        sends.sort_unstable();
        sends.hash(into);
        (self.rdma.used(), self.limits, self.negotiated, self.rejecting).hash(into);
        self.credit.fingerprint(into);
        self.sending.fingerprint(self.ops.writes_posted, into);
        self.receiving.fingerprint(into);
        self.ops.fingerprint(into);
        self.registrations.fingerprint(into);
        self.keepalive.fingerprint(now, into);
        (self.link, self.told, relative(self.flush), self.greeted, self.answer_owed, self.refused).hash(into);
        (self.stalled, self.actions, self.waiting, self.timeout, distance(self.heard, now)).hash(into);
        // No part of it is a time or a name.
        self.cause.as_ref().map(|cause| format!("{cause:?}")).hash(into);
        // Asked for only until there is an outcome.
        if !self.told.established && !self.told.end {
            relative(self.began).hash(into);
        }
    }

    pub(super) fn something_happened(&mut self) {
        self.waiting = false;
    }

    pub(super) fn untold(&self) -> usize {
        self.sending.untold() as usize
            + self.ops.untold() as usize
            + self.registrations.untold()
            + usize::from(self.keepalive.probing())
    }
}
