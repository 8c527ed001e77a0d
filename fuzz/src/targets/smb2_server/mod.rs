//! A server of SMB2, and a client that sends whatever it likes.

mod come;
mod protect;
mod setting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smbd_smb2::security::{Initiator, NtHash, NtlmClient, Step};
use smbd_smb2::server::{
    Action, Client, Files, LinkId, Memory, Operation, OperationId, Params, Server, Share, Transport,
};
use smbd_smb2::wire::{
    Command, Elements, Guid, Header, MessageId, NtStatus, SessionId, SessionSetupFlags, SessionSetupRequest,
    SessionSetupResponse, Target, TreeId, header, write_element,
};

use self::protect::Protect;
use self::setting::Setting;
use super::security::{fresh, tester};
use crate::replay::trace;

/// The time of `fresh`.
const NOW: u64 = 0x01dd_5b3a_0000_0000;
const OPENS_MAX: usize = 8;
/// Steps of a run, so that it ends in time.
const STEPS_MAX: usize = 64;
/// Connections of a run.
const LINKS_MAX: usize = 4;

/// Bits of a step: a message is protected with the client's keys; then one of its bytes is changed; it is encrypted.
const PROTECTED: u8 = 0x40;
const CHANGED: u8 = 0x10;
const SEALED: u8 = 0x20;

/// The first byte says how far the client has come by itself: nowhere, NEGOTIATE, logged in, or connected to a share. With bit 5 of it, two
/// bytes follow that say how sessions are protected. Then, each time, a byte that says what happens: a message with its length, the end
/// of an operation or of a transfer. With bit 4 of the first byte, a session can have several connections, and bit 7 of a step is about
/// them: another one, one that is lost, one that binds the session.
pub fn smb2_server(data: &[u8]) {
    let Some((phase, mut data)) = data.split_first() else { return };
    let mut setting = Setting::PLAIN;
    if phase & 32 != 0 {
        let Some((bytes, rest)) = data.split_first_chunk() else { return };
        (setting, data) = (Setting::of(*bytes), rest);
    }
    let has_channels = phase & 16 != 0;
    let mut host = Host::new(phase & 8 == 0, has_channels, setting);
    for come in 0..(phase & 3) {
        host.come(come);
    }
    assert_eq!(host.session_id == SessionId::NONE, phase & 3 < 2, "the client has logged in");
    assert_eq!(host.tree_id == TreeId::NONE, phase & 3 < 3, "the client is connected");
    for _ in 0..STEPS_MAX {
        let Some(([kind, choice], rest)) = data.split_first_chunk() else { break };
        data = rest;
        let choice = usize::from(*choice);
        match kind % 8 {
            step if has_channels && kind & 0x80 != 0 => {
                let (token, rest) = data.split_at(data.len().min(choice));
                data = rest;
                host.channels(step, choice, token);
            }
            0..=3 => {
                let (message, rest) = data.split_at(data.len().min(choice.saturating_mul(2)));
                data = rest;
                let mut message = message.to_vec();
                // With the ids that are valid, so that more than the window is looked at.
                if kind % 8 > 1 {
                    host.fit(&mut message);
                }
                if kind & PROTECTED != 0 {
                    host.protect.protect(&mut message, host.session_id, kind & SEALED != 0);
                    if kind & CHANGED != 0 {
                        let at = choice.wrapping_mul(7) % message.len().max(1);
                        message.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 0x20);
                    }
                }
                host.receive(&mut message);
            }
            4 | 5 if !host.held.is_empty() => {
                let (id, operation) = host.held.remove(choice % host.held.len());
                host.carry_out(id, operation);
            }
            6 if !host.transfers.is_empty() => {
                let (_, id) = host.transfers.remove(choice % host.transfers.len());
                let ended = host.connection.rdma_done(NOW, id, choice != 255);
                assert!(ended.is_ok() || host.is_over);
            }
            7 if kind & PROTECTED != 0 => host.write_transformed(choice, kind & CHANGED != 0),
            _ => {
                let id = OperationId(1 << 40);
                assert!(host.is_over || host.connection.rdma_done(NOW, id, false).is_err(), "invented");
                if let Some((id, _)) = host.held.first() {
                    // It may be a close for nobody.
                    let _ = host.connection.prolong(NOW, *id);
                }
            }
        }
        host.drive();
    }
    for at in 0..host.links.len() {
        host.connection.closed(host.links[at].id);
    }
    host.drive();
    assert!(host.is_over && host.connection.has_ended());
    assert_eq!(host.files.open_count(), 0);
}

/// A connection, as the client knows it.
struct Link {
    id: LinkId,
    is_over: bool,
    next_id: u64,
    /// MessageIds that are answered, and those with an interim answer.
    answered: BTreeSet<MessageId>,
    told: BTreeSet<MessageId>,
}

impl Link {
    const fn new(id: LinkId) -> Self {
        Self { id, is_over: false, next_id: 0, answered: BTreeSet::new(), told: BTreeSet::new() }
    }
}

struct Host {
    connection: Client,
    links: Vec<Link>,
    /// The one that is used.
    at: usize,
    files: Files<Memory>,
    held: Vec<(OperationId, Operation)>,
    transfers: Vec<(LinkId, OperationId)>,
    buffers: BTreeMap<OperationId, Vec<u8>>,
    is_over: bool,
    client: Initiator,
    token: Vec<u8>,
    session_id: SessionId,
    tree_id: TreeId,
    setting: Setting,
    /// The keys of the session, which sign requests that bind it too.
    protect: Protect,
    /// The last message of the server.
    last: Vec<u8>,
    /// What the client's memory has.
    memory: Vec<u8>,
}

impl Host {
    fn new(is_rdma: bool, has_channels: bool, setting: Setting) -> Self {
        let mut params = Params::new(Guid([1; 16]), "SERVER");
        (params.opens_max, params.waiting_max, params.guests) = (OPENS_MAX, 4, true);
        params.channels_max = if has_channels { 3 } else { 1 };
        params.shares = vec![Share { guests: true, ..Share::new("data") }];
        setting.configure(&mut params);
        let accounts = |user: &str, _: &str| (user == "tester").then(|| NtHash::new([0x5a; 16]));
        let server = Server::new(params, accounts).expect("valid");
        let transport = if is_rdma { Transport::Rdma { send_max: 1 << 20 } } else { Transport::Tcp };
        Self {
            connection: Client::new(Arc::new(server), transport, NOW, [3; 32]),
            links: vec![Link::new(LinkId::FIRST)],
            at: 0,
            files: Files::new(vec![Memory::with_capacity("data", NOW, 1 << 20)]),
            held: Vec::new(),
            transfers: Vec::new(),
            buffers: BTreeMap::new(),
            is_over: false,
            client: Initiator::new(vec![Box::new(NtlmClient::new(
                tester(),
                "CLIENT".into(),
                "cifs/server".into(),
            ))]),
            token: Vec::new(),
            session_id: SessionId::NONE,
            tree_id: TreeId::NONE,
            setting,
            protect: Protect::new(setting.must_seal()),
            last: Vec::new(),
            memory: Vec::new(),
        }
    }

    fn next_id(&self) -> u64 {
        self.links[self.at].next_id
    }

    /// Something about connections.
    fn channels(&mut self, step: u8, choice: usize, token: &[u8]) {
        match step {
            0 | 1 if self.links.len() < LINKS_MAX => {
                let transport =
                    if step == 0 { Transport::Tcp } else { Transport::Rdma { send_max: 1 << 20 } };
                let Some(id) = self.connection.join(transport, NOW) else { return };
                self.links.push(Link::new(id));
                self.at = self.links.len() - 1;
                self.come(0);
            }
            2 => {
                self.connection.closed(self.links[choice % self.links.len()].id);
            }
            3 | 4 => self.bind(&[token]),
            5 => {
                // As it has to be, whatever comes of it here.
                let client = NtlmClient::new(tester(), "CLIENT".into(), "cifs/server".into());
                let mut client = Initiator::new(vec![Box::new(client)]);
                let mut last = Vec::new();
                for seed in 2..4 {
                    let Ok(Step::Continue(own)) = client.step(&last, &fresh(seed)) else { return };
                    self.bind(&[&own]);
                    last.clone_from(&self.token);
                }
            }
            _ => self.at = choice % self.links.len(),
        }
    }

    /// A request that binds the session, with the signature that it has to have.
    fn bind(&mut self, token: &[&[u8]]) {
        let token = token.concat();
        let flags = SessionSetupFlags::BINDING;
        let request =
            SessionSetupRequest { flags, security_buffer: &token, ..SessionSetupRequest::default() };
        let header = Header::request::<SessionSetupRequest<'_>>(self.next_id());
        let header = Header { session_id: self.session_id, credits: 100, ..header };
        let mut message = Vec::new();
        write_element(&mut message, &header, &request).expect("short");
        self.protect.protect(&mut message, self.session_id, false);
        self.links[self.at].next_id += 1;
        self.receive(&mut message);
        self.drive();
    }

    /// Puts the ids that are valid into a message.
    fn fit(&mut self, message: &mut [u8]) {
        let fields = header::field::PROTOCOL_ID
            .set(message, header::PROTOCOL_ID)
            .and_then(|()| header::field::STRUCTURE_SIZE.set(message, 64))
            .and_then(|()| header::field::CREDIT_CHARGE.set(message, 1))
            .and_then(|()| header::field::CREDITS.set(message, 3))
            .and_then(|()| header::field::MESSAGE_ID.set(message, MessageId(self.next_id())))
            .and_then(|()| header::field::TREE_ID.set(message, self.tree_id))
            .and_then(|()| header::field::SESSION_ID.set(message, self.session_id));
        if fields.is_ok() {
            self.links[self.at].next_id += 1;
        }
    }

    fn receive(&mut self, message: &mut [u8]) {
        self.connection.received(NOW, self.links[self.at].id, message);
    }

    fn carry_out(&mut self, id: OperationId, operation: Operation) {
        if matches!(operation, Operation::ReadChannel { .. }) {
            self.buffers.insert(id, Vec::new());
        }
        match self.files.carry_out(1, id, operation, self.buffers.get_mut(&id), NOW) {
            Some(completion) => assert!(self.connection.completed(NOW, id, completion).is_ok()),
            None => assert!(self.connection.prolong(NOW, id).is_ok()),
        }
        for (_, id, completion) in self.files.retry() {
            assert!(self.connection.completed(NOW, id, completion).is_ok());
        }
    }

    fn drive(&mut self) {
        while let Some((on, action)) = self.connection.poll() {
            assert!(!self.is_over, "something comes after the end");
            match action {
                Action::Send { message, .. } => self.look(on.expect("a connection"), message.bytes()),
                Action::RdmaRead { id, len, .. } => {
                    let mut data = self.memory.clone();
                    data.resize(len as usize, 7);
                    self.buffers.insert(id, data);
                    self.transfers.push((on.expect("a connection"), id));
                }
                Action::RdmaWrite { id, .. } => self.transfers.push((on.expect("a connection"), id)),
                Action::Transform { id, len } => {
                    let data = self.buffers.get_mut(&id).and_then(|buffer| buffer.get_mut(..len as usize));
                    let data = data.expect("a buffer as long as it says");
                    assert!(self.connection.transform(NOW, id, &mut [data]).is_ok());
                }
                Action::File { id, operation } => self.held.push((id, operation)),
                Action::Cancel(id) => {
                    if let Some(completion) = self.files.cancel(1, id) {
                        assert!(self.connection.completed(NOW, id, completion).is_ok());
                    }
                }
                Action::SessionReplaced { .. } | Action::Refused(_) => {}
                Action::Close(_) => {
                    let link = self.links.iter_mut().find(|link| Some(link.id) == on).expect("a connection");
                    assert!(!std::mem::replace(&mut link.is_over, true), "it has ended before");
                    self.transfers.retain(|(of, _)| Some(*of) != on);
                    if self.links.iter().all(|link| link.is_over) {
                        self.files.end(1, NOW);
                        self.is_over = true;
                        self.held.clear();
                    }
                }
            }
        }
        assert!(self.files.open_count() <= OPENS_MAX * self.links.len() + self.held.len());
        assert!(self.links.iter().all(|link| link.told.len() <= 4 + link.answered.len()));
    }

    fn look(&mut self, on: LinkId, message: &[u8]) {
        self.last = message.to_vec();
        let link = self.links.iter_mut().find(|link| link.id == on).expect("a connection");
        assert!(!link.is_over, "something is sent behind the end");
        // What is encrypted for another session, nobody here can read.
        let Some(message) = self.protect.open(message) else { return };
        for element in Elements::new(&message) {
            let Ok(element) = element else { panic!("an answer cannot be read") };
            let header = element.header;
            trace(format_args!("{on:?}: {} {}", header.command, header.status));
            assert!(header.is_response());
            if on == LinkId::FIRST {
                // Those that are bound have keys of their own.
                self.protect.verify(element.bytes, &header);
            }
            if header.status == NtStatus::PENDING {
                assert!(!link.answered.contains(&header.message_id) && link.told.insert(header.message_id));
                continue;
            }
            assert!(link.answered.insert(header.message_id), "{} is answered twice", header.message_id);
            if let (NtStatus::SUCCESS | NtStatus::MORE_PROCESSING_REQUIRED, Ok(response)) =
                (header.status, SessionSetupResponse::parse(element.bytes))
                && header.command == Command::SESSION_SETUP
            {
                self.session_id = header.session_id;
                self.token = response.security_buffer.to_vec();
            }
            if header.command == Command::TREE_CONNECT
                && let Target::Sync { tree_id, .. } = header.target
            {
                self.tree_id = tree_id;
            }
        }
    }
}
