//! The end against the kit of the core, and against peers that break the protocol.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use proptest::prelude::*;

use smbd_core::backend::kit::{self, Capabilities, Fixture, Lab, Peer, Situation};
use smbd_core::backend::{
    Backend as _, BackendOp, BufferSlice, HostMemory as _, Payload, ReceiveMemory as _,
};
use smbd_core::error::{ConnectReason, DisconnectReason, WorkError};
use smbd_core::{Access, BufferDescriptorV1, Config, Head, Input, Params, RdmaVerb, Role, Token, WrId};

use super::*;

struct Sockets;

/// Two connections.
struct Pairs([[SocketEnd; 2]; 2]);

fn pair(config: &Config, clock: Clock) -> [SocketEnd; 2] {
    let (initiator, acceptor) = UnixStream::pair().unwrap();
    let end = |stream: UnixStream, role| SocketEnd::new(stream.into(), role, config, clock).unwrap();
    [end(initiator, Role::Initiator), end(acceptor, Role::Acceptor)]
}

impl Lab for Sockets {
    type Fixture = Pairs;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            refusal: false,
            two_connections: true,
            late_connected: false,
            refused: true,
            unreachable: false,
            silent: false,
            rdma: true,
            read_rights: true,
            invalidation_told: true,
            peer_close_told: true,
            patience: Duration::from_millis(200),
        }
    }

    fn fixture(&mut self, situation: Situation, config: &Config) -> Result<Pairs, String> {
        let clock = Clock::start();
        let mut pairs = [pair(config, clock), pair(config, clock)];
        if situation == Situation::Refused {
            let nowhere = "/nowhere/at/all".parse().unwrap();
            pairs[0][0] = SocketEnd::connect(&nowhere, config, clock);
        }
        Ok(Pairs(pairs))
    }
}

impl Fixture for Pairs {
    type Buffer = Buffer;
    type Backend<'a> = &'a mut SocketEnd;

    fn backend(&mut self, end: Peer) -> &mut SocketEnd {
        &mut self.0[end.connection][usize::from(end.role == Role::Acceptor)]
    }

    fn pass(&mut self, _: Duration) {
        self.0.as_flattened_mut().iter_mut().for_each(SocketEnd::progress);
    }

    fn refuse_after(&mut self, _: Peer, _: usize) {
        unreachable!("no such capability");
    }
}

#[test]
fn an_end_passes_every_line_of_the_kit_but_those_for_faults_that_a_socket_has_not() {
    let report = kit::run(&mut Sockets);
    assert!(report.passed(), "{report}");
    let skipped: Vec<_> = report.not_applicable().map(|outcome| outcome.id).collect();
    let none = ["rdma.", "invalidation.", "order.", "receive.", "completion.", "end.", "limits."];
    let wrong: Vec<_> =
        skipped.iter().filter(|id| none.iter().any(|subject| id.starts_with(subject))).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// An end, and the other side of its socket by hand.
struct Hand {
    end: SocketEnd,
    peer: UnixStream,
}

/// An input without what it borrows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Connected(u16, bool),
    Received(Vec<u8>, Option<Token>),
    Registered(BufferDescriptorV1),
    Failed(WrId, WorkError),
    Over(DisconnectReason),
    NotConnected(ConnectReason),
    Other,
}

fn hello() -> Hello {
    Hello {
        role: Role::Initiator,
        remote_invalidation: true,
        inbound_reads: 2,
        outbound_reads: 2,
        private_data: b"private".to_vec(),
    }
}

fn id(kind: u64, slot: u64) -> WrId {
    WrId::from_raw(kind << 56 | 1 << 16 | slot).unwrap()
}

impl Hand {
    /// An acceptor with two receives of 64 bytes that has accepted; the peer has said nothing.
    fn new() -> Self {
        let config = Config::try_from(Params { read_depth: 2, ..Params::windows() }).unwrap();
        let (stream, peer) = UnixStream::pair().unwrap();
        let mut end = SocketEnd::new(stream.into(), Role::Acceptor, &config, Clock::start()).unwrap();
        for slot in 0..2 {
            let WrId::Recv(id) = id(1, slot) else { panic!("a receive") };
            end.execute(BackendOp::PostRecv { id, len: 64 });
        }
        end.execute(BackendOp::Accept);
        Self { end, peer }
    }

    fn connected() -> Self {
        let mut hand = Self::new();
        hand.says(&[Frame::Hello(hello()), Frame::Receives { count: 1, length: 100 }, Frame::Ready]);
        assert_eq!(hand.told(), [Told::Connected(2, true)]);
        hand
    }

    fn says(&mut self, frames: &[Frame<'_>]) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut bytes));
        self.writes(&bytes);
    }

    fn writes(&mut self, bytes: &[u8]) {
        // An end that is over may have closed its socket.
        _ = self.peer.write_all(bytes);
        for _ in 0..=bytes.len() >> 15 {
            self.end.progress();
        }
    }

    fn told(&mut self) -> Vec<Told> {
        let mut told = Vec::new();
        let mut received = Vec::new();
        while let Some(input) = self.end.next_input() {
            told.push(match input {
                Input::Connected { limits } => {
                    Told::Connected(limits.read_depth, limits.send_with_invalidate)
                }
                Input::Received { id, invalidated, .. } => {
                    received.push((told.len(), id));
                    Told::Received(Vec::new(), invalidated)
                }
                Input::Registered { segments, .. } => Told::Registered(segments[0]),
                Input::Failed { id, error } => Told::Failed(id, error),
                Input::Disconnected { reason } => Told::Over(reason),
                Input::ConnectFailed { reason } => Told::NotConnected(reason),
                _ => Told::Other,
            });
        }
        for (at, id) in received {
            let bytes = self.end.received(id).to_vec();
            if let Told::Received(message, _) = &mut told[at] {
                *message = bytes;
            }
        }
        told
    }

    /// All that the end has written until it shuts its side.
    fn heard(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.peer.read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// The end is over for this reason, and its peer is told.
    fn ended_by(mut self, reason: Reason) -> String {
        let told = self.told();
        let is_over =
            |told: &Told| matches!(told, Told::Over(DisconnectReason::DeviceFailed) | Told::NotConnected(_));
        assert_eq!(told.iter().filter(|told| is_over(told)).count(), 1, "{told:?}");
        let bytes = self.heard();
        let mut rest = &bytes[..];
        let mut last = None;
        while let Some((frame, len)) = Frame::parse(rest).unwrap() {
            (last, rest) = (Some(frame), &rest[len..]);
        }
        let Some(Frame::End(said, text)) = last else { panic!("no END: {last:?}") };
        assert_eq!(said, reason, "{text}");
        assert!(self.end.trouble().is_some_and(|trouble| trouble.contains(text)));
        text.to_owned()
    }

    fn send(&mut self, slot: u64, len: usize) {
        let WrId::Send(id) = id(2, slot) else { panic!("a send") };
        let bytes = vec![1; len];
        let (head, rest) = (Head::of(&bytes), bytes.get(Head::MAX..).unwrap_or_default());
        let body = Some(Payload::Copy(rest));
        let (invalidate, signal, solicit) = (None, true, false);
        self.end.execute(BackendOp::PostSend { id, head: &head, body, invalidate, signal, solicit });
        self.end.ring_doorbell();
    }

    fn register(&mut self, len: u32, access: Access) -> (Buffer, BufferDescriptorV1) {
        let buffer = self.end.allocate(len).unwrap();
        let WrId::Reg(id) = id(4, 0) else { panic!("a registration") };
        self.end.execute(BackendOp::Register { id, buffer: &buffer, access, segments_max: 1 });
        let told = self.told();
        let [Told::Registered(segment)] = told[..] else { panic!("{told:?}") };
        (buffer, segment)
    }
}

fn raw(length: u32, kind: u32, body: &[u8]) -> Vec<u8> {
    [&length.to_le_bytes(), &kind.to_le_bytes(), body].concat()
}

#[test]
fn each_frame_is_what_it_was_before_it_was_encoded() {
    let remote = BufferDescriptorV1 { offset: 0x0102_0304_0506_0708, token: Token(9), length: 3 };
    let all = [
        Frame::Hello(hello()),
        Frame::Receives { count: 3, length: 512 },
        Frame::Ready,
        Frame::Send { invalidate: Some(Token(7)), message: b"message" },
        Frame::Send { invalidate: None, message: b"" },
        Frame::Write(remote, b"abc"),
        Frame::Read(remote),
        Frame::ReadData(b"abc"),
        Frame::End(Reason::Access, "why"),
        Frame::End(Reason::Other(77), ""),
    ];
    for frame in all {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        assert_eq!(Frame::parse(&bytes), Ok(Some((frame.clone(), bytes.len()))));
        for len in 0..bytes.len() {
            assert_eq!(Frame::parse(&bytes[..len]), Ok(None), "{frame:?}");
        }
    }
}

#[test]
fn the_example_of_the_documentation_is_what_the_ends_say() {
    let page = include_str!("../../../docs/socket-target.md");
    let (_, example) = page.split_once("## Example").unwrap();
    let lines = example.lines().filter_map(|line| line.strip_prefix("    "));
    let said: Vec<_> = lines.filter_map(|line| line.split_once("  ")).collect();
    let of = |who: &str| -> Vec<u8> {
        let of = said.iter().filter(|(name, _)| *name == who);
        let bytes = of.flat_map(|(_, rest)| rest.split(';').next().unwrap().split_whitespace());
        bytes.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    };
    let mut hand = Hand::new();
    hand.writes(&of("I"));
    let told = hand.told();
    assert!(
        matches!(&told[..], [Told::Connected(2, true), Told::Received(message, None), Told::Over(DisconnectReason::PeerClosed)] if message == b"Hi"),
        "{told:?}"
    );
    assert_eq!(hand.heard(), of("A"));
}

#[test]
fn lengths_and_kinds_out_of_range_end_the_connection_before_their_bodies_come() {
    let wrong = [
        raw(0, 0, &[]),
        raw(0, 9, &[]),
        raw(u32::MAX, 4, &[]),
        raw(7, 4, &[]),
        raw((1 << 20) + 9, 4, &[]),
        raw((1 << 20) + 17, 5, &[]),
        raw(17, 6, &[]),
        raw((1 << 20) + 1, 7, &[]),
        raw(3, 8, &[]),
        raw(517, 8, &[]),
        raw(1, 3, &[]),
        raw(9, 2, &[]),
    ];
    for bytes in wrong {
        let mut hand = Hand::connected();
        hand.writes(&bytes);
        hand.ended_by(Reason::Protocol);
    }
}

#[test]
fn frames_at_the_wrong_time_end_the_connection() {
    let message = || Frame::Send { invalidate: None, message: b"early" };
    let (receives, other) =
        (Frame::Receives { count: 1, length: 1 }, Hello { role: Role::Acceptor, ..hello() });
    let wrong: [&[Frame<'_>]; 7] = [
        &[Frame::Ready],
        &[receives],
        &[message()],
        &[Frame::Hello(other)],
        &[Frame::Hello(hello()), Frame::Hello(hello())],
        &[Frame::Hello(hello()), message()],
        &[Frame::Hello(hello()), Frame::Ready, Frame::Ready],
    ];
    for frames in wrong {
        let mut hand = Hand::new();
        hand.says(frames);
        hand.ended_by(Reason::Protocol);
    }
}

#[test]
fn what_was_not_asked_for_ends_the_connection() {
    let mut hand = Hand::connected();
    hand.says(&[Frame::ReadData(b"data")]);
    hand.ended_by(Reason::Protocol);
    let mut hand = Hand::connected();
    hand.says(&[Frame::Receives { count: 65_536, length: 1 }]);
    hand.ended_by(Reason::Protocol);
    let mut hand = Hand::connected();
    hand.writes(&raw(9, 4, &[2, 0, 0, 0, 0, 0, 0, 0, 0]));
    hand.ended_by(Reason::Protocol);
}

#[test]
fn a_message_needs_a_receive_that_is_long_enough() {
    let message = Frame::Send { invalidate: None, message: &[1; 64] };
    let mut hand = Hand::connected();
    hand.says(&[message.clone(), message.clone(), message]);
    hand.ended_by(Reason::NoReceive);
    let mut hand = Hand::connected();
    hand.says(&[Frame::Send { invalidate: None, message: &[1; 65] }]);
    hand.ended_by(Reason::TooLong);
}

#[test]
fn a_message_is_sent_only_into_a_receive_that_the_peer_told_of() {
    let mut hand = Hand::connected();
    hand.send(0, 101);
    assert!(hand.told().contains(&Told::Failed(id(2, 0), WorkError::RemoteInvalidRequest)));
    assert!(hand.end.trouble().unwrap().contains("101 bytes, the receive has 100"));
    let mut hand = Hand::connected();
    hand.send(0, 100);
    assert_eq!(hand.told(), [Told::Other]);
    hand.send(1, 1);
    assert!(hand.told().contains(&Told::Failed(id(2, 1), WorkError::ReceiverNotReady)));
}

#[test]
fn a_token_that_is_not_valid_is_not_invalidated() {
    let mut hand = Hand::connected();
    let (_, segment) = hand.register(32, Access::Read);
    let once = Frame::Send { invalidate: Some(segment.token), message: b"once" };
    hand.says(std::slice::from_ref(&once));
    assert_eq!(hand.told(), [Told::Received(b"once".to_vec(), Some(segment.token))]);
    hand.says(&[once]);
    hand.ended_by(Reason::Token);
}

#[test]
fn memory_is_reached_as_far_as_it_was_registered() {
    let moved = |segment: BufferDescriptorV1, by: u64| BufferDescriptorV1 {
        offset: segment.offset.wrapping_add(by),
        ..segment
    };
    for by in [1, u64::MAX, 1 << 40, 1 << 63] {
        let mut hand = Hand::connected();
        let (buffer, segment) = hand.register(32, Access::ReadWrite);
        hand.says(&[Frame::Write(moved(segment, by), &[7; 32])]);
        hand.ended_by(Reason::Access);
        assert_eq!(buffer.copy(0, 32).unwrap(), [0; 32]);
    }
    let mut hand = Hand::connected();
    let (_, segment) = hand.register(32, Access::ReadWrite);
    hand.says(&[Frame::Read(BufferDescriptorV1 { length: u32::MAX, ..segment })]);
    hand.ended_by(Reason::Access);
    let mut hand = Hand::connected();
    let (_, segment) = hand.register(32, Access::Write);
    hand.says(&[Frame::Read(segment)]);
    hand.ended_by(Reason::Access);
}

#[test]
fn a_peer_that_reads_more_than_it_takes_holds_no_memory_and_is_ended_at_its_depth() {
    let mut hand = Hand::connected();
    let (_, segment) = hand.register(8 << 20, Access::Read);
    // Nobody reads the socket, so the first two are never through.
    hand.says(&[Frame::Read(segment), Frame::Read(segment)]);
    assert_eq!(hand.told(), []);
    assert!(hand.end.wire.waiting() < 1 << 20, "{}", hand.end.wire.waiting());
    hand.says(&[Frame::Read(segment)]);
    let told = hand.told();
    assert_eq!(told, [Told::Over(DisconnectReason::DeviceFailed)]);
    assert!(hand.end.trouble().unwrap().contains("as many as HELLO allows"));
}

#[test]
fn data_of_a_read_are_what_was_asked_for() {
    for wrong in [&[][..], &[0; 33]] {
        let mut hand = Hand::connected();
        let buffer = hand.end.allocate(32).unwrap();
        let WrId::Rdma(id) = id(3, 0) else { panic!("an RDMA request") };
        let remote = BufferDescriptorV1 { offset: 1, token: Token(1), length: 32 };
        let local = BufferSlice { buffer: &buffer, offset: 0, len: 32 };
        hand.end.execute(BackendOp::PostRdma { id, verb: RdmaVerb::Read, local, remote, signal: true });
        hand.end.ring_doorbell();
        hand.says(&[Frame::ReadData(wrong)]);
        hand.ended_by(Reason::Protocol);
    }
}

#[test]
fn an_end_without_a_word_is_no_close_in_order() {
    let mut hand = Hand::connected();
    hand.writes(&raw(100, 4, &[0; 20]));
    hand.peer.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(hand.told(), [Told::Over(DisconnectReason::PeerAborted)]);
    let mut hand = Hand::connected();
    hand.says(&[Frame::End(Reason::Disconnect, "")]);
    assert_eq!(hand.told(), [Told::Over(DisconnectReason::PeerClosed)]);
    let mut hand = Hand::connected();
    hand.says(&[Frame::End(Reason::Other(99), "of a later version")]);
    assert_eq!(hand.told(), [Told::Over(DisconnectReason::PeerAborted)]);
    assert!(hand.end.trouble().unwrap().contains("reason 99: of a later version"));
}

#[test]
fn a_disconnect_brings_back_all_that_is_posted() {
    let mut hand = Hand::connected();
    hand.end.execute(BackendOp::Disconnect);
    let flushed = |slot| Told::Failed(id(1, slot), WorkError::Flushed);
    assert_eq!(hand.told(), [flushed(0), flushed(1), Told::Over(DisconnectReason::Local)]);
}

proptest! {
    /// Whatever comes, the end neither panics nor keeps more than a frame.
    #[test]
    fn any_bytes_are_frames_or_end_the_connection(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        kinds in proptest::collection::vec((0_u32..10, 0_u32..40), 0..20),
        is_connected in any::<bool>(),
    ) {
        let mut hand = if is_connected { Hand::connected() } else { Hand::new() };
        for (kind, length) in kinds {
            let body: Vec<_> = bytes.iter().cycle().take(if bytes.is_empty() { 0 } else { length as usize }).copied().collect();
            hand.writes(&raw(u32::try_from(body.len()).unwrap(), kind, &body));
        }
        hand.writes(&bytes);
        let _ = hand.told();
        hand.end.execute(BackendOp::Disconnect);
        let told = hand.told();
        prop_assert!(told.iter().filter(|told| matches!(told, Told::Over(_) | Told::NotConnected(_))).count() <= 1);
    }
}
