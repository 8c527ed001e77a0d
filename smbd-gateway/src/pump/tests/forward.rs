use std::sync::atomic::Ordering;
use std::time::Duration;

use smbd_link::link::Piece;
use smbd_smb2::relay::{Config, Params, Reason, Relay};
use smbd_smb2::wire::{Body, ChangeNotifyRequest, EchoRequest, EchoResponse, ErrorResponse, FileId, Target};
use smbd_smb2::wire::{
    BufferDescriptorV1, Channel, Dialect, Header, NegotiateRequest, NegotiateResponse, NtStatus, ReadRequest,
    ReadResponse, SessionSetupRequest, SessionSetupResponse, Token, WriteRequest, WriteResponse, pack,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::scripted::{self, Got, Hand, ORDERS_MAX, Scripted};
use super::{build, soon};
use crate::pump::{Copied, Ending, Pump};

const WITHIN: Duration = Duration::from_secs(30);
const TOKEN: Token = Token(7);

type TestPump = Pump<Relay, Scripted, Copied<DuplexStream>>;

/// A pump with a client and a server in the hands of a test.
struct Rig {
    client: Hand,
    server: DuplexStream,
    pump: JoinHandle<(Ending, TestPump)>,
}

fn pump() -> (Hand, DuplexStream, TestPump) {
    let (client, of_pump) = scripted::peer();
    let (server, stream) = tokio::io::duplex(9000);
    let config = Config::new(&Params::default()).unwrap();
    (client, server, Pump::new(Relay::new(&config), of_pump, Copied::new(stream), WITHIN))
}

fn rig() -> Rig {
    let (client, server, mut pump) = pump();
    let pump = tokio::spawn(async move { (pump.run().await, pump) });
    Rig { client, server, pump }
}

impl Rig {
    fn request(&self, header: Header, body: &impl Body) {
        self.client.send(build(&header, body), usize::MAX);
    }

    /// The next message of the server's stream.
    async fn at_server(&mut self) -> Vec<u8> {
        let len = soon(self.server.read_u32()).await.unwrap();
        let mut message = vec![0; len as usize];
        soon(self.server.read_exact(&mut message)).await.unwrap();
        message
    }

    async fn answer(&mut self, header: Header, status: NtStatus, body: &impl Body) -> Vec<u8> {
        let message = build(&header.response(status), body);
        self.server.write_u32(message.len() as u32).await.unwrap();
        soon(self.server.write_all(&message)).await.unwrap();
        message
    }

    async fn at_client(&mut self) -> Got {
        soon(self.client.got.recv()).await.unwrap()
    }

    /// Establishes a session.
    async fn log_in(&mut self) {
        let header = Header::request::<SessionSetupRequest>(1);
        self.request(header, &SessionSetupRequest::default());
        self.at_server().await;
        for status in [NtStatus::MORE_PROCESSING_REQUIRED, NtStatus::SUCCESS] {
            let sent = self.answer(header, status, &SessionSetupResponse::default()).await;
            assert_eq!(self.at_client().await, Got::Message(sent, None));
        }
    }

    fn remember(&self, bytes: &[u8]) {
        self.client.memory.lock().unwrap().insert(TOKEN, bytes.to_vec());
    }

    async fn end(self) -> (Ending, TestPump) {
        soon(self.pump).await.unwrap()
    }
}

fn descriptor(length: u32) -> Vec<u8> {
    pack(&[BufferDescriptorV1 { offset: 0x1000, token: TOKEN, length }])
}

fn read(length: u32, info: &[u8]) -> ReadRequest<'_> {
    let (channel, file_id) = (Channel::RDMA_V1_INVALIDATE, FileId { persistent: 1, volatile: 2 });
    ReadRequest { length, file_id, channel, channel_info: info, ..ReadRequest::default() }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

#[tokio::test(start_paused = true)]
async fn the_data_of_a_read_are_in_the_clients_memory_before_its_answer_comes() {
    let mut rig = rig();
    rig.log_in().await;
    // Longer than a buffer, and than what comes with the header.
    let data = pattern(700_000);
    rig.remember(&vec![0; data.len()]);
    let (header, info) = (Header::request::<ReadRequest>(2), descriptor(data.len() as u32));
    rig.request(header, &read(data.len() as u32, &info));
    let forwarded = rig.at_server().await;
    let request = ReadRequest::parse(&forwarded).unwrap();
    assert_eq!((request.channel, request.channel_info), (Channel::NONE, &b""[..]));
    rig.answer(header, NtStatus::SUCCESS, &ReadResponse { data: &data, ..ReadResponse::default() }).await;
    let mut moved = 0;
    let answer = loop {
        match rig.at_client().await {
            Got::Data(piece) => moved += piece.len(),
            Got::Message(message, token) => break (message, token),
        }
    };
    assert_eq!(moved, data.len());
    assert!(rig.client.memory.lock().unwrap()[&TOKEN] == data, "other bytes");
    let response = ReadResponse::parse(&answer.0).unwrap();
    assert_eq!((response.data, response.data_remaining, answer.1), (&b""[..], 700_000, Some(TOKEN)));
}

#[tokio::test(start_paused = true)]
async fn the_data_of_a_write_reach_the_server_in_the_request() {
    let mut rig = rig();
    rig.log_in().await;
    let data = pattern(3_000_001);
    rig.remember(&data);
    let (header, info) = (Header::request::<WriteRequest>(2), descriptor(data.len() as u32));
    let request = WriteRequest {
        channel: Channel::RDMA_V1_INVALIDATE,
        remaining_bytes: data.len() as u32,
        channel_info: &info,
        ..WriteRequest::default()
    };
    rig.request(header, &request);
    let forwarded = rig.at_server().await;
    assert!(WriteRequest::parse(&forwarded).unwrap().data == data, "other bytes");
    let response = WriteResponse { count: data.len() as u32 };
    let sent = rig.answer(header, NtStatus::SUCCESS, &response).await;
    assert_eq!(rig.at_client().await, Got::Message(sent, Some(TOKEN)));
}

#[tokio::test(start_paused = true)]
async fn messages_pass_as_they_are_and_the_dialect_is_seen() {
    let mut rig = rig();
    let header = Header::request::<NegotiateRequest>(0);
    rig.request(header, &NegotiateRequest::default());
    assert_eq!(rig.at_server().await, build(&header, &NegotiateRequest::default()));
    let answer = NegotiateResponse { dialect: Dialect::SMB_3_1_1, ..NegotiateResponse::default() };
    let sent = rig.answer(header, NtStatus::SUCCESS, &answer).await;
    assert_eq!(rig.at_client().await, Got::Message(sent, None));
    rig.client.messages = None;
    let (ending, pump) = rig.end().await;
    assert_eq!((ending, pump.dialect()), (Ending::Client("it left".into()), Some(Dialect::SMB_3_1_1)));
    assert!(!pump.has_session());
}

#[tokio::test(start_paused = true)]
async fn without_a_session_there_is_no_buffer_and_no_rdma() {
    let rig = rig();
    rig.remember(&[1; 5000]);
    let info = descriptor(5000);
    let request = WriteRequest {
        channel: Channel::RDMA_V1,
        remaining_bytes: 5000,
        channel_info: &info,
        ..WriteRequest::default()
    };
    rig.request(Header::request::<WriteRequest>(2), &request);
    let (ending, pump) = rig.end().await;
    let said = "a READ or WRITE has an RDMA channel, and no SESSION_SETUP was successful (MS-SMB2 3.3.5.2.9)";
    assert_eq!(ending.to_string(), said);
    assert_eq!((ending, pump.buffer_bytes()), (Ending::RdmaWithoutSession, 0));
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_session_ends_after_30_s_and_one_with_a_session_does_not() {
    let mut without = rig();
    let header = Header::request::<SessionSetupRequest>(1);
    without.request(header, &SessionSetupRequest::default());
    without.at_server().await;
    // A failed one counts for nothing.
    without.answer(header, NtStatus::ACCESS_DENIED, &SessionSetupResponse::default()).await;
    let mut with = rig();
    with.log_in().await;
    assert_eq!(without.end().await.0, Ending::NoSession { within: WITHIN });
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert!(!with.pump.is_finished());
}

#[tokio::test(start_paused = true)]
async fn the_servers_end_is_the_end_behind_what_it_has_sent() {
    let mut rig = rig();
    let header = Header::request::<EchoRequest>(1);
    let sent = rig.answer(header, NtStatus::SUCCESS, &EchoRequest {}).await;
    drop(std::mem::replace(&mut rig.server, tokio::io::duplex(1).0));
    assert_eq!(rig.at_client().await, Got::Message(sent, None));
    assert_eq!(rig.end().await.0, Ending::Relay(Reason::ServerEnded));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_while_the_connection_is_driven_needs_nobody_to_wake_the_task() {
    let mut rig = rig();
    rig.log_in().await;
    let echo = |id| build(&Header::request::<EchoRequest>(id), &EchoRequest {});
    let piece = Piece { bytes: echo(3)[..].into(), remaining: 0 };
    *rig.client.next.lock().unwrap() = Some(piece);
    rig.request(Header::request::<EchoRequest>(2), &EchoRequest {});
    rig.at_server().await;
    rig.answer(Header::request::<EchoRequest>(2), NtStatus::SUCCESS, &EchoResponse {}).await;
    assert_eq!(rig.at_server().await, echo(3));
}

#[tokio::test(start_paused = true)]
async fn room_that_comes_while_the_connection_is_driven_needs_nobody_to_wake_the_task() {
    let mut rig = rig();
    rig.log_in().await;
    rig.client.is_slow.store(true, Ordering::Relaxed);
    // One more than may wait.
    let ids = 2..3 + ORDERS_MAX as u64;
    let mut all = Vec::new();
    for id in ids.clone() {
        let answer = build(&Header::request::<EchoRequest>(id).response(NtStatus::SUCCESS), &EchoResponse {});
        all.extend_from_slice(&(answer.len() as u32).to_be_bytes());
        all.extend_from_slice(&answer);
    }
    rig.server.write_all(&all).await.unwrap();
    for _ in ids {
        assert!(matches!(rig.at_client().await, Got::Message(_, None)));
    }
}

#[tokio::test(start_paused = true)]
async fn memory_that_the_client_does_not_have_ends_the_connection() {
    let mut rig = rig();
    rig.log_in().await;
    let (header, info) = (Header::request::<ReadRequest>(2), descriptor(5000));
    rig.request(header, &read(5000, &info));
    rig.at_server().await;
    let data = pattern(5000);
    rig.answer(header, NtStatus::SUCCESS, &ReadResponse { data: &data, ..ReadResponse::default() }).await;
    assert_eq!(rig.end().await.0, Ending::Relay(Reason::RdmaFailed));
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_stops_waits_for_what_is_under_way_and_no_longer_than_it_may() {
    let (_client, _server, mut idle) = pump();
    let within = Duration::from_secs(10);
    let start = Instant::now();
    assert_eq!((idle.drain(within).await, start.elapsed()), (Ending::Stopped, Duration::ZERO));
    let (client, _server, mut busy) = pump();
    // More than the server takes.
    client.send(vec![0xfd; 900_000], 1340);
    assert_eq!(busy.drain(within).await, Ending::Deadline { within });
}

#[tokio::test(start_paused = true)]
async fn answers_that_come_together_with_the_end_of_the_stream_reach_the_client() {
    let mut rig = rig();
    rig.log_in().await;
    let data = pattern(100);
    rig.remember(&[0; 100]);
    let info = descriptor(100);
    let asked = Header::request::<ReadRequest>(2);
    rig.request(asked, &read(100, &info));
    rig.at_server().await;
    let mut all = Vec::new();
    let mut add = |message: Vec<u8>| {
        all.extend_from_slice(&(message.len() as u32).to_be_bytes());
        all.extend_from_slice(&message);
    };
    // As many as may wait for the client.
    let ids = 3..3 + ORDERS_MAX as u64;
    for id in ids.clone() {
        add(build(&Header::request::<EchoRequest>(id).response(NtStatus::SUCCESS), &EchoResponse {}));
    }
    let answer = ReadResponse { data: &data, ..ReadResponse::default() };
    add(build(&asked.response(NtStatus::SUCCESS), &answer));
    rig.server.write_all(&all).await.unwrap();
    let Rig { mut client, server, pump } = rig;
    drop(server);
    assert_eq!(soon(pump).await.unwrap().0, Ending::Relay(Reason::ServerEnded));
    for _ in ids {
        assert!(matches!(soon(client.got.recv()).await, Some(Got::Message(_, None))));
    }
    assert_eq!(soon(client.got.recv()).await, Some(Got::Data(data)));
    let last = soon(client.got.recv()).await;
    assert!(matches!(last, Some(Got::Message(_, Some(TOKEN)))), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn answers_of_a_server_that_has_left_reach_a_client_that_still_sends() {
    for len in [0, 20_000] {
        let (mut client, mut server, mut pump) = pump();
        let echo = |id| Header::request::<EchoRequest>(id);
        for id in 1..4 {
            let answer = build(&echo(id).response(NtStatus::SUCCESS), &EchoResponse {});
            server.write_u32(answer.len() as u32).await.unwrap();
            server.write_all(&answer).await.unwrap();
        }
        drop(server);
        // Some wait to be sent, and long ones are sent at once.
        client.send(build(&echo(4), &EchoRequest {}), usize::MAX);
        client.send(vec![0xfd; len.max(64)], usize::MAX);
        assert_eq!(soon(pump.run()).await, Ending::Relay(Reason::ServerEnded));
        for _ in 1..4 {
            assert!(matches!(soon(client.got.recv()).await, Some(Got::Message(_, None))));
        }
    }
}

/// A pump that has got a request, the client that has sent it, and the server that has not answered it.
async fn asked(body: &impl Body, header: Header) -> (Hand, DuplexStream, TestPump) {
    let (client, mut server, mut pump) = pump();
    client.send(build(&header, body), usize::MAX);
    let mut message = [0; 1000];
    tokio::select! {
        ending = pump.run() => panic!("{ending}"),
        got = soon(server.read(&mut message)) => assert!(got.unwrap() > 64),
    }
    (client, server, pump)
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_stops_waits_for_a_final_answer_however_long_the_server_is_silent() {
    let (header, info) = (Header::request::<ReadRequest>(2), FileId { persistent: 1, volatile: 2 });
    let request = ReadRequest { length: 10, file_id: info, ..ReadRequest::default() };
    let (mut client, mut server, mut pump) = asked(&request, header).await;
    let start = Instant::now();
    let pump = tokio::spawn(async move { (pump.drain(WITHIN).await, start.elapsed()) });
    let late = Duration::from_secs(7);
    tokio::time::advance(late).await;
    let pending = Header { target: Target::Async { async_id: 4 }, ..header.response(NtStatus::PENDING) };
    let answer = ReadResponse { data: b"1234567890", ..ReadResponse::default() };
    for message in
        [build(&pending, &ErrorResponse::default()), build(&header.response(NtStatus::SUCCESS), &answer)]
    {
        assert!(!pump.is_finished());
        server.write_u32(message.len() as u32).await.unwrap();
        server.write_all(&message).await.unwrap();
        assert_eq!(soon(client.got.recv()).await, Some(Got::Message(message, None)));
    }
    assert_eq!(soon(pump).await.unwrap(), (Ending::Stopped, late));
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_stops_waits_for_the_data_of_an_answer_whose_header_has_come() {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (client, server, mut pump) = pump();
    let pump = tokio::spawn(async move {
        let ended = tokio::select! {
            ending = pump.run() => Some(ending),
            _ = stopped => None,
        };
        let ending = match ended {
            Some(ending) => ending,
            None => pump.drain(WITHIN).await,
        };
        (ending, pump)
    });
    let mut rig = Rig { client, server, pump };
    rig.log_in().await;
    let data = pattern(5000);
    rig.remember(&vec![0; data.len()]);
    let (header, info) = (Header::request::<ReadRequest>(2), descriptor(5000));
    rig.request(header, &read(5000, &info));
    rig.at_server().await;
    let answer = ReadResponse { data: &data, ..ReadResponse::default() };
    let answer = build(&header.response(NtStatus::SUCCESS), &answer);
    let (first, rest) = answer.split_at(2000);
    rig.server.write_u32(answer.len() as u32).await.unwrap();
    rig.server.write_all(first).await.unwrap();
    let a_moment = Duration::from_secs(1);
    tokio::time::sleep(a_moment).await;
    stop.send(()).unwrap();
    tokio::time::sleep(a_moment).await;
    assert!(!rig.pump.is_finished(), "the rest of the answer is lost");
    rig.server.write_all(rest).await.unwrap();
    assert_eq!(rig.at_client().await, Got::Data(data));
    assert!(matches!(rig.at_client().await, Got::Message(_, Some(TOKEN))));
    assert_eq!(rig.end().await.0, Ending::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_may_wait_for_ever_is_not_waited_for() {
    let header = Header::request::<ChangeNotifyRequest>(2);
    let (_client, _server, mut pump) = asked(&ChangeNotifyRequest::default(), header).await;
    assert_eq!(pump.drain(WITHIN).await, Ending::Stopped);
    let (_client, _server, mut pump) = asked(&EchoRequest {}, Header::request::<EchoRequest>(2)).await;
    let within = WITHIN / 3;
    assert_eq!(pump.drain(within).await, Ending::Deadline { within });
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_encrypted_messages_is_idle_when_nothing_has_moved_for_a_while() {
    let (client, mut server, mut pump) = pump();
    let encrypted = [&b"\xfdSMB"[..], &[0; 96]].concat();
    client.send(encrypted, usize::MAX);
    let mut message = [0; 104];
    tokio::select! {
        ending = pump.run() => panic!("{ending}"),
        got = soon(server.read_exact(&mut message)) => assert_eq!(got.unwrap(), 104),
    }
    let start = Instant::now();
    assert_eq!((pump.drain(WITHIN).await, start.elapsed()), (Ending::Stopped, Duration::from_millis(500)));
}

#[tokio::test(start_paused = true)]
async fn of_a_message_that_the_server_does_not_take_no_more_is_taken_than_a_gateway_holds() {
    let (client, server, mut pump) = pump();
    let message = [b"\xfdSMB", &pattern(4_000_000)[..]].concat();
    client.send(message.clone(), 1340);
    let within = Duration::from_secs(10);
    assert_eq!(pump.drain(within).await, Ending::Deadline { within });
    let taken = client.taken.load(Ordering::Relaxed);
    // What waits for the server, what is in its stream, and a fragment.
    assert!(taken < (256 << 10) + 9000 + 2 * 1340, "{taken} bytes");
    let pump = tokio::spawn(async move { (pump.run().await, pump) });
    let mut rig = Rig { client, server, pump };
    assert!(rig.at_server().await == message, "other bytes");
}
