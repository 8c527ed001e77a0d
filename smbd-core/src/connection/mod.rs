//! The protocol for both roles: a state machine that takes inputs and returns actions.
//!
//! This file is the façade. Each subject has a module of its own beside it.

mod arrival;
mod closing;
mod commands;
mod completions;
mod credits;
mod fingerprint;
mod footprint;
mod getters;
mod keepalive;
mod negotiate;
mod next;
mod notice;
mod pending;
mod phase;
mod post;
mod rdma;
mod receive;
mod registration;
mod report;
mod send;
mod timers;

pub use commands::Close;
pub use credits::Credits;
pub use phase::PhaseName;
pub use registration::Segment;

use crate::stats::Stats;
use crate::{Action, Config, Input, Instant, Limits, Misuse, Negotiated, Role, WrId};
use keepalive::{IdleTimer, Probe};
use next::Next;
use pending::{Pending, PendingEvents};
use phase::{Cause, Closing, Outcome, Phase, Step};
use rdma::Rdma;
use receive::Receiver;
use registration::Registrations;
use send::{Plan, Rest, Sender};

/// One SMB Direct connection.
///
/// There are four kinds of methods. **Inputs**: [`handle`](Self::handle) takes what the backend reports. **Commands**
/// of the upper layer: `send`, `rdma`, `register`, `deregister`, `release`, `probe`, `close`. **Actions**:
/// [`poll_action`](Self::poll_action) is called until it returns [`Action::Wait`]. All others are getters. No method
/// blocks.
///
/// [`new`](Self::new) allocates all memory. The connection never sees payload, and copies none. [The crate](crate)
/// lists the laws that hold after every call.
#[derive(Clone, Debug)]
pub struct Connection {
    role: Role,
    config: Config,
    /// The latest time heard of.
    now: Instant,
    phase: Phase,
    transport: Transport,
    /// What the transport settled on; until then what the configuration reserves.
    limits: Limits,
    /// The send queue is shorter than what the configuration reserves: a place that does not come back may be the one that something else
    /// waits for.
    shares_queue: bool,
    negotiated: Option<Negotiated>,
    credits: Credits,
    receiver: Receiver,
    sender: Sender,
    /// A message is owed to a peer that asked for one (CR-13).
    answer_owed: bool,
    idle: IdleTimer,
    probe: Probe,
    stall: Option<Instant>,
    /// What it said when it last waited.
    deadline: Option<Instant>,
    rdma: Rdma,
    registrations: Registrations,
    events: PendingEvents,
    stats: Stats,
}

/// What the backend was asked, and what it said, about the transport connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Transport {
    /// An action left the core.
    touched: bool,
    /// `Connect` or `Accept` was among them.
    started: bool,
    connected: bool,
    disconnect_polled: bool,
    /// `Disconnected` or `ConnectFailed` came.
    ended: bool,
}

/// Work that left the core and is not complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Outstanding {
    /// Posted receives, including the one of the negotiation.
    pub recvs: u16,
    /// Posted sends.
    pub sends: u16,
    /// Posted RDMA requests.
    pub rdma: u16,
    /// Registrations the device is working on.
    pub registrations: u16,
    /// Fragments that the upper layer holds, or gets with its next events.
    pub borrowed: u16,
}

impl Connection {
    /// A new connection: of an initiator that connects (3.1.4.1), or of an acceptor for a connection request (3.1.7.2).
    /// The negotiation timer starts at `now`. Allocates [`Budget::core_bytes`](crate::Budget).
    #[must_use]
    pub fn new(role: Role, config: &Config, now: Instant) -> Self {
        let timeout = match role {
            Role::Initiator => config.active_negotiation_timeout,
            Role::Acceptor => config.passive_negotiation_timeout,
        };
        let limits = Limits {
            read_depth: config.read_depth,
            send_queue: u16::try_from(config.budget().send_queue).unwrap_or(u16::MAX),
            rdma_len_max: u32::MAX,
            registration_requests: 0,
            send_with_invalidate: false,
            reads_in_order: false,
        };
        Self {
            role,
            now,
            phase: Phase::Connecting { deadline: now.saturating_add(timeout), step: Step::PostReceive },
            transport: Transport::default(),
            limits,
            shares_queue: false,
            negotiated: None,
            credits: Credits::new(config.receive_credit_max),
            receiver: Receiver::new(config),
            sender: Sender::new(config),
            answer_owed: false,
            idle: IdleTimer::new(config.keepalive, now),
            probe: Probe::Idle,
            stall: None,
            deadline: None,
            rdma: Rdma::new(config),
            registrations: Registrations::new(config),
            events: PendingEvents::new(pending::capacity(config)),
            stats: Stats::default(),
            config: config.clone(),
        }
    }

    /// Handles one input. Returns at once. Time never runs backwards: an earlier `now` counts as the latest one.
    ///
    /// A fault of the peer is not an error here: it ends the connection with a reason.
    ///
    /// # Errors
    /// The input is not possible, for example a completion of work that is not outstanding: see [`Misuse`]. Nothing has
    /// changed.
    pub fn handle(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        self.now = self.now.max(now);
        self.sender.decide_again();
        // The way of all data: nothing else may happen, and little is done.
        if let Input::Received { id, ref head, len, invalidated: None } = input
            && let Some(header) = self.plain_data(id, head, len)
        {
            self.receiver.mark_borrowed(id.0);
            self.accept(id, header);
            return Ok(());
        }
        self.on_input(input)
    }

    #[inline(never)]
    fn on_input(&mut self, input: Input<'_>) -> Result<(), Misuse> {
        match input {
            Input::Received { id, ref head, len, invalidated } => {
                self.on_received(id, head, len, invalidated)
            }
            Input::Sent { id } => self.on_sent(id),
            Input::RdmaDone { id } => self.on_rdma(id, Ok(())),
            Input::Failed { id, error } => self.on_failed(id, error),
            Input::Timeout => {
                self.on_timeout();
                Ok(())
            }
            Input::Registered { id, segments, bind_complete } => {
                self.on_registered(id, segments, bind_complete)
            }
            Input::BindComplete { id } => self.registrations.on_bind_complete(id),
            Input::Deregistered { id } => self.on_deregistered(id),
            Input::Connected { limits } => self.on_connected(limits),
            Input::ConnectFailed { reason } => self.on_connect_failed(reason),
            Input::Disconnected { reason } => self.on_disconnected(reason),
        }
    }

    /// The next action. Call it until it returns [`Action::Wait`]. Carry out each action before the next call, or post
    /// consecutive work requests together.
    pub fn poll_action(&mut self) -> Action {
        self.next_action()
    }

    /// The same in its caller: a loop that drives a connection has an arm for each kind of action.
    #[inline(always)]
    pub(crate) fn next_action(&mut self) -> Action {
        match self.sender.plan {
            Plan::Run(_) => return self.post_in_run(),
            Plan::Rest(Rest { told: true, .. }) => return Action::Wait(self.deadline),
            Plan::Rest(Rest { idle, told: false }) => return self.wait_with(idle),
            Plan::Message => {
                self.sender.decide_again();
                // CR-4: the last credit may have to wait for a receive.
                if !self.credits.needs_reserve() {
                    debug_assert!(self.is_planned(), "something happened that did not end the plan");
                    return self.post_fragment();
                }
            }
            Plan::Undecided => {}
        }
        if let Phase::Established(established) = &self.phase
            && established.is_announced()
        {
            if let Some(fragment) = self.events.take_fragment() {
                return Action::Notify(fragment.event());
            }
            let next = self.next(established);
            return self.carry_out(next);
        }
        self.poll_around()
    }

    #[inline(always)]
    fn carry_out(&mut self, next: Next) -> Action {
        match next {
            Next::Response => self.post_response(),
            Next::Event => self.notify(),
            Next::Receive => self.post_receive(),
            Next::Reserve => self.post_reserve(),
            Next::Fragment => self.post_fragment(),
            Next::Empty => self.post_empty(),
            Next::Shared => self.post_shared(),
            Next::Rdma(verb) => self.post_rdma(verb),
            Next::Registration => self.post_registration(),
            Next::Finish => self.finish(),
            Next::Wait => self.rest(false),
            Next::Idle => self.rest(true),
        }
    }

    /// Before the upper layer knows of the connection, and after it has closed.
    #[cold]
    #[inline(never)]
    fn poll_around(&mut self) -> Action {
        let action = match &self.phase {
            Phase::Connecting { .. } | Phase::Negotiating { .. } | Phase::Rejecting { .. } => {
                self.poll_negotiation()
            }
            Phase::Established(established) => {
                let next = self.next_unannounced(established);
                return self.carry_out(next);
            }
            Phase::Closing(_) => self.poll_closing(),
            Phase::Drained => None,
        };
        let Some(action) = action else { return self.wait() };
        self.transport.touched |= !matches!(action, Action::Notify(_));
        action
    }

    /// Nothing else can leave of an established connection.
    #[inline(never)]
    fn rest(&mut self, idle: bool) -> Action {
        if self.credits.wants_reserve() && !self.receiver.slots.is_full() {
            // It makes nothing leave: what waits for a receive would have had this one.
            self.sender.plan = Plan::Rest(Rest { idle, told: false });
            return self.post_reserve();
        }
        self.wait_with(idle)
    }

    fn wait(&mut self) -> Action {
        self.wait_with(false)
    }

    #[inline(never)]
    fn wait_with(&mut self, idle: bool) -> Action {
        self.deadline = self.next_deadline();
        self.sender.plan = Plan::Rest(Rest { idle, told: true });
        Action::Wait(self.deadline)
    }

    /// Whether the upper layer was told, or is about to be told, of this connection.
    const fn is_announced(&self) -> bool {
        matches!(&self.phase, Phase::Established(established) if established.is_announced())
    }

    /// The one way into `Closing`. What the upper layer has not seen fails to connect; what it has seen closes (LC-1).
    fn end(&mut self, cause: Cause) {
        match &mut self.phase {
            Phase::Closing(closing) if !closing.told => return closing.outcome.refine(cause),
            Phase::Closing(_) | Phase::Drained => return,
            Phase::Connecting { .. }
            | Phase::Negotiating { .. }
            | Phase::Rejecting { .. }
            | Phase::Established(_) => {}
        }
        let outcome = if self.is_announced() {
            Outcome::Closed(cause.close_reason())
        } else {
            Outcome::ConnectFailed(cause.connect_error())
        };
        self.sender.decide_again();
        self.phase = Phase::Closing(Closing { outcome, told: false });
    }

    fn push_event(&mut self, event: Pending) {
        let pushed = self.events.push(event);
        debug_assert!(pushed, "more events than work outstanding");
    }

    fn wrong_phase(&self, input: &'static str) -> Misuse {
        Misuse::WrongPhase { input, phase: self.phase().as_str() }
    }

    fn unknown(id: impl Into<WrId>) -> Misuse {
        Misuse::UnknownWork(id.into())
    }
}
