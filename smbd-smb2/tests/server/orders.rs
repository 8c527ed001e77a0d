//! Any order of requests and of what comes of them: each MessageId is answered exactly once, interim before final; credits neither
//! end nor pass the limit; nothing is kept that nobody asks for. And no message, however it is changed, makes the server panic.

use std::collections::BTreeMap;

use proptest::prelude::*;
use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::{
    BufferDescriptorV1, ChangeNotifyRequest, Channel, CloseRequest, Command, Compound, CreateDisposition,
    CreateOptions, DirectoryInformationClass, EchoRequest, FileId, FlushRequest, Header, InfoType,
    LockElement, LockFlags, LockRequest, LogoffRequest, NtStatus, QueryDirectoryRequest, QueryInfoRequest,
    ReadRequest, Request, SetInfoRequest, Token, TreeDisconnectRequest, WriteRequest, pack,
};

use crate::rig::{Protect, RDMA, Rig, create, params};

const LIMIT: u64 = 128;

/// What is sent next, with small numbers to choose by.
#[derive(Clone, Debug)]
enum Step {
    /// A compound of these requests, of which those with `true` are related to the one before.
    Send(Vec<(u8, u8, bool)>, Protect),
    /// A CANCEL of a request that was sent.
    Cancel(u8),
    /// The driver completes an operation it has kept, or says that it takes long.
    Complete(u8),
    Prolong(u8),
    /// The driver completes a transfer, or gives data to be transformed.
    Transfer(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let protect = prop_oneof![Just(Protect::Nothing), Just(Protect::Sign), Just(Protect::Seal)];
    let request = (0_u8..16, any::<u8>(), any::<bool>());
    prop_oneof![
        4 => (prop::collection::vec(request, 1..4), protect).prop_map(|(requests, protect)| Step::Send(requests, protect)),
        1 => any::<u8>().prop_map(Step::Cancel),
        4 => any::<u8>().prop_map(Step::Complete),
        1 => any::<u8>().prop_map(Step::Prolong),
        2 => any::<u8>().prop_map(Step::Transfer),
    ]
}

/// A request by its number. `files` are names and ids to choose from.
fn request(kind: u8, choice: u8, info: &[u8]) -> Request<'_> {
    const NAMES: [&str; 4] = ["a", "b", "d", "d\\c"];
    const DISPOSITIONS: [CreateDisposition; 3] =
        [CreateDisposition::OPEN_IF, CreateDisposition::OPEN, CreateDisposition::OVERWRITE_IF];
    let file_id = match choice % 8 {
        7 => FileId::RELATED,
        id => FileId { persistent: u64::from(id) + 1, volatile: u64::from(id) + 1 },
    };
    let locks: &[LockElement] = if choice.is_multiple_of(2) {
        &[LockElement { offset: 0, length: 9, flags: LockFlags::EXCLUSIVE_LOCK }]
    } else {
        &[LockElement { offset: 0, length: 9, flags: LockFlags::UNLOCK }]
    };
    let channel = Channel::RDMA_V1_INVALIDATE;
    match kind {
        0 | 1 => {
            let options =
                if choice.is_multiple_of(3) { CreateOptions::DIRECTORY_FILE } else { CreateOptions::NONE };
            let (name, disposition) =
                (NAMES[usize::from(choice) % 4], DISPOSITIONS[usize::from(choice / 4) % 3]);
            Request::Create(create(name, disposition, options))
        }
        2 => Request::Close(CloseRequest { file_id, ..CloseRequest::default() }),
        3 => Request::Read(ReadRequest { file_id, length: 100, ..ReadRequest::default() }),
        4 => Request::Write(WriteRequest { file_id, data: b"some data", ..WriteRequest::default() }),
        5 => Request::Read(ReadRequest {
            file_id,
            length: 50,
            channel,
            channel_info: info,
            ..ReadRequest::default()
        }),
        6 => Request::Write(WriteRequest {
            file_id,
            remaining_bytes: 50,
            channel,
            channel_info: info,
            ..WriteRequest::default()
        }),
        7 => Request::Flush(FlushRequest { file_id }),
        8 => Request::QueryInfo(QueryInfoRequest {
            file_id,
            info_type: InfoType(choice % 4),
            info_class: choice % 20,
            output_buffer_length: 1000,
            ..QueryInfoRequest::default()
        }),
        9 => Request::SetInfo(SetInfoRequest {
            file_id,
            info_type: InfoType::FILE,
            info_class: choice % 30,
            input: &[1; 40],
            ..SetInfoRequest::default()
        }),
        10 => Request::QueryDirectory(QueryDirectoryRequest {
            file_id,
            information_class: DirectoryInformationClass::ID_BOTH_DIRECTORY,
            output_buffer_length: 200,
            ..QueryDirectoryRequest::default()
        }),
        11 => Request::Lock(LockRequest { file_id, locks: locks.into(), ..LockRequest::default() }),
        12 => Request::ChangeNotify(ChangeNotifyRequest { file_id, ..ChangeNotifyRequest::default() }),
        13 if choice == 1 => Request::Logoff(LogoffRequest::default()),
        13 if choice == 2 => Request::TreeDisconnect(TreeDisconnectRequest::default()),
        _ => Request::Echo(EchoRequest::default()),
    }
}

/// A client that waits for its answers, and what it has seen of them.
struct Client {
    rig: Rig,
    /// Final answers by MessageId: whether the request is answered, and whether an interim answer came.
    asked: BTreeMap<u64, (Header, bool, Option<u64>)>,
    /// LOGOFF was sent.
    is_over: bool,
}

impl Client {
    fn new() -> Self {
        let mut params = params();
        (params.credits_max, params.waiting_max, params.opens_max) = (128, 4, 6);
        params.rdma_transforms = RdmaTransforms::ALL;
        let mut rig = Rig::new(params, RDMA);
        rig.offer = Some(RdmaTransforms::ALL.ids().to_vec());
        rig.begin();
        rig.register(1, vec![3; 50]);
        (rig.holds, rig.holds_rdma, rig.holds_data) = (true, true, true);
        Self { rig, asked: BTreeMap::new(), is_over: false }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Send(requests, protect) => self.send(requests, *protect),
            Step::Cancel(choice) => {
                let target = self.asked.values().nth(usize::from(*choice) % self.asked.len().max(1)).copied();
                if let Some((header, _, async_id)) = target {
                    self.rig.protect = Protect::Nothing;
                    let header = self.rig.cancel_of(&header, async_id);
                    self.rig.send(crate::rig::message(&header, &smbd_smb2::wire::CancelRequest::default()));
                }
            }
            Step::Complete(choice) if !self.rig.held.is_empty() => {
                let at = usize::from(*choice) % self.rig.held.len();
                let (id, operation) = self.rig.held.remove(at);
                self.rig.carry_out(id, operation);
                self.rig.drive();
            }
            Step::Prolong(choice) if !self.rig.held.is_empty() => {
                let id = self.rig.held[usize::from(*choice) % self.rig.held.len()].0;
                // Closes for nobody have nobody to tell.
                let _ = self.rig.connection.prolong(self.rig.now, id);
                self.rig.drive();
            }
            Step::Transfer(choice) if !self.rig.transfers.is_empty() => {
                let id = self.rig.transfers.remove(usize::from(*choice) % self.rig.transfers.len());
                self.rig.connection.rdma_done(self.rig.now, id, true).unwrap();
                self.rig.drive();
            }
            Step::Transfer(choice) if !self.rig.untransformed.is_empty() => {
                let at = usize::from(*choice) % self.rig.untransformed.len();
                let (id, len) = self.rig.untransformed.remove(at);
                self.rig.transform(id, len);
                self.rig.drive();
            }
            Step::Complete(_) | Step::Prolong(_) | Step::Transfer(_) => {}
        }
        self.look();
    }

    fn send(&mut self, requests: &[(u8, u8, bool)], protect: Protect) {
        if self.rig.credits() < requests.len() as u64 {
            return;
        }
        let info = pack(&[BufferDescriptorV1 { offset: 0, token: Token(1), length: 50 }]);
        // What is encrypted for a session that is over ends the connection.
        self.rig.protect = if self.is_over { Protect::Nothing } else { protect };
        let mut bytes = Vec::new();
        let mut compound = Compound::new(&mut bytes);
        for (at, (kind, choice, related)) in requests.iter().enumerate() {
            let request = request(*kind, *choice, &info);
            let header = Header {
                command: request.command(),
                credits: u16::from(*choice % 4),
                ..self.rig.header::<EchoRequest>(0)
            };
            let header =
                if *related && (at > 0 || protect != Protect::Seal) { header.related() } else { header };
            self.is_over |= request.command() == Command::LOGOFF;
            compound.add(&header, &request).unwrap();
            self.asked.insert(header.message_id.0, (header, false, None));
        }
        self.rig.send(bytes);
    }

    /// Holds what has come against what was asked.
    fn look(&mut self) {
        for answer in self.rig.answers() {
            let Some((_, is_answered, async_id)) = self.asked.get_mut(&answer.header.message_id.0) else {
                continue;
            };
            assert!(!*is_answered, "{} is answered twice", answer.header.message_id);
            if answer.status() == NtStatus::PENDING {
                assert!(async_id.is_none(), "a second interim answer");
                *async_id = answer.header.async_id();
                assert!(async_id.is_some());
            } else {
                assert_eq!(answer.header.async_id(), *async_id);
                *is_answered = true;
            }
        }
        assert_eq!(self.rig.closed, None);
        assert!(self.rig.credits() <= LIMIT, "{} credits", self.rig.credits());
        let in_flight =
            self.asked.values().filter(|(_, is_answered, async_id)| !is_answered && async_id.is_none());
        assert!(
            self.rig.credits() > 0 || in_flight.count() > 0,
            "no credit, and nothing that could bring one"
        );
        // A file more may be on its way to be closed.
        assert!(
            self.rig.files.open_count() <= 6 + self.rig.held.len(),
            "{} files",
            self.rig.files.open_count()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn each_request_is_answered_exactly_once(steps in prop::collection::vec(step(), 1..60)) {
        let mut client = Client::new();
        for step in &steps {
            client.step(step);
        }
        // All that can end does.
        for _ in 0..400 {
            client.step(&Step::Complete(0));
            client.step(&Step::Transfer(0));
        }
        prop_assert!(client.rig.held.is_empty() && client.rig.transfers.is_empty());
        prop_assert!(client.rig.untransformed.is_empty());
        let waiting: Vec<_> = client.asked.values().filter(|(_, is_answered, _)| !is_answered).copied().collect();
        // What is behind a LOCK that waits in its chain has not begun.
        let has_lock = waiting.iter().any(|(header, ..)| header.command == Command::LOCK);
        for (header, _, async_id) in waiting {
            let is_told = async_id.is_some() || has_lock;
            prop_assert!(is_told || header.command != Command::CHANGE_NOTIFY, "{} is forgotten", header.command);
            let cancel = client.rig.cancel_of(&header, async_id);
            client.rig.protect = Protect::Nothing;
            client.rig.send(crate::rig::message(&cancel, &smbd_smb2::wire::CancelRequest::default()));
            client.look();
            for _ in 0..20 {
                client.step(&Step::Complete(0));
                client.step(&Step::Transfer(0));
            }
        }
        let left: Vec<_> = client.asked.values().filter(|(_, is_answered, _)| !is_answered).collect();
        prop_assert!(left.is_empty(), "never answered: {:?}", left);
        client.rig.connection.closed();
        client.rig.drive();
        prop_assert_eq!(client.rig.files.open_count(), 0);
    }

    #[test]
    fn no_changed_message_makes_the_server_panic(
        requests in prop::collection::vec((0_u8..16, any::<u8>(), any::<bool>()), 1..4),
        changes in prop::collection::vec((any::<u16>(), any::<u8>()), 0..6),
        cut in any::<u16>(),
        protect in prop_oneof![Just(Protect::Nothing), Just(Protect::Sign)],
        opens in 0_usize..4,
    ) {
        let mut client = Client::new();
        (client.rig.holds, client.rig.holds_rdma, client.rig.holds_data) = (false, false, false);
        for at in 0..opens {
            client.send(&[(0, u8::try_from(at).unwrap(), false)], Protect::Nothing);
        }
        client.look();
        let info = pack(&[BufferDescriptorV1 { offset: 0, token: Token(1), length: 50 }]);
        let mut bytes = Vec::new();
        let mut compound = Compound::new(&mut bytes);
        for (kind, choice, related) in &requests {
            let request = request(*kind, *choice, &info);
            let header = Header { command: request.command(), ..client.rig.header::<EchoRequest>(0) };
            compound.add(&if *related { header.related() } else { header }, &request).unwrap();
        }
        for (at, value) in &changes {
            let len = bytes.len();
            bytes[usize::from(*at) % len] ^= value;
        }
        if cut & 1 == 1 {
            bytes.truncate(usize::from(cut >> 1) % (bytes.len() + 1));
        }
        // Signed behind the change, as an attacker who has logged in would.
        if protect == Protect::Sign && smbd_smb2::wire::Elements::new(&bytes).all(|element| element.is_ok()) {
            let ranges: Vec<_> = smbd_smb2::wire::Elements::new(&bytes).map(|element| element.unwrap().range()).collect();
            let keys = client.rig.keys.as_ref().unwrap();
            for range in ranges {
                let _ = keys.signer.sign_in_place(&mut bytes[range]);
            }
        }
        // The memory of the client is what its descriptors say, which the change may have made up.
        client.rig.holds = true;
        client.rig.connection.received(client.rig.now, &mut bytes);
        while client.rig.connection.poll().is_some() {}
    }

    #[test]
    fn no_bytes_make_a_new_connection_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0_u8..5) {
        let magic: [&[u8]; 5] = [b"\xfeSMB\x40\0", b"\xfdSMB", b"\xfcSMB", b"\xffSMB\x72", b""];
        let front = magic[usize::from(kind)];
        let len = front.len().min(bytes.len());
        bytes[..len].copy_from_slice(&front[..len]);
        let rig = Rig::new(params(), RDMA);
        rig.connection.received(rig.now, &mut bytes);
        while rig.connection.poll().is_some() {}
    }
}
