//! All orders in which things can happen to a gateway the other way round, in small cases: what arrives, room, ends of registrations
//! and answers of a server that reads and writes memory when it answers.

use std::collections::BTreeSet;

use smbd_core::Access;
use smbd_smb2::relay::reverse::*;
use smbd_smb2::relay::{BufferId, Room, Source, Way};
use smbd_smb2::wire::*;

use crate::rig::{
    build, data, failure, framed, interim, read_header, read_request, write_header, write_request,
};
use crate::search::{self, search};

/// What the client asks for.
struct Case {
    params: Params,
    /// Its stream, cut.
    client: Vec<Vec<u8>>,
    /// The requests that have to be answered.
    ids: Vec<u64>,
    /// The request that may get an interim answer.
    interim: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Client,
    Poll {
        client: usize,
        server: usize,
    },
    /// The server answers the request at this place.
    Answer(usize),
    Interim,
    /// The end of what was ordered from the device at this place.
    Device(usize),
    /// The first bytes from a buffer are sent.
    Sent,
}

const STEPS: [Step; 12] = [
    Step::Client,
    Step::Poll { client: 0, server: 0 },
    Step::Poll { client: 1000, server: 0 },
    Step::Poll { client: 0, server: 1000 },
    Step::Poll { client: 60, server: 90 },
    Step::Answer(0),
    Step::Answer(1),
    Step::Interim,
    Step::Device(0),
    Step::Device(1),
    Step::Device(2),
    Step::Sent,
];

/// What a buffer is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Own,
    Registering,
    Open,
    /// The server's answer has invalidated the token.
    Invalidated,
    Deregistering,
}

/// A gateway and all around it.
#[derive(Debug)]
struct World {
    reverse: Reverse,
    client_at: usize,
    stream: Vec<u8>,
    /// Answers on their way.
    answers: Vec<Vec<u8>>,
    buffers: [Vec<(Use, Vec<u8>)>; 2],
    ordered: Vec<BufferId>,
    unsent: Vec<(BufferId, u32, u32)>,
    to_client: Vec<u8>,
    /// Where in `to_client` the bytes of `unsent` belong.
    gaps: Vec<usize>,
    message: Vec<u8>,
    /// What the server has not answered.
    requests: Vec<Vec<u8>>,
    cancelled: BTreeSet<u64>,
    is_interim_due: bool,
}

/// The bytes of a file that a request reads or writes.
fn content(id: u64, len: usize) -> Vec<u8> {
    (0..len).map(|at| (id * 16) as u8 + at as u8).collect()
}

impl search::World for World {
    type Case = Case;
    type Step = Step;

    fn new(case: &Case) -> Self {
        let config = Config::new(&case.params).unwrap();
        let len = config.params().buffer_len as usize;
        let buffers = vec![(Use::Own, vec![0xEE; len]); config.buffers().into()];
        let negotiated = Header::request::<NegotiateRequest<'_>>(0).response(NtStatus::SUCCESS);
        let established = Header::request::<SessionSetupRequest<'_>>(1).response(NtStatus::SUCCESS);
        let dialect = NegotiateResponse { dialect: Dialect::SMB_3_1_1, ..NegotiateResponse::default() };
        let mut world = Self {
            reverse: Reverse::new(&config),
            client_at: 0,
            stream: Vec::new(),
            answers: vec![
                build(&negotiated, &dialect),
                build(&established, &SessionSetupResponse::default()),
            ],
            buffers: [buffers.clone(), buffers],
            ordered: Vec::new(),
            unsent: Vec::new(),
            to_client: Vec::new(),
            gaps: Vec::new(),
            message: Vec::new(),
            requests: Vec::new(),
            cancelled: BTreeSet::new(),
            is_interim_due: case.interim.is_some(),
        };
        while !world.answers.is_empty() {
            world.poll(Room { client: 1000, server: 1000 });
        }
        world.to_client.clear();
        world
    }

    fn step(&mut self, case: &Case, step: Step) {
        match step {
            Step::Client => {
                if let Some(bytes) = case.client.get(self.client_at) {
                    self.stream.extend_from_slice(bytes);
                    self.client_at += 1;
                }
            }
            Step::Poll { client, server } => self.poll(Room { client, server }),
            Step::Answer(at) if at < self.requests.len() => {
                let request = self.requests.remove(at);
                let answer = self.answer(&request);
                self.answers.push(answer);
            }
            Step::Interim => {
                let is_there =
                    |request: &Vec<u8>| Some(Header::parse(request).unwrap().message_id.0) == case.interim;
                if self.is_interim_due && self.requests.iter().any(is_there) {
                    self.is_interim_due = false;
                    self.answers.extend(case.interim.map(interim));
                }
            }
            Step::Device(at) if at < self.ordered.len() => {
                let buffer = self.ordered.remove(at);
                let state = &mut self.buffer(buffer).0;
                let is_registered = std::mem::replace(state, Use::Own) == Use::Registering;
                if is_registered {
                    *state = Use::Open;
                }
                let descriptor = self.descriptor(buffer);
                let done = Event::Deregistered { buffer };
                let event = if is_registered { Event::Registered { buffer, descriptor } } else { done };
                self.reverse.handle(event).unwrap();
            }
            Step::Sent if !self.unsent.is_empty() => {
                let (buffer, offset, len) = self.unsent.remove(0);
                let (at, range) = (self.gaps.remove(0), offset as usize..(offset + len) as usize);
                let bytes = self.buffer(buffer).1[range].to_vec();
                self.to_client[at..at + bytes.len()].copy_from_slice(&bytes);
                self.reverse.handle(Event::Sent { buffer, len }).unwrap();
            }
            Step::Answer(_) | Step::Device(_) | Step::Sent => {}
        }
    }

    fn check(&self, case: &Case, path: &[Step]) {
        let is_done = self.stream.is_empty()
            && self.answers.is_empty()
            && self.unsent.is_empty()
            && self.requests.is_empty()
            && self.client_at == case.client.len();
        let is_free = self.buffers.iter().flatten().all(|(state, _)| *state == Use::Own);
        assert!(is_done && is_free, "{path:?}: {self:?}");
        let (mut rest, mut ids, mut is_interim_due) =
            (&self.to_client[..], Vec::new(), case.interim.is_some());
        while let Some((len, behind)) = rest.split_first_chunk::<4>() {
            let (message, behind) = behind.split_at(u32::from_be_bytes(*len) as usize);
            rest = behind;
            let header = Header::parse(message).unwrap();
            let id = header.message_id.0;
            if header.status == NtStatus::PENDING {
                assert!(is_interim_due && !ids.contains(&id), "{path:?}: an interim answer to {id}");
                is_interim_due = false;
                continue;
            }
            ids.push(id);
            if header.status == NtStatus::SUCCESS && header.command == Command::READ {
                let answer = ReadResponse::parse(message).unwrap();
                assert_eq!((answer.data, answer.data_remaining), (&content(id, 5)[..], 0), "{path:?}");
            }
        }
        ids.sort_unstable();
        assert_eq!(ids, case.ids, "{path:?}");
    }
}

impl World {
    fn buffer(&mut self, id: BufferId) -> &mut (Use, Vec<u8>) {
        &mut self.buffers[id.way as usize][usize::from(id.index)]
    }

    fn descriptor(&self, id: BufferId) -> BufferDescriptorV1 {
        let token = 100 * id.way as u32 + u32::from(id.index) + 70;
        let length = self.reverse.config().params().buffer_len;
        BufferDescriptorV1 { offset: 0x1000 * u64::from(token), token: Token(token), length }
    }

    /// The buffer that a descriptor names, which the server has access to.
    fn named(&mut self, way: Way, descriptor: &BufferDescriptorV1) -> &mut Vec<u8> {
        let index = (descriptor.token.0 - 70 - 100 * way as u32) as u16;
        let id = BufferId { way, index };
        assert_eq!(self.descriptor(id).offset, descriptor.offset);
        let (state, bytes) = self.buffer(id);
        assert_eq!(*state, Use::Open, "{id:?}");
        bytes
    }

    /// What the server answers, after it has read or written what the request names.
    fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        let header = Header::parse(request).unwrap();
        let id = header.message_id.0;
        let (way, channel, descriptors, length, inline) = if header.command == Command::READ {
            let read = ReadRequest::parse(request).unwrap();
            (Way::ToClient, read.channel, read.descriptors(), read.length, Vec::new())
        } else {
            let write = WriteRequest::parse(request).unwrap();
            (Way::ToServer, write.channel, write.descriptors(), write.remaining_bytes, write.data.to_vec())
        };
        let status = if self.cancelled.contains(&id) { NtStatus::CANCELLED } else { NtStatus::SUCCESS };
        if channel == Channel::NONE {
            assert!(way == Way::ToClient || inline == content(id, inline.len()));
            let is_read = way == Way::ToClient && status == NtStatus::SUCCESS;
            return if is_read {
                data(id, status, &content(id, length as usize))
            } else {
                self.written(id, status)
            };
        }
        let descriptors: Vec<_> = descriptors.unwrap().iter().collect();
        let mut at = 0;
        for descriptor in &descriptors {
            let len = descriptor.length as usize;
            let wanted = content(id, at + len)[at..].to_vec();
            let bytes = self.named(way, descriptor);
            match way {
                Way::ToClient => bytes[..len].copy_from_slice(&wanted),
                Way::ToServer => assert_eq!(bytes[..len], wanted),
            }
            at += len;
        }
        assert_eq!(at, length as usize);
        if channel == Channel::RDMA_V1_INVALIDATE {
            let index = (descriptors[0].token.0 - 70 - 100 * way as u32) as u16;
            self.buffer(BufferId { way, index }).0 = Use::Invalidated;
        }
        if way == Way::ToServer || status != NtStatus::SUCCESS {
            return self.written(id, status);
        }
        let body = ReadResponse { data_remaining: length, ..ReadResponse::default() };
        build(&read_header(id).response(status), &body)
    }

    fn written(&self, id: u64, status: NtStatus) -> Vec<u8> {
        match status {
            NtStatus::SUCCESS => build(&write_header(id).response(status), &WriteResponse { count: 5 }),
            _ => failure(id, status),
        }
    }

    /// A message has reached the server.
    fn deliver(&mut self) {
        let message = std::mem::take(&mut self.message);
        let header = Header::parse(&message).unwrap();
        if header.command == Command::CANCEL {
            self.cancelled.insert(header.message_id.0);
        } else {
            self.requests.push(message);
        }
    }

    fn poll(&mut self, room: Room) {
        let bytes = self.answers.first().cloned().unwrap_or_default();
        let (stream, offered) = (self.stream.clone(), bytes.len());
        let server = ServerBytes { bytes: &bytes, remaining: 0 };
        let mut arrived = Arrived { client: &stream, server };
        let mut is_delivered = false;
        match self.reverse.poll(&mut arrived, room) {
            Action::ToServer { bytes, remaining } => {
                self.message.extend_from_slice(bytes);
                is_delivered = remaining == 0;
            }
            Action::ToClient(Source::Bytes(bytes)) => self.to_client.extend_from_slice(bytes),
            Action::ToClient(Source::Buffer { head, buffer, offset, len }) => {
                self.to_client.extend_from_slice(head);
                assert_eq!(self.buffers[buffer.way as usize][usize::from(buffer.index)].0, Use::Own);
                self.unsent.push((buffer, offset, len));
                self.gaps.push(self.to_client.len());
                self.to_client.resize(self.to_client.len() + len as usize, 0xDD);
            }
            Action::Store { buffer, offset, bytes } => {
                let (state, memory) = &mut self.buffers[buffer.way as usize][usize::from(buffer.index)];
                assert_eq!(*state, Use::Own);
                memory[offset as usize..][..bytes.len()].copy_from_slice(bytes);
            }
            Action::Zero { buffer, offset, len } => {
                let (state, memory) = &mut self.buffers[buffer.way as usize][usize::from(buffer.index)];
                assert_eq!(*state, Use::Own);
                memory[offset as usize..][..len as usize].fill(0);
            }
            Action::Register { buffer, access } => {
                let (state, memory) = &mut self.buffers[buffer.way as usize][usize::from(buffer.index)];
                assert_eq!(*state, Use::Own);
                assert!(access == Access::Read || memory.iter().all(|byte| *byte == 0));
                *state = Use::Registering;
                self.ordered.push(buffer);
            }
            Action::Deregister { buffer } => {
                let state = &mut self.buffers[buffer.way as usize][usize::from(buffer.index)].0;
                assert!(matches!(state, Use::Open | Use::Invalidated), "{state:?}");
                *state = Use::Deregistering;
                self.ordered.push(buffer);
            }
            Action::Idle(_) => {}
            Action::Close(reason) => panic!("{reason}"),
        }
        let (client, server) = (arrived.client.len(), arrived.server.bytes.len());
        self.stream.drain(..stream.len() - client);
        if server == 0 && offered > 0 {
            self.answers.remove(0);
        } else if let Some(answer) = self.answers.first_mut() {
            answer.drain(..offered - server);
        }
        if is_delivered {
            self.deliver();
        }
    }
}

fn params(buffer_len: u32, buffers: u32, remote_invalidation: bool) -> Params {
    Params {
        budget: 256 + buffer_len * buffers,
        buffer_len,
        held_max: 256,
        threshold: 1,
        max_fragmented_send_size: 256,
        remote_invalidation,
        ..Params::default()
    }
}

fn read(id: u64) -> Vec<u8> {
    framed(&build(&read_header(id), &read_request(Channel::NONE, 5, &[])))
}

fn write(id: u64) -> Vec<u8> {
    let request = WriteRequest { data: &content(id, 5), ..write_request(Channel::NONE, 0, &[]) };
    framed(&build(&write_header(id), &request))
}

#[test]
fn a_read_with_an_interim_answer_ends_well_in_all_orders() {
    let request = read(3);
    let client = vec![request[..70].to_vec(), request[70..].to_vec()];
    let case = Case { params: params(3, 2, true), client, ids: vec![3], interim: Some(3) };
    search::<World>("reverse, read", &case, &STEPS);
}

#[test]
fn a_write_and_its_cancel_and_another_write_without_a_buffer_end_well_in_all_orders() {
    let cancel = framed(&build(&Header::request::<CancelRequest>(3), &CancelRequest {}));
    let first = write(3);
    let client = vec![first[..114].to_vec(), [&first[114..], &cancel, &write(4)].concat()];
    let case = Case { params: params(3, 2, false), client, ids: vec![3, 4], interim: None };
    search::<World>("reverse, write", &case, &STEPS);
}

#[test]
fn two_reads_with_a_buffer_for_one_of_them_end_well_in_all_orders() {
    let client = vec![read(3), read(4)];
    let case = Case { params: params(5, 1, true), client, ids: vec![3, 4], interim: None };
    search::<World>("reverse, reads", &case, &STEPS);
}
