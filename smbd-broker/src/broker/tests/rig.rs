//! A broker whose actions are read as lines of text.

use std::time::Duration;

use bytes::Bytes;
use smbd_core::{BufferDescriptorV1, Instant, Token};
use smbd_smb2::wire::{
    Dialect, Guid, Header, List, NegotiateRequest, SessionId, SessionSetupFlags, SessionSetupRequest,
    write_element,
};

use crate::broker::{
    Action, Attachment, Broker, ConnectionId, Log, OwnerId, Peer, Quotas, Settings, TransferId,
};
use crate::wire::{
    Answer, Area, Call, Command, Direction, Event, Limits, Messages, Notice, Packet, Reply, Request,
    Transfer, VERSION,
};

pub(super) const SLOT_LEN: u32 = 4096;

pub(super) fn settings() -> Settings {
    let limits = Limits {
        slot_len: SLOT_LEN,
        slots_max: 8,
        sends_max: 3,
        send_bytes_max: 100_000,
        receive_bytes_max: 1 << 20,
        transfers_max: 3,
    };
    Settings {
        limits,
        quotas: Quotas {
            memory_max: 12 * u64::from(SLOT_LEN),
            owners_max: 4,
            connections_max: 6,
            connections_of_owner_max: 3,
            rules_of_owner_max: 2,
            setup_within: Duration::from_secs(45),
        },
        ..Settings::default()
    }
}

pub(super) struct Rig {
    pub(super) broker: Broker,
    pub(super) logs: Vec<Log>,
    tags: u64,
    names: Vec<(Bytes, &'static str)>,
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(settings())
    }

    pub(super) fn with(settings: Settings) -> Self {
        let broker = Broker::new(settings, 77).expect("the parameters are valid");
        Self { broker, logs: Vec::new(), tags: 0, names: Vec::new() }
    }

    /// An owner that has said HELLO.
    pub(super) fn owner(&mut self) -> OwnerId {
        let owner = self.broker.owner_joined().expect("there is a place");
        let did = self.call(owner, Call::Hello { version: VERSION, name: "smbd".into() });
        assert!(did.concat().contains("welcome"), "{did:?}");
        owner
    }

    /// An owner that has as many slots.
    pub(super) fn owner_with(&mut self, slots: u16) -> OwnerId {
        let owner = self.owner();
        self.call(owner, Call::GetMemParams { slots });
        self.broker.memory_made(owner, true);
        self.did();
        owner
    }

    /// The default acceptor, with as many slots.
    pub(super) fn acceptor(&mut self, slots: u16) -> OwnerId {
        let owner = self.owner_with(slots);
        self.call(owner, Call::Listen { is_on: true });
        owner
    }

    pub(super) fn client(&mut self) -> ConnectionId {
        let peer = Peer { max_send_size: 50_000, max_read_write_size: 1 << 20, address: "192.0.2.7".into() };
        self.broker.connected(peer, Instant::ORIGIN).expect("there is a place")
    }

    /// A connection of an owner that has the default acceptor's place, past its SESSION_SETUP.
    pub(super) fn settled(&mut self) -> ConnectionId {
        let client = self.client();
        self.say(client, "setup", setup(0));
        client
    }

    /// A packet with one call.
    pub(super) fn call(&mut self, owner: OwnerId, call: Call) -> Vec<String> {
        self.call_with(owner, call, &[])
    }

    pub(super) fn call_with(
        &mut self,
        owner: OwnerId,
        call: Call,
        sockets: &[Option<ConnectionId>],
    ) -> Vec<String> {
        self.tags += 1;
        let mut packet = Packet::new();
        Request { tag: self.tags, call }.write(&mut packet);
        self.broker.owner_packet(owner, packet.bytes(), sockets);
        self.did()
    }

    pub(super) fn attach(&mut self, owner: OwnerId, connection: ConnectionId) -> Vec<String> {
        self.call_with(owner, Call::Attach, &[Some(connection)])
    }

    pub(super) fn hold_session(&mut self, owner: OwnerId, session_id: u64) -> Vec<String> {
        self.call(owner, Call::SetSessionId { session_id, is_held: true })
    }

    /// A message of the client, with a name by which it is known from then on.
    pub(super) fn say(
        &mut self,
        client: ConnectionId,
        name: &'static str,
        message: impl Into<Bytes>,
    ) -> Vec<String> {
        let message = message.into();
        self.name(name, message.clone());
        self.broker.received(client, message);
        self.did()
    }

    pub(super) fn name(&mut self, name: &'static str, message: impl Into<Bytes>) {
        self.names.push((message.into(), name));
    }

    pub(super) fn order(&mut self, connection: ConnectionId, commands: &[Command<'_>]) -> Vec<String> {
        let mut packet = Packet::new();
        for command in commands {
            command.write(&mut packet);
        }
        self.broker.packet(connection, packet.bytes());
        self.did()
    }

    /// An owner sends a message in one piece, which has its name as bytes.
    pub(super) fn send(&mut self, connection: ConnectionId, name: &'static str) -> Vec<String> {
        self.name(name, name);
        self.order(connection, &[Command::Send { remaining: 0, invalidate: None, bytes: name.as_bytes() }])
    }

    pub(super) fn transfer(&mut self, connection: ConnectionId, tag: u64, slots: &[u16]) -> Vec<String> {
        self.order(connection, &[Command::Rdma { tag, transfer: transfer(slots, 100) }])
    }

    pub(super) fn done(&mut self, connection: ConnectionId, transfer: u64) -> Vec<String> {
        self.broker.transfer_done(connection, TransferId(transfer), true);
        self.did()
    }

    pub(super) fn ended(&mut self, connection: ConnectionId) -> Vec<String> {
        self.broker.ended(connection, "flushed".into());
        self.did()
    }

    /// All that is to be done, each in a line.
    pub(super) fn did(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(action) = self.broker.poll() {
            match action {
                Action::Log(log) => self.logs.push(log),
                Action::ToSocket { connection, packet } => self.events(connection, &packet, &mut lines),
                Action::ToOwner { owner, packet, attachment } => {
                    lines.push(format!("{} <- {}{}", owner.0, told(&packet), attached(owner, attachment)));
                }
                other => lines.push(self.line(&other)),
            }
        }
        lines
    }

    fn line(&self, action: &Action) -> String {
        match action {
            Action::CloseOwner(owner) => format!("{} closed", owner.0),
            Action::MakeMemory { owner, first, count } => format!("{} make {first}+{count}", owner.0),
            Action::FreeMemory(owner) => format!("{} free", owner.0),
            Action::CloseSocket(connection) => format!("c{} socket closed", connection.0),
            Action::DrainSocket(connection) => format!("c{} drain", connection.0),
            Action::Negotiate { connection, request } => {
                format!("c{} negotiate {}", connection.0, self.known(request))
            }
            Action::Send { connection, message, .. } => {
                format!("c{} send {}", connection.0, self.known(message))
            }
            Action::Transfer { connection, id, owner, areas, .. } => {
                let slots: Vec<_> = areas.iter().map(|area| area.slot).collect();
                format!("c{} transfer {} of {} {slots:?}", connection.0, id.0, owner.0)
            }
            Action::Disconnect { connection, within } => format!("c{} disconnect {within}", connection.0),
            other => panic!("{other:?} has no line"),
        }
    }

    fn events(&self, ConnectionId(id): ConnectionId, packet: &Packet, lines: &mut Vec<String>) {
        let mut begun = Vec::new();
        for message in Messages::of(packet.bytes()) {
            let event = Event::parse(&message.expect("a message")).expect("an event");
            lines.push(match event {
                Event::Received { age, remaining, bytes } => {
                    begun.extend_from_slice(bytes);
                    if remaining > 0 {
                        continue;
                    }
                    let message = std::mem::take(&mut begun);
                    format!("c{id} <- {age:?} {}", self.known(&message))
                }
                Event::Sent { count } => format!("c{id} <- sent {count}"),
                Event::RdmaDone { tag, is_success } => format!("c{id} <- rdma {tag} {is_success}"),
                Event::Lost { why } => format!("c{id} <- lost: {why}"),
                other @ Event::Invalidated { .. } => panic!("{other:?}"),
            });
        }
    }

    fn known(&self, message: &[u8]) -> &'static str {
        self.names.iter().find(|(known, _)| known == message).expect("it is known").1
    }
}

fn told(packet: &Packet) -> String {
    let message = Messages::of(packet.bytes()).next().expect("one").expect("a message");
    if let Some(Answer { tag, result }) = Answer::parse(&message).expect("valid") {
        return match result {
            Ok(Reply::Done) => format!("{tag} done"),
            Ok(Reply::Welcome(_)) => format!("{tag} welcome"),
            Ok(Reply::Memory(memory)) => {
                format!("{tag} memory {}+{} of {}", memory.first, memory.count, memory.total)
            }
            Ok(Reply::Attached { connection }) => format!("{tag} attached c{connection}"),
            Err(refusal) => format!("{tag} refused: {refusal:?}"),
        };
    }
    match Notice::parse(&message).expect("valid").expect("a notice") {
        Notice::New(new) => {
            let negotiated = if new.is_negotiated { ", negotiated" } else { "" };
            format!("new c{} by {:?}{negotiated}", new.connection, new.rule)
        }
        Notice::Moved { connection } => format!("moved c{connection}"),
        Notice::Fault { why } => format!("fault: {why}"),
    }
}

fn attached(to: OwnerId, attachment: Option<Attachment>) -> String {
    match attachment {
        None => String::new(),
        Some(Attachment::Socket(connection)) => format!(" +socket c{}", connection.0),
        Some(Attachment::Memory { owner, first }) => {
            assert_eq!(owner, to, "memory of another owner");
            format!(" +memory {first}")
        }
    }
}

pub(super) fn transfer(slots: &[u16], len: u32) -> Transfer {
    let areas = slots.iter().map(|slot| Area { slot: *slot, len }).collect();
    let remote = vec![BufferDescriptorV1 { offset: 0, token: Token(7), length: 1 << 20 }];
    Transfer { direction: Direction::Read, offset: 0, remote, areas }
}

pub(super) fn negotiate(guid: [u8; 16]) -> Bytes {
    let request = NegotiateRequest {
        client_guid: Guid(guid),
        dialects: List::from(&[Dialect::SMB_3_0, Dialect::SMB_3_0_2]),
        ..NegotiateRequest::default()
    };
    element(Header::request::<NegotiateRequest<'_>>(0), &request)
}

/// SESSION_SETUP that binds a session; another one for session 0.
pub(super) fn setup(session_id: u64) -> Bytes {
    let flags = if session_id == 0 { SessionSetupFlags::NONE } else { SessionSetupFlags::BINDING };
    let header =
        Header { session_id: SessionId(session_id), ..Header::request::<SessionSetupRequest<'_>>(1) };
    element(
        header,
        &SessionSetupRequest { flags, security_buffer: b"token", ..SessionSetupRequest::default() },
    )
}

fn element(header: Header, body: &impl smbd_smb2::wire::CommandBody) -> Bytes {
    let mut bytes = Vec::new();
    write_element(&mut bytes, &header, body).expect("there is room");
    bytes.into()
}
