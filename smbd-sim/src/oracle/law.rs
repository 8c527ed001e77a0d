use crate::Breach;
use crate::named::named;
use crate::probe::At;

named! {
    /// What is checked of a run, from outside: the ten laws of `smbd-core` and what they rest on.
    pub enum Law {
        /// Law 1: every id handed out ends in exactly one completion or failure; made-up ones change nothing.
        Ledger = "ledger",
        /// Law 2: `Drained` comes once, last, with nothing outstanding, and comes as soon as it can.
        Drained = "drained",
        /// Law 3: what the peer may use never exceeds what is posted.
        Covered = "covered grants",
        /// Law 4: nothing is sent without a credit, and the last one is spent only on a message that grants.
        Credits = "credits",
        /// Law 5: a receive is posted before the send that grants it, and each is granted once.
        Order = "receive before grant",
        /// Law 6: between two inputs a bounded number of actions, then `Wait` for ever.
        Bounded = "bounded work",
        /// Law 7: nothing outstanding exceeds what the budget reserves.
        Memory = "bounded memory",
        /// Law 8: an empty message has a reason, and idle peers are silent until the keepalive.
        Quiet = "quiet",
        /// Law 9: a token is invalidated once, and only while it is valid.
        Tokens = "tokens",
        /// Law 10: every command ends in exactly one result, before `Closed`.
        Results = "results",
        /// Events come in the order of a life, received data in the order of arrival.
        Events = "events",
        /// Actions come in the order of a life: one `Connect`, one `Disconnect`, nothing between that and `Drained`.
        Actions = "actions",
        /// A connection ends for the reason that was there, and for none that was not.
        Reasons = "reasons",
        /// Commands are taken and refused as documented.
        Commands = "commands",
        /// Both sides work out the same from the negotiation (3.1.5.6, 3.1.5.7).
        Negotiation = "negotiation",
        /// Fields of every message (2.2), sizes within what the peer announced.
        Wire = "wire format",
        /// Fragments are cut as 3.1.5.4 has it, unbroken, with exact remainders.
        Fragments = "fragments",
        /// Receives posted follow the peer's target (3.1.5.9, CR-5), and every message grants all there is (CR-1).
        Window = "window",
        /// Slices of RDMA operations cover the range once, within limits; a message waits for the writes before it.
        Rdma = "rdma",
        /// The flag is set by the idle timer or a probe, and by nothing else (KA-1); probes report true times.
        Keepalive = "keepalive",
        /// A deadline lies ahead, and no later than the earliest timer.
        Timers = "timers",
        /// What can be done is done before the connection waits.
        Progress = "progress",
        /// What arrives is, byte for byte, what was sent, once and in order.
        Delivery = "delivery",
        /// RDMA moved the right bytes.
        Content = "rdma content",
        /// The device found nothing broken.
        Device = "device",
        /// The loop between connection and backend hands every input over, in order, rings the doorbell before it waits, tells
        /// every deadline, and waits for nothing else.
        Driven = "driven",
        /// What is reported of each request, from completions or without, is what became of it: once, in order.
        Reported = "reported",
        /// An endpoint hands up each message once, whole, borrowed as long as it may be, and takes no more memory than has arrived;
        /// the bytes of a message sent come back with its result.
        Messages = "messages",
        /// The transport connection is reported as it was: one answer, one end, the end behind everything before it.
        LinkReported = "link reported",
        /// After the faults are over, everything is done in bounded time.
        Liveness = "liveness",
        /// In the end no buffer, token or slot is left behind.
        Leaks = "leaks",
    }
}

impl Law {
    /// The law that a breach is one of.
    pub(crate) const fn of(breach: &Breach) -> Self {
        match breach {
            Breach::DoubleInvalidation(_) | Breach::LeftOpen(_) => Self::Tokens,
            Breach::Misuse(_) => Self::Ledger,
            Breach::Drive(_) => Self::Driven,
            Breach::Report { .. }
            | Breach::NotReported(_)
            | Breach::RefusedWithRoom(_)
            | Breach::Completion(_) => Self::Reported,
            Breach::Endpoint(_) => Self::Messages,
            Breach::EndTooEarly | Breach::LinkReport(_) => Self::LinkReported,
            Breach::Endless(_) => Self::Bounded,
            _ => Self::Device,
        }
    }
}

/// How many there are.
pub(crate) const LAWS: usize = Law::ALL.len();

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which.
    pub law: Law,
    /// Where and when.
    pub at: At,
    /// What was seen.
    pub what: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nanos = self.at.now.as_nanos();
        let (law, side) = (self.law.name(), self.at.side.short());
        write!(f, "{law}: {side} at {}.{:03} us: {}", nanos / 1000, nanos % 1000, self.what)
    }
}

/// How often each law was looked at, and the first that was broken.
#[derive(Clone, Debug)]
pub struct Verdicts {
    at: At,
    counts: [u64; LAWS],
    failure: Option<Failure>,
}

impl Verdicts {
    pub(crate) const fn new(at: At) -> Self {
        Self { at, counts: [0; LAWS], failure: None }
    }

    pub(crate) const fn at(&mut self, at: At) {
        self.at = at;
    }

    /// Looks at a law once. A `what` that shows a few numbers owns them (`move`): what it borrows has to lie in memory for it,
    /// at every look.
    #[inline]
    pub(crate) fn check(&mut self, law: Law, holds: bool, what: impl FnOnce() -> String) {
        self.counts[law as usize] += 1;
        if !holds {
            self.fail_with(law, what);
        }
    }

    // A function of its own: what is only for a report stays out of those that look.
    #[cold]
    #[inline(never)]
    fn fail_with(&mut self, law: Law, what: impl FnOnce() -> String) {
        self.fail(law, what());
    }

    /// Laws that something else has looked at, so many times each, and found whole.
    pub(crate) fn hold<const N: usize>(&mut self, laws: [Law; N], times: u64) {
        for law in laws {
            self.counts[law as usize] += times;
        }
    }

    #[cold]
    pub(crate) fn fail(&mut self, law: Law, what: String) {
        if self.failure.is_none() {
            self.failure = Some(Failure { law, at: self.at, what });
        }
    }

    /// The first failure.
    #[must_use]
    pub const fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// How often a law was looked at.
    #[must_use]
    pub const fn count(&self, law: Law) -> u64 {
        self.counts[law as usize]
    }
}
