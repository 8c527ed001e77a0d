//! A server of SMB2, and a client that sends whatever it likes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smbd_smb2::security::{Initiator, NtHash, NtlmClient, Step};
use smbd_smb2::server::{
    Action, Connection, Files, Memory, Operation, OperationId, Params, Server, Share, Transport,
};
use smbd_smb2::wire::{
    Dialect, Elements, Guid, Header, List, MessageId, NegotiateRequest, NtStatus, SessionId,
    SessionSetupRequest, SessionSetupResponse, Target, Text, TreeConnectRequest, TreeId, header,
    write_element,
};

use super::security::{fresh, tester};

/// The time of `fresh`.
const NOW: u64 = 0x01dd_5b3a_0000_0000;
const OPENS_MAX: usize = 8;
/// Steps of a run, so that it ends in time.
const STEPS_MAX: usize = 64;

/// The first byte says how far the client has come by itself: nowhere, NEGOTIATE, logged in, or connected to a share. Then, each time,
/// a byte that says what happens: a message with its length, the end of an operation or of a transfer.
pub fn smb2_server(data: &[u8]) {
    let Some((phase, mut data)) = data.split_first() else { return };
    let mut host = Host::new(phase & 8 == 0);
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
            0..=3 => {
                let (message, rest) = data.split_at(data.len().min(choice.saturating_mul(2)));
                data = rest;
                let mut message = message.to_vec();
                // With the ids that are valid, so that more than the window is looked at.
                if kind % 8 > 1 {
                    host.fit(&mut message);
                }
                host.receive(&mut message);
            }
            4 | 5 if !host.held.is_empty() => {
                let (id, operation) = host.held.remove(choice % host.held.len());
                host.carry_out(id, operation);
            }
            6 if !host.transfers.is_empty() => {
                let id = host.transfers.remove(choice % host.transfers.len());
                let ended = host.connection.rdma_done(NOW, id, choice != 255);
                assert!(ended.is_ok() || host.is_over);
            }
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
    host.connection.closed();
    host.drive();
    assert!(host.is_over);
    assert_eq!(host.files.open_count(), 0);
}

struct Host {
    connection: Connection,
    files: Files<Memory>,
    held: Vec<(OperationId, Operation)>,
    transfers: Vec<OperationId>,
    buffers: BTreeMap<OperationId, Vec<u8>>,
    is_over: bool,
    client: Initiator,
    token: Vec<u8>,
    next_id: u64,
    session_id: SessionId,
    tree_id: TreeId,
    /// MessageIds that are answered, and those with an interim answer.
    answered: BTreeSet<MessageId>,
    told: BTreeSet<MessageId>,
}

impl Host {
    fn new(is_rdma: bool) -> Self {
        let mut params = Params::new(Guid([1; 16]), "SERVER");
        (params.opens_max, params.waiting_max, params.guests) = (OPENS_MAX, 4, true);
        params.shares = vec![Share { guests: true, ..Share::new("data") }];
        let accounts = |user: &str, _: &str| (user == "tester").then(|| NtHash::new([0x5a; 16]));
        let server = Server::new(params, accounts).expect("valid");
        let transport = if is_rdma { Transport::Rdma { send_max: 1 << 20 } } else { Transport::Tcp };
        Self {
            connection: Connection::new(Arc::new(server), transport, NOW, [3; 32]),
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
            next_id: 0,
            session_id: SessionId::NONE,
            tree_id: TreeId::NONE,
            answered: BTreeSet::new(),
            told: BTreeSet::new(),
        }
    }

    /// One step of the way to a share: in 3.0.2, where nothing has to be signed.
    fn come(&mut self, step: u8) {
        match step {
            0 => {
                let dialects = [Dialect::SMB_3_0_2];
                let request =
                    NegotiateRequest { dialects: List::from(&dialects), ..NegotiateRequest::default() };
                self.send(&Header::request::<NegotiateRequest<'_>>(self.next_id), &request);
            }
            1 => {
                for seed in 0..2 {
                    let Ok(Step::Continue(token)) = self.client.step(&self.token, &fresh(seed)) else {
                        return;
                    };
                    let request =
                        SessionSetupRequest { security_buffer: &token, ..SessionSetupRequest::default() };
                    let header = Header::request::<SessionSetupRequest<'_>>(self.next_id);
                    self.send(&Header { session_id: self.session_id, ..header }, &request);
                }
            }
            _ => {
                let request =
                    TreeConnectRequest { path: Text::from("\\\\s\\data"), ..TreeConnectRequest::default() };
                let header = Header::request::<TreeConnectRequest<'_>>(self.next_id);
                self.send(&Header { session_id: self.session_id, ..header }, &request);
            }
        }
    }

    fn send(&mut self, header: &Header, body: &impl smbd_smb2::wire::Body) {
        let mut message = Vec::new();
        write_element(&mut message, &Header { credits: 100, ..*header }, body).expect("short");
        self.next_id += 1;
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
            .and_then(|()| header::field::MESSAGE_ID.set(message, MessageId(self.next_id)))
            .and_then(|()| header::field::TREE_ID.set(message, self.tree_id))
            .and_then(|()| header::field::SESSION_ID.set(message, self.session_id));
        if fields.is_ok() {
            self.next_id += 1;
        }
    }

    fn receive(&mut self, message: &mut [u8]) {
        self.connection.received(NOW, message);
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
        while let Some(action) = self.connection.poll() {
            assert!(!self.is_over, "something comes after the end");
            match action {
                Action::Send { message, .. } => self.look(message.bytes()),
                Action::RdmaRead { id, len, .. } => {
                    self.buffers.insert(id, vec![7; len as usize]);
                    self.transfers.push(id);
                }
                Action::RdmaWrite { id, .. } => self.transfers.push(id),
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
                Action::SessionReplaced { .. } => {}
                Action::Close(_) => {
                    self.files.end(1, NOW);
                    self.is_over = true;
                    self.held.clear();
                    self.transfers.clear();
                }
            }
        }
        assert!(self.files.open_count() <= OPENS_MAX + self.held.len());
        assert!(self.told.len() <= 4 + self.answered.len());
    }

    fn look(&mut self, message: &[u8]) {
        for element in Elements::new(message) {
            // What is encrypted is none of these, and nobody has asked for it.
            let Ok(element) = element else { panic!("an answer cannot be read") };
            let header = element.header;
            assert!(header.is_response());
            if header.status == NtStatus::PENDING {
                assert!(!self.answered.contains(&header.message_id) && self.told.insert(header.message_id));
                continue;
            }
            assert!(self.answered.insert(header.message_id), "{} is answered twice", header.message_id);
            if let (NtStatus::SUCCESS | NtStatus::MORE_PROCESSING_REQUIRED, Ok(response)) =
                (header.status, SessionSetupResponse::parse(element.bytes))
                && header.command == smbd_smb2::wire::Command::SESSION_SETUP
            {
                self.session_id = header.session_id;
                self.token = response.security_buffer.to_vec();
            }
            if header.command == smbd_smb2::wire::Command::TREE_CONNECT
                && let Target::Sync { tree_id, .. } = header.target
            {
                self.tree_id = tree_id;
            }
        }
    }
}
