use std::time::Duration;

use smbd_core::Access;
use smbd_link::transport::Memory;
use smbd_smb2::relay::Reason;
use smbd_smb2::relay::reverse::{Config, Params, Reverse};
use smbd_smb2::wire::{
    Channel, Dialect, EchoRequest, FileId, Flags, Header, NegotiateRequest, NegotiateResponse, NtStatus,
    ReadRequest, ReadResponse, SessionSetupRequest, SessionSetupResponse, WriteRequest, WriteResponse,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;

use super::scripted::{self, Got, Hand, Scripted};
use super::{build, soon};
use crate::pump::{Copied, Ending, Pump};

const WITHIN: Duration = Duration::from_secs(30);
const FILE: FileId = FileId { persistent: 1, volatile: 2 };

type TestPump = Pump<Reverse, Scripted, Copied<DuplexStream>>;

/// A pump with a client and a server in the hands of a test.
struct Rig {
    client: DuplexStream,
    server: Hand,
    pump: JoinHandle<(Ending, TestPump)>,
}

fn pump(is_full: bool) -> (DuplexStream, Hand, TestPump) {
    let (server, mut of_pump) = scripted::peer();
    of_pump.is_full = is_full;
    let (client, stream) = tokio::io::duplex(9000);
    let params = Params { max_fragmented_send_size: 2000, buffer_len: 64 << 10, ..Params::default() };
    let config = Config::new(&params).unwrap();
    (client, server, Pump::new(Reverse::new(&config), of_pump, Copied::new(stream), WITHIN))
}

fn rig_of(is_full: bool) -> Rig {
    let (client, server, mut pump) = pump(is_full);
    let pump = tokio::spawn(async move {
        let ending = pump.run().await;
        pump.flush(WITHIN).await;
        (ending, pump)
    });
    Rig { client, server, pump }
}

fn rig() -> Rig {
    rig_of(false)
}

impl Rig {
    async fn request(&mut self, message: &[u8]) {
        self.client.write_u32(message.len() as u32).await.unwrap();
        soon(self.client.write_all(message)).await.unwrap();
    }

    async fn at_server(&mut self) -> Vec<u8> {
        match soon(self.server.got.recv()).await {
            Some(Got::Message(message, None)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn answer(&self, message: &[u8]) {
        self.server.say(message, 0);
    }

    /// The next message of the client's stream.
    async fn at_client(&mut self) -> Vec<u8> {
        let len = soon(self.client.read_u32()).await.unwrap();
        let mut message = vec![0; len as usize];
        soon(self.client.read_exact(&mut message)).await.unwrap();
        message
    }

    /// Passes both unchanged.
    async fn exchange(&mut self, request: Vec<u8>, answer: Vec<u8>) {
        self.request(&request).await;
        assert_eq!(self.at_server().await, request);
        self.answer(&answer);
        assert_eq!(self.at_client().await, answer);
    }

    /// Establishes a session.
    async fn log_in(&mut self) {
        let header = Header::request::<NegotiateRequest<'_>>(0);
        let answer = NegotiateResponse { dialect: Dialect::SMB_3_1_1, ..NegotiateResponse::default() };
        let answer = build(&header.response(NtStatus::SUCCESS), &answer);
        self.exchange(build(&header, &NegotiateRequest::default()), answer).await;
        let header = Header::request::<SessionSetupRequest<'_>>(1);
        let answer = build(&header.response(NtStatus::SUCCESS), &SessionSetupResponse::default());
        self.exchange(build(&header, &SessionSetupRequest::default()), answer).await;
    }

    async fn end(self) -> (Ending, TestPump) {
        soon(self.pump).await.unwrap()
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

fn read(id: u64, length: u32) -> (Header, Vec<u8>) {
    let header = Header::request::<ReadRequest<'_>>(id);
    (header, build(&header, &ReadRequest { length, file_id: FILE, ..ReadRequest::default() }))
}

#[tokio::test(start_paused = true)]
async fn the_data_of_a_write_are_in_registered_memory_and_nothing_else_is() {
    let mut rig = rig();
    rig.log_in().await;
    // Longer than the server receives, than a buffer, and than what comes with the header.
    let (header, data) = (Header::request::<WriteRequest<'_>>(2), pattern(300_001));
    let request = WriteRequest { data: &data, file_id: FILE, ..WriteRequest::default() };
    rig.request(&build(&header, &request)).await;
    let forwarded = rig.at_server().await;
    let forwarded = WriteRequest::parse(&forwarded).unwrap();
    assert_eq!(
        (forwarded.remaining_bytes, forwarded.data, forwarded.channel),
        (300_001, &b""[..], Channel::RDMA_V1)
    );
    let mut memory = Vec::new();
    for descriptor in forwarded.descriptors().unwrap().iter() {
        let (heap, access) = rig.server.open.lock().unwrap()[&descriptor.token].clone();
        let mut bytes = vec![1; 64 << 10];
        heap.read(0, &mut bytes).unwrap();
        assert_eq!(access, Access::Read);
        memory.extend(bytes);
    }
    assert!(memory[..data.len()] == data, "other bytes");
    assert!(memory[data.len()..].iter().all(|byte| *byte == 0), "bytes of somebody else");
    let answer = build(&header.response(NtStatus::SUCCESS), &WriteResponse { count: 300_001 });
    rig.answer(&answer);
    assert_eq!(rig.at_client().await, answer);
    assert!(rig.server.open.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_client_gets_the_bytes_that_came_and_zeros_for_those_that_did_not() {
    let mut rig = rig();
    rig.log_in().await;
    let data = pattern(200_000);
    for (id, written) in [(2, &data[..]), (3, &data[..70_000]), (4, &[])] {
        let (header, request) = read(id, 200_000);
        rig.request(&request).await;
        let forwarded = rig.at_server().await;
        let mut rest = written;
        for descriptor in ReadRequest::parse(&forwarded).unwrap().descriptors().unwrap().iter() {
            let (heap, access) = rig.server.open.lock().unwrap()[&descriptor.token].clone();
            let (now, behind) = rest.split_at(rest.len().min(descriptor.length as usize));
            heap.fill(0, now).unwrap();
            rest = behind;
            assert_eq!(access, Access::Write);
        }
        let answer = ReadResponse { data_remaining: 150_000, ..ReadResponse::default() };
        rig.answer(&build(&header.response(NtStatus::SUCCESS), &answer));
        let mut wanted = written.to_vec();
        wanted.resize(150_000, 0);
        let answer = ReadResponse { data: &wanted, ..ReadResponse::default() };
        assert!(rig.at_client().await == build(&header.response(NtStatus::SUCCESS), &answer), "{id}");
    }
    let (header, request) = read(5, 200_000);
    rig.request(&request).await;
    rig.at_server().await;
    let answer = ReadResponse { data_remaining: 200_001, ..ReadResponse::default() };
    rig.answer(&build(&header.response(NtStatus::SUCCESS), &answer));
    let (ending, pump) = rig.end().await;
    let Ending::Relay(Reason::TooMuchData { len: 200_001, asked: 200_000, .. }) = ending else {
        panic!("{ending}")
    };
    assert_eq!(pump.statistics().bytes.rdma_write, 450_000);
}

#[tokio::test(start_paused = true)]
async fn without_a_session_there_is_no_buffer_and_30_s_are_the_limit() {
    let mut rig = rig();
    let (header, request) = read(2, 100_000);
    let answer = build(&header.response(NtStatus::USER_SESSION_DELETED), &EchoRequest {});
    rig.exchange(request, answer).await;
    let (ending, pump) = rig.end().await;
    assert_eq!((ending, pump.buffer_bytes()), (Ending::NoSession { within: WITHIN }, 0));
    let mut with = self::rig();
    with.log_in().await;
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert!(!with.pump.is_finished());
}

#[tokio::test(start_paused = true)]
async fn the_end_of_either_side_is_that_of_the_other() {
    let mut rig = rig();
    rig.log_in().await;
    drop(std::mem::replace(&mut rig.client, tokio::io::duplex(1).0));
    assert_eq!(rig.end().await.0, Ending::Relay(Reason::ClientEnded));
    let mut rig = self::rig();
    rig.log_in().await;
    let (header, _) = read(2, 1);
    let last = build(&header.response(NtStatus::FILE_CLOSED), &EchoRequest {});
    rig.answer(&last);
    rig.server.messages = None;
    assert_eq!(rig.at_client().await, last);
    assert_eq!(rig.end().await.0, Ending::Server("it left".into()));
}

#[tokio::test(start_paused = true)]
async fn a_device_that_registers_nothing_and_a_write_that_cannot_go_end_it_with_advice() {
    let mut full = rig_of(true);
    full.log_in().await;
    full.request(&read(2, 100_000).1).await;
    let (ending, _) = full.end().await;
    assert!(ending.to_string().contains("ulimit -l"), "{ending}");
    let mut rig = rig();
    rig.log_in().await;
    let header = Header::request::<WriteRequest<'_>>(2);
    let signed = Header { flags: header.flags.with(Flags::SIGNED, true), ..header };
    rig.request(&build(&signed, &WriteRequest { data: &pattern(5000), ..WriteRequest::default() })).await;
    let (ending, _) = rig.end().await;
    assert!(ending.to_string().contains("Linux: wsize="), "{ending}");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_stops_waits_for_what_is_under_way_and_no_longer_than_it_may() {
    let (_client, _server, mut idle) = pump(false);
    let within = Duration::from_secs(10);
    assert_eq!(idle.drain(within).await, Ending::Stopped);
    let (mut client, _server, mut busy) = pump(false);
    // A part of a message.
    client.write_all(&[0, 0, 1, 0, 0xfd]).await.unwrap();
    assert_eq!(busy.drain(within).await, Ending::Stopped);
    let (_client, server, mut stuck) = pump(false);
    // More than the client takes.
    server.say(&vec![0xfd; 900_000], 0);
    assert_eq!(stuck.drain(within).await, Ending::Deadline { within });
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_stops_amid_an_answer_waits_for_its_rest() {
    let (mut client, mut server, mut pump) = pump(false);
    let (header, request) = read(0, 3000);
    client.write_u32(request.len() as u32).await.unwrap();
    client.write_all(&request).await.unwrap();
    let data = pattern(3000);
    let answer =
        build(&header.response(NtStatus::SUCCESS), &ReadResponse { data: &data, ..Default::default() });
    let [front, rest] = [answer[..200].to_vec(), answer[200..].to_vec()];
    let server = tokio::spawn(async move {
        soon(server.got.recv()).await.unwrap();
        server.say(&front, rest.len() as u32);
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.say(&rest, 0);
        server
    });
    assert_eq!(pump.drain(Duration::from_secs(10)).await, Ending::Stopped);
    let _server = soon(server).await.unwrap();
    let mut got = vec![0; 4 + answer.len()];
    soon(client.read_exact(&mut got)).await.unwrap();
    assert!(got[4..] == answer, "an answer without its end");
}
