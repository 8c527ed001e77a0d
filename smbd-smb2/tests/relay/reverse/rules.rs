//! Single rules, each with the bytes that show it.

use allocation_counter::measure;
use smbd_core::Access;
use smbd_smb2::relay::reverse::*;
use smbd_smb2::relay::{BufferId, ConfigError, Idle, Misuse, Reason, Room, Side, Source, Way};
use smbd_smb2::wire::*;

use crate::rig::{
    FILE, build, compound, echo, failure, interim, read_header, read_request, signed, write_header,
    write_request,
};

const WIDE: Room = Room { client: 1 << 24, server: 1 << 24 };

/// Both sides take everything at once; the test says when registrations begin and end.
struct Rig {
    reverse: Reverse,
    /// What was not taken of the client's stream.
    left: Vec<u8>,
    to_server: Vec<Vec<u8>>,
    message: Vec<u8>,
    to_client: Vec<u8>,
    buffers: [Vec<Vec<u8>>; 2],
    /// In the order in which they came.
    registers: Vec<(BufferId, Access)>,
    deregisters: Vec<BufferId>,
    closed: Option<Reason>,
    idle: Idle,
}

impl Rig {
    fn with(params: &Params) -> Self {
        let config = Config::new(params).unwrap();
        let buffers = vec![vec![0xEE; params.buffer_len as usize]; config.buffers().into()];
        Self {
            reverse: Reverse::new(&config),
            left: Vec::new(),
            to_server: Vec::new(),
            message: Vec::new(),
            to_client: Vec::new(),
            buffers: [buffers.clone(), buffers],
            registers: Vec::new(),
            deregisters: Vec::new(),
            closed: None,
            idle: Idle::default(),
        }
    }

    /// With a session in this dialect.
    fn in_session(params: &Params, dialect: Dialect) -> Self {
        let mut rig = Self::with(params);
        let header = Header::request::<NegotiateRequest<'_>>(0).response(NtStatus::SUCCESS);
        rig.server(&build(&header, &NegotiateResponse { dialect, ..NegotiateResponse::default() }));
        let header = Header::request::<SessionSetupRequest<'_>>(1).response(NtStatus::SUCCESS);
        rig.server(&build(&header, &SessionSetupResponse::default()));
        rig.to_client.clear();
        rig
    }

    fn client(&mut self, message: &[u8]) {
        self.left.extend_from_slice(&(message.len() as u32).to_be_bytes());
        self.left.extend_from_slice(message);
        self.poll(&[]);
    }

    fn server(&mut self, message: &[u8]) {
        self.poll(message);
    }

    fn handle(&mut self, event: Event) {
        self.reverse.handle(event).unwrap();
        self.poll(&[]);
    }

    /// Begins all registrations that were ordered: the first one's token is 70.
    fn registered(&mut self) {
        let length = self.buffers[0][0].len() as u32;
        for (at, (buffer, _)) in std::mem::take(&mut self.registers).into_iter().enumerate() {
            let at = at as u32;
            let descriptor =
                BufferDescriptorV1 { offset: 0x1000 * u64::from(at + 1), token: Token(70 + at), length };
            self.handle(Event::Registered { buffer, descriptor });
        }
    }

    fn deregistered(&mut self) {
        for buffer in std::mem::take(&mut self.deregisters) {
            self.handle(Event::Deregistered { buffer });
        }
    }

    fn poll(&mut self, message: &[u8]) {
        let stream = std::mem::take(&mut self.left);
        let mut arrived = Arrived { client: &stream, server: ServerBytes { bytes: message, remaining: 0 } };
        self.carry_out(&mut arrived);
        self.left = arrived.client.to_vec();
    }

    fn carry_out(&mut self, arrived: &mut Arrived<'_>) {
        loop {
            let mut sent = None;
            match self.reverse.poll(arrived, WIDE) {
                Action::ToServer { bytes, remaining } => {
                    self.message.extend_from_slice(bytes);
                    if remaining == 0 {
                        self.to_server.push(std::mem::take(&mut self.message));
                    }
                }
                Action::ToClient(Source::Bytes(bytes)) => self.to_client.extend_from_slice(bytes),
                Action::ToClient(Source::Buffer { head, buffer, offset, len }) => {
                    self.to_client.extend_from_slice(head);
                    let memory = &self.buffers[buffer.way as usize][usize::from(buffer.index)];
                    self.to_client.extend_from_slice(&memory[offset as usize..][..len as usize]);
                    sent = Some(Event::Sent { buffer, len });
                }
                Action::Store { buffer, offset, bytes } => {
                    let memory = &mut self.buffers[buffer.way as usize][usize::from(buffer.index)];
                    memory[offset as usize..][..bytes.len()].copy_from_slice(bytes);
                }
                Action::Zero { buffer, offset, len } => {
                    let memory = &mut self.buffers[buffer.way as usize][usize::from(buffer.index)];
                    memory[offset as usize..][..len as usize].fill(0);
                }
                Action::Register { buffer, access } => self.registers.push((buffer, access)),
                Action::Deregister { buffer } => self.deregisters.push(buffer),
                Action::Idle(idle) => {
                    self.idle = idle;
                    return;
                }
                Action::Close(reason) => {
                    self.closed = Some(reason);
                    return;
                }
            }
            if let Some(event) = sent {
                self.reverse.handle(event).unwrap();
            }
        }
    }

    /// The last message to the client.
    fn answer(&self) -> &[u8] {
        let (mut rest, mut last) = (&self.to_client[..], &[][..]);
        while let Some((len, behind)) = rest.split_first_chunk::<4>() {
            (last, rest) = behind.split_at(u32::from_be_bytes(*len) as usize);
        }
        last
    }
}

fn small() -> Params {
    Params {
        budget: 4096 + 4 * 1000,
        buffer_len: 1000,
        threshold: 100,
        max_fragmented_send_size: 2000,
        remote_invalidation: true,
        ..Params::default()
    }
}

fn rig() -> Rig {
    Rig::in_session(&small(), Dialect::SMB_3_1_1)
}

fn read(id: u64, length: u32) -> Vec<u8> {
    build(&read_header(id), &read_request(Channel::NONE, length, &[]))
}

fn write(id: u64, data: &[u8]) -> Vec<u8> {
    build(&write_header(id), &WriteRequest { data, ..write_request(Channel::NONE, 0, &[]) })
}

fn moved(id: u64, data_remaining: u32) -> Vec<u8> {
    let body = ReadResponse { data_remaining, ..ReadResponse::default() };
    build(&read_header(id).response(NtStatus::SUCCESS), &body)
}

#[test]
fn a_read_gets_a_channel_for_exactly_what_it_asks_for_and_its_answer_the_bytes_that_came() {
    let mut rig = rig();
    rig.client(&read(5, 1500));
    let ways: Vec<_> = rig.registers.iter().map(|(buffer, access)| (buffer.way, *access)).collect();
    assert_eq!(ways, [(Way::ToClient, Access::Write); 2]);
    assert!(rig.to_server.is_empty(), "it went before memory was registered");
    let names: Vec<_> = rig.registers.iter().map(|(buffer, _)| usize::from(buffer.index)).collect();
    rig.registered();
    let info = pack(&[
        BufferDescriptorV1 { offset: 0x1000, token: Token(70), length: 1000 },
        BufferDescriptorV1 { offset: 0x2000, token: Token(71), length: 500 },
    ]);
    let wanted = build(&read_header(5), &read_request(Channel::RDMA_V1_INVALIDATE, 1500, &info));
    assert_eq!(rig.to_server, [wanted]);
    rig.buffers[1][names[0]].fill(b'a');
    rig.buffers[1][names[1]][..500].fill(b'b');
    rig.server(&moved(5, 1200));
    assert!(rig.to_client.is_empty(), "it went before the access had ended");
    rig.deregistered();
    let data = [vec![b'a'; 1000], vec![b'b'; 200]].concat();
    let wanted = build(
        &read_header(5).response(NtStatus::SUCCESS),
        &ReadResponse { data: &data, ..ReadResponse::default() },
    );
    assert_eq!(rig.answer(), wanted);
    assert_eq!(rig.reverse.statistics().bytes.rdma_write, 1200);
}

#[test]
fn a_server_that_says_what_it_has_not_written_shows_zeros() {
    let mut rig = rig();
    for id in [5, 6] {
        rig.client(&read(id, 700));
        rig.registered();
        if id == 5 {
            rig.buffers[1].iter_mut().for_each(|buffer| buffer.fill(b'x'));
        }
        rig.server(&moved(id, 700));
        rig.deregistered();
    }
    assert!(rig.answer()[80..].iter().all(|byte| *byte == 0));
    rig.client(&read(7, 700));
    rig.registered();
    rig.server(&moved(7, 701));
    assert_eq!(rig.closed, Some(Reason::TooMuchData { message_id: MessageId(7), len: 701, asked: 700 }));
}

#[test]
fn the_data_of_a_write_are_in_registered_memory_with_zeros_behind_them() {
    let mut rig = rig();
    // Longer than the server receives.
    let data: Vec<u8> = (0..2300).map(|at| (at % 251) as u8).collect();
    rig.client(&write(5, &data));
    assert_eq!(rig.registers.len(), 3);
    assert!(
        rig.registers
            .iter()
            .all(|(buffer, access)| { (buffer.way, *access) == (Way::ToServer, Access::Read) })
    );
    let memory: Vec<u8> = rig
        .registers
        .iter()
        .flat_map(|(buffer, _)| rig.buffers[0][usize::from(buffer.index)].clone())
        .collect();
    assert!(memory[..2300] == data && memory[2300..].iter().all(|byte| *byte == 0));
    rig.registered();
    let sent = WriteRequest::parse(&rig.to_server[0]).unwrap();
    let lengths: Vec<_> = sent.descriptors().unwrap().iter().map(|next| next.length).collect();
    assert_eq!((sent.remaining_bytes, sent.data, sent.file_id), (2300, &b""[..], FILE));
    assert_eq!(lengths, [1000, 1000, 300]);
    let answer = failure(5, NtStatus::DISK_FULL);
    rig.server(&answer);
    assert!(rig.to_client.is_empty(), "an error goes before the access has ended");
    rig.deregistered();
    assert_eq!(rig.answer(), answer);
}

#[test]
fn the_dialect_and_the_device_say_which_channel_and_what_passes_has_none() {
    let none = [Dialect::SMB_2_0_2, Dialect::SMB_2_1, Dialect::SMB_2_WILDCARD].map(|dialect| (dialect, None));
    let v1 = (Dialect::SMB_3_0, Some(Channel::RDMA_V1));
    let v2 =
        [Dialect::SMB_3_0_2, Dialect::SMB_3_1_1].map(|dialect| (dialect, Some(Channel::RDMA_V1_INVALIDATE)));
    for (dialect, channel) in none.into_iter().chain([v1]).chain(v2) {
        let mut rig = Rig::in_session(&small(), dialect);
        rig.client(&read(5, 100));
        rig.registered();
        let got = ReadRequest::parse(&rig.to_server[0]).unwrap().channel;
        assert_eq!(got, channel.unwrap_or(Channel::NONE), "{dialect}");
    }
    let mut rig = Rig::in_session(&Params { remote_invalidation: false, ..small() }, Dialect::SMB_3_1_1);
    rig.client(&read(5, 100));
    rig.registered();
    assert_eq!(ReadRequest::parse(&rig.to_server[0]).unwrap().channel, Channel::RDMA_V1);

    let compounded = compound(&[
        (read_header(6), &|message, header| {
            message.add(header, &read_request(Channel::NONE, 500, &[])).unwrap()
        }),
        (Header::request::<EchoRequest>(7), &|message, header| message.add(header, &EchoRequest {}).unwrap()),
    ]);
    let hidden = build(&read_header(8), &read_request(Channel::NONE, 500, &[]));
    let hidden = [b"\xfdSMB".as_slice(), &hidden[4..]].concat();
    let signed = build(&signed(read_header(9)), &read_request(Channel::NONE, 500, &[]));
    let mut rig = self::rig();
    for message in [read(5, 99), compounded, hidden, signed, echo(10)] {
        rig.client(&message);
        assert_eq!(rig.to_server.pop(), Some(message));
    }
    let mut before = Rig::with(&small());
    before.client(&read(5, 500));
    assert_eq!(before.to_server, [read(5, 500)], "there is no session");
}

#[test]
fn an_interim_answer_passes_and_leaves_the_server_its_access() {
    let mut rig = rig();
    rig.client(&read(5, 700));
    rig.registered();
    rig.server(&interim(5));
    assert_eq!((rig.answer(), rig.deregisters.len()), (&interim(5)[..], 0));
    rig.server(&moved(5, 700));
    assert_eq!(rig.deregisters.len(), 1);
}

#[test]
fn what_is_longer_than_the_server_receives_ends_the_connection_with_advice() {
    let mut rig = rig();
    let request = WriteRequest { data: &[1; 1889], ..write_request(Channel::NONE, 0, &[]) };
    rig.client(&build(&signed(write_header(5)), &request));
    assert_eq!(rig.closed, Some(Reason::AboveMaxFragmentedSize { len: 2001, max: 2000 }));
    assert!(rig.to_server.is_empty());
    insta::assert_snapshot!(rig.closed.unwrap());
}

#[test]
fn without_a_free_buffer_a_request_passes_and_only_what_is_too_long_waits() {
    let mut rig = rig();
    for id in [5, 6] {
        rig.client(&read(id, 2000));
        rig.registered();
    }
    rig.client(&read(7, 500));
    assert_eq!(rig.to_server[2], read(7, 500));
    rig.client(&write(8, &[1; 3000]));
    rig.registered();
    rig.client(&write(9, &[1; 1500]));
    assert_eq!(rig.to_server[4], write(9, &[1; 1500]));
    rig.client(&write(10, &[1; 1900]));
    assert!(rig.idle.pause_client && rig.to_server.len() == 5);
    rig.server(&failure(8, NtStatus::DISK_FULL));
    rig.deregistered();
    assert_eq!(rig.registers.len(), 2);
}

#[test]
fn answers_of_a_compound_go_alone_if_one_has_data_by_rdma() {
    let mut rig = rig();
    rig.client(&read(5, 700));
    rig.registered();
    let of_echo = Header::request::<EchoRequest>(6).response(NtStatus::SUCCESS);
    let of_read = read_header(5).response(NtStatus::SUCCESS);
    rig.server(&compound(&[
        (of_echo, &|message, header| message.add(header, &EchoResponse {}).unwrap()),
        (of_read, &|message, header| {
            let body = ReadResponse { data_remaining: 700, ..ReadResponse::default() };
            message.add(header, &body).unwrap();
        }),
    ]));
    let alone = [&build(&of_echo, &EchoResponse {})[..], &[0; 4]].concat();
    assert_eq!(rig.answer(), alone);
    rig.deregistered();
    let data = [0; 700];
    assert_eq!(rig.answer(), build(&of_read, &ReadResponse { data: &data, ..ReadResponse::default() }));
}

#[test]
fn what_cannot_be_told_apart_may_name_a_channel_and_ends_the_connection() {
    let info = pack(&[BufferDescriptorV1 { offset: 0x1000, token: Token(70), length: 500 }]);
    let with_channel = build(&read_header(5), &read_request(Channel::RDMA_V1, 500, &info));
    let broken = |at: usize, value: u8| {
        let mut message = with_channel.clone();
        message[at] = value;
        message
    };
    let last_is_none = [
        build(&Header { next_command: 72, ..read_header(5) }, &EchoRequest {}),
        vec![0; 4],
        b"\xfdSMB".to_vec(),
        with_channel[4..].to_vec(),
    ];
    // NextCommand beyond the end, one that is no multiple of 8, and StructureSize.
    for message in [broken(22, 1), broken(20, 65), broken(4, 63), last_is_none.concat(), b"\xfeSMB".to_vec()]
    {
        let mut rig = rig();
        rig.client(&message);
        assert!(matches!(rig.closed, Some(Reason::BrokenMessage(_))), "{:?}", rig.closed);
        assert!(rig.to_server.is_empty() || message.len() > with_channel.len());
    }
    let mut rig = rig();
    rig.client(&broken(22, 1));
    insta::assert_snapshot!(rig.closed.unwrap());
}

#[test]
fn what_nobody_ordered_is_refused_and_changes_nothing() {
    let mut rig = rig();
    let buffer = BufferId { way: Way::ToClient, index: 0 };
    let descriptor = BufferDescriptorV1 { offset: 0, token: Token(1), length: 1000 };
    let refused = |event| Err(Misuse { event, buffer });
    rig.client(&read(5, 100));
    let (used, _) = rig.registers[0];
    let short = BufferDescriptorV1 { length: 999, ..descriptor };
    assert!(rig.reverse.handle(Event::Registered { buffer: used, descriptor: short }).is_err());
    rig.registered();
    for (name, event) in [
        ("Registered", Event::Registered { buffer, descriptor }),
        ("Deregistered", Event::Deregistered { buffer }),
        ("Failed", Event::Failed { buffer }),
        ("Sent", Event::Sent { buffer, len: 1 }),
        ("Placed", Event::Placed { buffer, len: 1 }),
    ] {
        assert_eq!(rig.reverse.handle(event), refused(name));
    }
    rig.server(&moved(5, 1));
    rig.deregistered();
    assert_eq!(rig.answer().len(), 81);
    rig.handle(Event::Ended(Side::Server));
    assert_eq!(rig.closed, Some(Reason::ServerEnded));
}

#[test]
fn a_write_of_8_mib_goes_through_buffers_only() {
    let config = Config::new(&Params::default()).unwrap();
    let mut rig = Rig::in_session(&Params::default(), Dialect::SMB_3_1_1);
    let message = write(5, &vec![1; 8 << 20]);
    let framed = [&(message.len() as u32).to_be_bytes(), &message[..]].concat();
    let mut arrived = Arrived { client: &framed, ..Arrived::default() };
    let (mut stored, mut passed) = (0, 0);
    let info = measure(|| {
        loop {
            let event = match rig.reverse.poll(&mut arrived, WIDE) {
                Action::Store { bytes, .. } => {
                    stored += bytes.len();
                    continue;
                }
                Action::Register { buffer, .. } => {
                    let length = config.params().buffer_len;
                    let descriptor = BufferDescriptorV1 { offset: 0, token: Token(1), length };
                    Event::Registered { buffer, descriptor }
                }
                Action::ToServer { bytes, .. } => {
                    passed += bytes.len();
                    continue;
                }
                Action::Idle(_) => break,
                _ => continue,
            };
            rig.reverse.handle(event).unwrap();
        }
    });
    assert_eq!((stored, passed), (8 << 20, 112 + 9 * 16));
    assert!(info.bytes_max < 8192, "{} bytes were taken", info.bytes_max);
}

#[test]
fn parameters_that_cannot_work_are_refused_with_their_limits() {
    let refused = |params| Config::new(&params).unwrap_err();
    let least = ConfigError::TooSmall { name: "budget", value: 4_000, least: 5_096 };
    assert_eq!(refused(Params { budget: 4_000, ..small() }), least);
    let most = ConfigError::TooLarge { name: "max_read_write_size", value: 1 << 24, most: 0x00FF_EFFF };
    assert_eq!(refused(Params { max_read_write_size: 1 << 24, ..small() }), most);
}

#[test]
fn keep_alives_of_the_client_are_dropped() {
    let mut rig = rig();
    for keep_alive in [&KEEP_ALIVE[..], &KEEP_ALIVE[..1], &KEEP_ALIVE[1..]] {
        rig.left.extend_from_slice(keep_alive);
        rig.poll(&[]);
    }
    rig.client(&echo(5));
    assert_eq!((rig.closed, rig.to_server.clone()), (None, vec![echo(5)]));
}
