//! Two connections on a perfect wire.

use std::collections::VecDeque;

use smbd_core::{
    Action, Config, Connection, Event, Head, Input, Instant, Limits, Params, RecvId, Role, SendId,
};

pub const NOW: Instant = Instant::ORIGIN;
pub const LIMITS: Limits = Limits {
    read_depth: 16,
    send_queue: u16::MAX,
    rdma_len_max: u32::MAX,
    registration_requests: 0,
    send_with_invalidate: true,
    reads_in_order: true,
};

/// A message on the wire: what the receiver is told of it.
#[derive(Clone, Copy)]
pub struct Message {
    pub id: SendId,
    pub head: Head,
    pub len: u32,
}

pub struct Side {
    pub connection: Connection,
    pub posted: VecDeque<RecvId>,
    pub sent: VecDeque<Message>,
}

impl Side {
    pub fn new(role: Role, params: &Params) -> Self {
        let config = Config::try_from(params.clone()).expect("valid parameters");
        let connection = Connection::new(role, &config, NOW);
        Self { connection, posted: VecDeque::new(), sent: VecDeque::new() }
    }

    /// Carries out actions, polled by `poll`, until there is nothing to do.
    pub fn drain(&mut self, poll: fn(&mut Connection) -> Action) {
        loop {
            let action = poll(&mut self.connection);
            if matches!(action, Action::Wait(_)) {
                return;
            }
            self.carry_out(action);
        }
    }

    /// Remembers what is posted; fragments are released at once.
    fn carry_out(&mut self, action: Action) {
        if let Action::PostRecv { id, .. } = action {
            self.posted.push_back(id);
        } else if let Action::PostSend { id, head, body, .. } = action {
            let len = head.len() + body.map_or(0, |body| body.len);
            // What stands in the payload is of no interest, but the head of a long message is 32 bytes.
            let mut bytes = head.as_bytes().to_vec();
            bytes.resize(len.min(32) as usize, 0);
            self.sent.push_back(Message { id, head: Head::of(&bytes), len });
        } else if let Action::Notify(Event::Data(fragment)) = action {
            self.connection.release(NOW, fragment).expect("own fragment");
        }
    }

    /// Polls exactly `count` sends, without a look at anything else that may come.
    pub fn poll_sends(&mut self, count: u32) {
        for _ in 0..count {
            let action = self.connection.poll_action();
            assert!(matches!(action, Action::PostSend { .. }), "{action:?} is no send");
            self.carry_out(action);
        }
    }

    /// What arrives here when the peer has sent `message`.
    pub fn arrival(&mut self, message: Message) -> Input<'static> {
        let id = self.posted.pop_front().expect("a posted receive");
        Input::Received { id, head: message.head, len: message.len, invalidated: None }
    }
}

pub type Handle = fn(&mut Connection, Instant, Input<'_>) -> Result<(), smbd_core::error::Misuse>;

/// How the connections of a pair are called: directly, or through entry points that are measured.
#[derive(Clone, Copy)]
pub struct Calls {
    pub handle: Handle,
    pub poll: fn(&mut Connection) -> Action,
}

pub const UNMEASURED: Calls = Calls { handle: Connection::handle, poll: Connection::poll_action };

pub struct Pair {
    pub initiator: Side,
    pub acceptor: Side,
}

impl Pair {
    pub fn new(params: &Params) -> Self {
        Self { initiator: Side::new(Role::Initiator, params), acceptor: Side::new(Role::Acceptor, params) }
    }

    pub fn established(params: &Params) -> Self {
        let mut pair = Self::new(params);
        pair.connect(UNMEASURED);
        for side in [&pair.initiator, &pair.acceptor] {
            assert!(side.connection.credits().send() > 250, "(nearly) all credits are granted");
        }
        pair
    }

    /// From nothing to both sides established, with all credits granted.
    pub fn connect(&mut self, calls: Calls) {
        self.drain(calls);
        for side in [&mut self.initiator, &mut self.acceptor] {
            (calls.handle)(&mut side.connection, NOW, Input::Connected { limits: LIMITS })
                .expect("connected");
        }
        self.run(calls);
    }

    /// Until both sides wait and nothing is on the wire.
    pub fn run(&mut self, calls: Calls) {
        loop {
            self.drain(calls);
            let moved = carry(&mut self.initiator, &mut self.acceptor, calls);
            if !carry(&mut self.acceptor, &mut self.initiator, calls) && !moved {
                return;
            }
        }
    }

    fn drain(&mut self, calls: Calls) {
        self.initiator.drain(calls.poll);
        self.acceptor.drain(calls.poll);
    }
}

/// Carries all messages of one side to the other. False if there are none.
fn carry(from: &mut Side, to: &mut Side, calls: Calls) -> bool {
    let any = !from.sent.is_empty();
    while let Some(message) = from.sent.pop_front() {
        let arrival = to.arrival(message);
        (calls.handle)(&mut to.connection, NOW, arrival).expect("a posted receive");
        (calls.handle)(&mut from.connection, NOW, Input::Sent { id: message.id }).expect("a posted send");
    }
    any
}
