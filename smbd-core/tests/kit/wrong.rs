//! The reference with one thing wrong at a time.
#![expect(clippy::wildcard_enum_match_arm, reason = "a fault is about few of many variants")]

mod end;
mod filter;

use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::backend::kit::reference::{Reference, ReferenceBuffer, ReferenceFixture};
use smbd_core::backend::kit::{self, Capabilities, Fixture, Lab, Peer, Situation};
use smbd_core::{BufferDescriptorV1, Config, Input, RecvId, RegId, Role, SendId};

use end::{Held, WrongBackend};

/// What is wrong, and the line that says so.
macro_rules! faults {
    ($($fault:ident => $line:literal),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($fault),* }

        const FAULTS: &[(Fault, &str)] = &[$((Fault::$fault, $line)),*];
    };
}

faults! {
    ConnectedTwice => "connect.answered-once",
    EarlyMessageLost => "connect.receive-before-connected",
    ChainedPastAccept => "connect.receive-before-accept",
    RefusalWithoutReason => "connect.refused",
    DisconnectedAfterConnectFailed => "connect.unreachable",
    ReceivesLostWithConnectFailed => "connect.timed-out",
    GivingUpIgnored => "connect.given-up",
    LateAnswerReported => "connect.given-up",
    DisconnectedTwice => "end.both-at-once",
    ClockGoesBack => "time.never-goes-back",
    PeersEndCalledOwn => "end.own-disconnect",
    PeersCloseNotTold => "end.peer-closed",
    MessagesSwapped => "order.messages",
    WritesLast => "order.write-before-send",
    ReceivesOneDoorbellLate => "order.receive-before-grant",
    UnsignalledForgotten => "completion.unsignalled",
    RdmaFirst => "completion.mixed",
    ReadsLate => "completion.read-in-order",
    FlushedSendsForgotten => "completion.own-disconnect",
    FlushedTwice => "completion.own-disconnect",
    PeerDisconnectIgnored => "completion.peer-disconnect",
    EndBeforeCauses => "completion.before-the-end",
    DeregisteredBeforeMessages => "completion.before-deregistered",
    LatePostsForgotten => "completion.posted-after-the-end",
    FlushedCalledRefused => "refusal.of-a-send",
    RefusedReceivesForgotten => "refusal.of-a-receive",
    ConnectsWithoutReceive => "refusal.of-the-first-receive",
    AcceptsWithoutReceive => "refusal.of-the-first-receive",
    AcceptsAndSaysItFailed => "refusal.of-the-first-receive",
    RequestLeftUnanswered => "refusal.of-the-first-receive",
    LengthOfTheBuffer => "receive.length",
    InPlaceForgotten => "receive.gather",
    Truncates => "receive.too-long",
    OneBufferForAll => "receive.own-buffer",
    BuffersFreedAtDisconnect => "receive.after-the-end",
    QueueOfOne => "limits.sane",
    QueueOverstated => "limits.send-queue",
    OverflowLost => "limits.send-queue-overflow",
    SecondReadFails => "limits.read-depth",
    ThirdReadLost => "limits.read-depth-overflow",
    WritesOneByteOff => "rdma.write",
    NoSegments => "rdma.write",
    ReadsOneByteOff => "rdma.read",
    SegmentsUnderstated => "rdma.bounds",
    EveryRightGiven => "rdma.rights",
    RefusedReadsCalledDone => "rdma.rights",
    TokensNeverDie => "rdma.dead-token",
    OneDomain => "rdma.foreign-token",
    MemoryNotKept => "rdma.handles",
    InvalidationHidden => "invalidation.reported",
    InvalidatesTwice => "invalidation.deregistered",
}

/// The reference with a fault.
pub struct Wrong(Fault);

pub struct WrongFixture {
    inner: ReferenceFixture,
    fault: Fault,
    states: [State; 4],
}

/// What a faulty end remembers.
#[derive(Default)]
pub struct State {
    out: VecDeque<Out>,
    segments: Vec<BufferDescriptorV1>,
    kept: Option<Input<'static>>,
    late_receives: Vec<(RecvId, u32)>,
    held: Vec<Held>,
    unsignalled: Vec<SendId>,
    rooms: Vec<(RecvId, u32)>,
    last: Option<RecvId>,
    connected: bool,
    failed: bool,
    disconnecting: bool,
    disconnected: bool,
    reads: u32,
    /// Refuses a receive before it is connected, and goes on all the same.
    refuses_first: bool,
}

pub enum Out {
    Plain(Input<'static>),
    /// With the segments of the state.
    Registered(RegId, bool),
}

impl Lab for Wrong {
    type Fixture = WrongFixture;

    fn capabilities(&self) -> Capabilities {
        Reference::default().capabilities()
    }

    fn fixture(&mut self, situation: Situation, config: &Config) -> Result<WrongFixture, String> {
        let mut reference = Reference {
            separate_domains: self.0 != Fault::OneDomain,
            keeps_memory: self.0 != Fault::MemoryNotKept,
            late_reads: self.0 == Fault::ReadsLate,
            ..Reference::default()
        };
        let inner = reference.fixture(situation, config)?;
        Ok(WrongFixture { inner, fault: self.0, states: Default::default() })
    }
}

impl Fixture for WrongFixture {
    type Buffer = ReferenceBuffer;
    type Backend<'a> = WrongBackend<'a>;

    fn backend(&mut self, end: Peer) -> WrongBackend<'_> {
        let state = &mut self.states[index(end)];
        WrongBackend { inner: self.inner.backend(end), fault: self.fault, state }
    }

    fn pass(&mut self, time: Duration) {
        self.inner.pass(time);
    }

    fn refuse_after(&mut self, end: Peer, accepted: usize) {
        let goes_on = match end.role {
            Role::Initiator => self.fault == Fault::ConnectsWithoutReceive,
            Role::Acceptor => {
                matches!(self.fault, Fault::AcceptsWithoutReceive | Fault::AcceptsAndSaysItFailed)
            }
        };
        let state = &mut self.states[index(end)];
        if goes_on && !state.connected {
            state.refuses_first = true;
        } else {
            self.inner.refuse_after(end, accepted);
        }
    }
}

fn index(end: Peer) -> usize {
    let all = [Peer::INITIATOR, Peer::ACCEPTOR, Peer::SECOND_INITIATOR, Peer::SECOND_ACCEPTOR];
    all.iter().position(|other| *other == end).unwrap()
}

#[test]
fn every_line_finds_the_backend_that_breaks_it() {
    let mut table = String::new();
    for (fault, line) in FAULTS {
        let report = kit::run(&mut Wrong(*fault));
        assert!(!report.passed());
        let broken: Vec<_> = report.broken().map(|outcome| outcome.id).collect();
        assert!(broken.contains(line), "{fault:?} passes {line}:\n{report}");
        let others: Vec<_> = broken.into_iter().filter(|other| other != line).collect();
        table += &format!("{fault:?}: {line}, also [{}]\n", others.join(" "));
    }
    insta::assert_snapshot!(table);
}

#[test]
fn every_line_has_its_wrong_backend() {
    let lines: Vec<_> = kit::lines::<Reference>().iter().map(|line| line.id).collect();
    let mut covered: Vec<_> = FAULTS.iter().map(|(_, line)| *line).collect();
    covered.dedup();
    assert_eq!(lines, covered);
}
