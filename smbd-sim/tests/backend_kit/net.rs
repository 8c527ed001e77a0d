use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use smbd_core::backend::LinkReports;
use smbd_core::backend::kit::Situation;
use smbd_core::error::{ConnectReason, WorkError};
use smbd_core::{BufferDescriptorV1, Input, Instant, RegId, WrId};
use smbd_sim::memory::{Buffer, DomainId};
use smbd_sim::nic::{Nic, NicConfig, Packet, Personality, Reply, Response};

/// After which a request without an answer fails.
const RETRY: Duration = Duration::from_millis(20);
/// After which a connect attempt without an answer fails.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(50);

/// Four ends, each with a device, and wires on which everything takes one turn.
pub struct Net {
    pub situation: Situation,
    pub now: Instant,
    pub ends: [EndState; 4],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Idle,
    Waiting(Instant),
    Up,
    /// Over, as far as this end is concerned.
    Down,
}

pub struct EndState {
    pub nic: Nic,
    pub link: Link,
    pub news: LinkReports,
    pub out: VecDeque<Out>,
    /// Segments of the registration that was reported last.
    pub reported: Vec<BufferDescriptorV1>,
    pub refuse_after: Option<usize>,
    pub refusing: bool,
    /// The peer is to be told of the end.
    pub leaving: bool,
    /// Told of the connection after the first message.
    pub late: bool,
    pub packets: Vec<Packet>,
    replies: Vec<Reply>,
    give_up: Vec<(Instant, u64)>,
    /// Memory that the device may touch.
    pub held: BTreeMap<WrId, Rc<Buffer>>,
    pub registrations: BTreeMap<RegId, Registration>,
    /// Everything allocated on this host.
    pub memory: Vec<Rc<Buffer>>,
    /// Length of the message in each receive buffer.
    pub lengths: BTreeMap<u16, usize>,
}

pub enum Out {
    Input(Input<'static>),
    Registered { id: RegId, segments: Vec<BufferDescriptorV1>, settled: bool },
}

pub struct Registration {
    pub segments: Vec<BufferDescriptorV1>,
    /// Work requests on the send queue.
    pub requests: usize,
    pub error: Option<WorkError>,
    pub invalidating: bool,
}

impl Net {
    pub fn new(situation: Situation, config: &NicConfig) -> Self {
        let end = |index: usize| EndState {
            nic: Nic::new(config.clone(), domain(index)),
            link: Link::Idle,
            news: LinkReports::default(),
            out: VecDeque::new(),
            reported: Vec::new(),
            refuse_after: None,
            refusing: false,
            leaving: false,
            late: situation == Situation::LateConnected && index == 1,
            packets: Vec::new(),
            replies: Vec::new(),
            give_up: Vec::new(),
            held: BTreeMap::new(),
            registrations: BTreeMap::new(),
            memory: Vec::new(),
            lengths: BTreeMap::new(),
        };
        Self { situation, now: Instant::ORIGIN, ends: std::array::from_fn(end) }
    }

    pub fn pass(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
        let packets = self.ends.each_mut().map(|end| std::mem::take(&mut end.packets));
        let replies = self.ends.each_mut().map(|end| std::mem::take(&mut end.replies));
        for index in 0..4 {
            self.link(index);
        }
        for (from, packets) in packets.into_iter().enumerate() {
            packets.into_iter().for_each(|packet| self.deliver(from ^ 1, packet));
        }
        for (from, replies) in replies.into_iter().enumerate() {
            for reply in replies {
                let [here, there] = self.pair(from ^ 1);
                if here.nic.reply(reply, &mut there.nic) {
                    here.lose();
                }
            }
        }
        for end in &mut self.ends {
            let due: Vec<_> = end.give_up.extract_if(.., |(at, _)| *at <= self.now).collect();
            due.into_iter().for_each(|(_, seq)| end.nic.give_up(seq));
            end.free_unused();
        }
        for index in 0..4 {
            if std::mem::take(&mut self.ends[index].leaving) {
                self.peer_gone(index ^ 1);
            }
        }
    }

    fn pair(&mut self, index: usize) -> [&mut EndState; 2] {
        self.ends.get_disjoint_mut([index, index ^ 1]).unwrap()
    }

    fn link(&mut self, index: usize) {
        let (situation, now) = (self.situation, self.now);
        let [here, there] = self.pair(index);
        let Link::Waiting(since) = here.link else { return };
        let timed_out = now.saturating_since(since) >= CONNECT_TIMEOUT;
        let reason = match situation {
            Situation::Refused => Some(ConnectReason::Refused),
            Situation::Unreachable => Some(ConnectReason::Unreachable),
            Situation::Silent => timed_out.then_some(ConnectReason::TimedOut),
            Situation::Connects | Situation::TwoConnections | Situation::LateConnected => None,
        };
        if let Some(reason) = reason {
            here.link = Link::Down;
            here.news.connect_failed(reason);
        } else if situation != Situation::Silent && matches!(there.link, Link::Waiting(_) | Link::Up) {
            here.link = Link::Up;
            let limits = here.nic.config.limits(there.nic.config.read_depth);
            here.nic.establish(limits.read_depth);
            if !here.late {
                here.news.connected(limits);
            }
        }
    }

    fn deliver(&mut self, to: usize, packet: Packet) {
        let now = self.now;
        let [here, there] = self.pair(to);
        let seq = packet.seq();
        match here.nic.receive(packet, &mut there.nic) {
            Response::Reply(reply) => here.replies.push(reply),
            Response::Quiet => {}
            Response::Lost => there.give_up.push((now.saturating_add(RETRY), seq)),
            Response::Terminated(reply) => {
                here.replies.push(reply);
                here.lose();
            }
        }
    }

    fn peer_gone(&mut self, index: usize) {
        let end = &mut self.ends[index];
        if matches!(end.link, Link::Up | Link::Waiting(_)) {
            if end.nic.config.personality == Personality::Iwarp {
                end.nic.flush();
            }
            end.lose();
        }
    }
}

impl EndState {
    pub fn lose(&mut self) {
        self.link = Link::Down;
        self.news.disconnected();
    }

    pub fn fail(&mut self, id: impl Into<WrId>, error: WorkError) {
        self.out.push_back(Out::Input(Input::Failed { id: id.into(), error }));
    }

    /// Frees what neither the upper layer nor the device has any more.
    fn free_unused(&mut self) {
        for buffer in self.memory.extract_if(.., |buffer| Rc::strong_count(buffer) == 1) {
            self.nic.buffers.free(*buffer);
        }
    }
}

/// Each connection has its own.
pub fn domain(index: usize) -> DomainId {
    DomainId(u32::try_from(index / 2).unwrap())
}
