//! All orders in which things can happen to a relay, in small cases: what arrives, room, and ends of operations.

use smbd_smb2::relay::*;
use smbd_smb2::wire::*;

use crate::rig::*;
use crate::search::{self, search};

/// What both sides send, and what has to become of it.
struct Case {
    params: Params,
    /// Pieces of the client's messages, with what remains.
    client: Vec<(Vec<u8>, u32)>,
    /// Parts of the server's stream, each with the number of bytes that the server has to have before.
    server: Vec<(usize, Vec<u8>)>,
    /// The client's memory from 0x1000 on, and what it has to become.
    memory: Vec<u8>,
    memory_after: Vec<u8>,
    to_server: Vec<u8>,
    to_client: Vec<(Vec<u8>, Option<Token>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Client,
    Server,
    Poll {
        client: usize,
        server: usize,
    },
    /// The end of what runs at this place.
    Rdma(usize),
    /// The first bytes from a buffer are sent.
    Sent,
}

const STEPS: [Step; 10] = [
    Step::Client,
    Step::Server,
    Step::Poll { client: 0, server: 0 },
    Step::Poll { client: 1000, server: 0 },
    Step::Poll { client: 0, server: 1000 },
    Step::Poll { client: 50, server: 100 },
    Step::Rdma(0),
    Step::Rdma(1),
    Step::Rdma(2),
    Step::Sent,
];

/// A relay and all around it.
#[derive(Debug)]
struct World {
    relay: Relay,
    client_at: usize,
    /// Bytes of the piece before `client_at` that were not taken.
    piece: Vec<u8>,
    server_at: usize,
    stream: Vec<u8>,
    buffers: [Vec<Vec<u8>>; 2],
    running: Vec<Transfer>,
    unsent: Vec<(BufferId, u32, u32)>,
    to_server: Vec<u8>,
    /// Where in `to_server` the bytes of `unsent` belong.
    gaps: Vec<usize>,
    message: Vec<u8>,
    to_client: Vec<(Vec<u8>, Option<Token>)>,
    memory: Vec<u8>,
}

impl search::World for World {
    type Case = Case;
    type Step = Step;

    fn new(case: &Case) -> Self {
        let config = Config::new(&case.params).unwrap();
        let buffers = vec![vec![0; config.params().buffer_len as usize]; config.buffers().into()];
        Self {
            relay: Relay::new(&config),
            client_at: 0,
            piece: Vec::new(),
            server_at: 0,
            stream: Vec::new(),
            buffers: [buffers.clone(), buffers],
            running: Vec::new(),
            unsent: Vec::new(),
            to_server: Vec::new(),
            gaps: Vec::new(),
            message: Vec::new(),
            to_client: Vec::new(),
            memory: case.memory.clone(),
        }
    }

    fn step(&mut self, case: &Case, step: Step) {
        match step {
            Step::Client => {
                if let Some((bytes, _)) = case.client.get(self.client_at).filter(|_| self.piece.is_empty()) {
                    self.piece = bytes.clone();
                    self.client_at += 1;
                }
            }
            Step::Server => {
                let has =
                    self.to_server.len() - self.unsent.iter().map(|(.., len)| *len as usize).sum::<usize>();
                if let Some((_, bytes)) = case.server.get(self.server_at).filter(|(after, _)| *after <= has) {
                    self.stream.extend_from_slice(bytes);
                    self.server_at += 1;
                }
            }
            Step::Poll { client, server } => self.poll(case, Room { client, server }),
            Step::Rdma(at) if at < self.running.len() => {
                let transfer = self.running.remove(at);
                if transfer.buffer.way == Way::ToServer {
                    let range = self.range(&transfer);
                    let bytes = self.memory[range].to_vec();
                    self.buffers[0][usize::from(transfer.buffer.index)][..bytes.len()]
                        .copy_from_slice(&bytes);
                }
                self.relay.handle(Event::RdmaDone { buffer: transfer.buffer, is_success: true }).unwrap();
            }
            Step::Sent if !self.unsent.is_empty() => {
                let (buffer, offset, len) = self.unsent.remove(0);
                let at = self.gaps.remove(0);
                let bytes = &self.buffers[0][usize::from(buffer.index)][offset as usize..][..len as usize];
                self.to_server[at..at + len as usize].copy_from_slice(bytes);
                self.relay.handle(Event::Sent { buffer, len }).unwrap();
            }
            Step::Rdma(_) | Step::Sent => {}
        }
    }

    fn check(&self, case: &Case, path: &[Step]) {
        assert_eq!(self.to_server, case.to_server, "{path:?}");
        assert_eq!(self.to_client, case.to_client, "{path:?}");
        assert_eq!(self.memory, case.memory_after, "{path:?}");
        assert!(self.piece.is_empty() && self.stream.is_empty() && self.running.is_empty(), "{path:?}");
    }
}

impl World {
    fn range(&self, transfer: &Transfer) -> std::ops::Range<usize> {
        let start = (transfer.remote[0].offset - 0x1000 + transfer.offset) as usize;
        start..start + transfer.len as usize
    }

    fn poll(&mut self, case: &Case, room: Room) {
        let remaining = self.client_at.checked_sub(1).map_or(0, |at| case.client[at].1);
        let client = ClientBytes { bytes: &self.piece, remaining };
        let (offered, stream) = (self.piece.len(), self.stream.len());
        let mut arrived = Arrived { client, server: &self.stream };
        let mut running = None;
        match self.relay.poll(&mut arrived, room) {
            Action::ToServer(Source::Bytes(bytes)) => self.to_server.extend_from_slice(bytes),
            Action::ToServer(Source::Buffer { head, buffer, offset, len }) => {
                self.to_server.extend_from_slice(head);
                self.unsent.push((buffer, offset, len));
                self.gaps.push(self.to_server.len());
                self.to_server.resize(self.to_server.len() + len as usize, 0);
            }
            Action::ToClient { write, bytes, remaining, invalidate } => {
                running = write;
                self.message.extend_from_slice(bytes);
                if remaining == 0 {
                    self.to_client.push((std::mem::take(&mut self.message), invalidate));
                }
            }
            Action::RdmaRead(transfer) | Action::RdmaWrite(transfer) => running = Some(transfer),
            Action::Store { buffer, offset, bytes } => {
                let memory = &mut self.buffers[1][usize::from(buffer.index)];
                memory[offset as usize..][..bytes.len()].copy_from_slice(bytes);
            }
            Action::Idle(_) => {}
            Action::Close(reason) => panic!("{reason}"),
        }
        let (client, server) = (arrived.client.bytes.len(), arrived.server.len());
        self.piece.drain(..offered - client);
        self.stream.drain(..stream - server);
        if let Some(transfer) = running {
            if transfer.buffer.way == Way::ToClient {
                // It is carried out before what goes to the client after it.
                let (range, memory) = (self.range(&transfer), &self.buffers[1]);
                let bytes = &memory[usize::from(transfer.buffer.index)][..transfer.len as usize];
                self.memory[range].copy_from_slice(bytes);
            }
            self.running.push(transfer);
        }
    }
}

fn params(buffer_len: u32, buffers: u32) -> Params {
    Params { budget: 256 * 3 + buffer_len * buffers, buffer_len, held_max: 256, ..Params::default() }
}

fn moved(id: u64, len: u32) -> Vec<u8> {
    let body = ReadResponse { data_remaining: len, ..ReadResponse::default() };
    build(&read_header(id).response(NtStatus::SUCCESS), &body)
}

#[test]
fn a_read_with_an_interim_answer_ends_well_in_all_orders() {
    let message = read(3, Channel::RDMA_V1_INVALIDATE, &[5]);
    let request = build(&read_header(3), &read_request(Channel::NONE, 5, &[]));
    let to_server = framed(&request);
    let answer = framed(&data(3, NtStatus::SUCCESS, b"abcde"));
    let case = Case {
        params: params(2, 2),
        client: vec![(message[..100].to_vec(), message.len() as u32 - 100), (message[100..].to_vec(), 0)],
        server: vec![
            (to_server.len(), framed(&interim(3))),
            (to_server.len(), answer[..86].to_vec()),
            (to_server.len(), answer[86..].to_vec()),
        ],
        memory: vec![0; 5],
        memory_after: b"abcde".to_vec(),
        to_server,
        to_client: vec![(interim(3), None), (moved(3, 5), Some(Token(70)))],
    };
    search::<World>("read", &case, &STEPS);
}

#[test]
fn a_write_and_its_cancel_and_another_write_end_well_in_all_orders() {
    let cancel = build(&Header::request::<CancelRequest>(3), &CancelRequest {});
    let plain = |id, data| {
        let request = WriteRequest { data, ..write_request(Channel::NONE, 0, &[]) };
        framed(&build(&write_header(id), &request))
    };
    let first = plain(3, b"abcde");
    let to_server = [&first[..], &framed(&cancel), &plain(4, b"ab")].concat();
    let client = [write(3, Channel::RDMA_V1_INVALIDATE, &[5]), cancel, write(4, Channel::RDMA_V1, &[2])];
    let case = Case {
        params: params(3, 2),
        client: client.map(|message| (message, 0)).to_vec(),
        server: vec![(first.len(), framed(&failure(3, NtStatus::CANCELLED)))],
        memory: b"abcde".to_vec(),
        memory_after: b"abcde".to_vec(),
        to_server,
        to_client: vec![(failure(3, NtStatus::CANCELLED), Some(Token(70)))],
    };
    search::<World>("write", &case, &STEPS);
}

#[test]
fn a_read_between_two_writes_with_one_buffer_each_way_ends_well_in_all_orders() {
    let plain = WriteRequest { data: b"ab", ..write_request(Channel::NONE, 0, &[]) };
    let written = |id| framed(&build(&write_header(id), &plain));
    let request = framed(&build(&read_header(4), &read_request(Channel::NONE, 2, &[])));
    let to_server = [&written(3)[..], &request, &written(5)].concat();
    let all = to_server.len();
    let case = Case {
        params: params(2, 1),
        client: vec![
            (write(3, Channel::RDMA_V1, &[2]), 0),
            (read(4, Channel::RDMA_V1, &[2]), 0),
            (write(5, Channel::RDMA_V1, &[2]), 0),
        ],
        server: vec![
            (all - written(5).len(), framed(&data(4, NtStatus::SUCCESS, b"ab"))),
            (all, framed(&failure(5, NtStatus::DISK_FULL))),
        ],
        memory: b"ab".to_vec(),
        memory_after: b"ab".to_vec(),
        to_server,
        to_client: vec![(moved(4, 2), None), (failure(5, NtStatus::DISK_FULL), None)],
    };
    search::<World>("both", &case, &STEPS);
}
