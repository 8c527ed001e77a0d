use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;
use std::vec;
use std::vec::Vec;

use bytes::Bytes;

use super::{Blocking, Connection};
use crate::Failure;
use smbd_core::backend::{Backend, BackendOp, ReceiveMemory, kit};
use smbd_core::error::{CloseReason, DisconnectReason};
use smbd_core::wire::{DataTransfer, NegotiateResponse, NtStatus};
use smbd_core::{Access, BufferDescriptorV1, Endpoint, Head, Input, Instant, Limits, RecvId, Role, Token};

/// A device with an acceptor behind it that answers the first message at once, with a message of the upper layer right
/// behind the answer. Then nothing happens any more. A drive is told one thing at a time.
struct Prompt {
    now: Instant,
    said: VecDeque<Input<'static>>,
    posted: VecDeque<RecvId>,
    arrived: Vec<(RecvId, Vec<u8>)>,
    answers: VecDeque<Vec<u8>>,
    /// How often `next_input` still has nothing: what ends a drive.
    pauses: u32,
    /// Nothing more is expected: sleeping is right.
    may_sleep: bool,
}

const TEXT: &[u8] = b"right behind";
const SEGMENT: BufferDescriptorV1 = BufferDescriptorV1 { offset: 0, token: Token(7), length: 10 };

/// A message that grants a credit, with bytes of the upper layer.
fn text() -> Vec<u8> {
    let header = DataTransfer {
        credits_requested: 10,
        credits_granted: 1,
        data_offset: 24,
        data_length: u32::try_from(TEXT.len()).unwrap(),
        ..DataTransfer::default()
    };
    let mut message = vec![0; 24];
    header.encode(&mut message).unwrap();
    message.extend_from_slice(TEXT);
    message
}

impl Prompt {
    /// `late`: the first drive is told nothing.
    fn new(late: bool) -> Self {
        let response = NegotiateResponse {
            min_version: 0x0100,
            max_version: 0x0100,
            negotiated_version: 0x0100,
            credits_requested: 10,
            credits_granted: 10,
            status: NtStatus(0),
            max_read_write_size: 1 << 20,
            preferred_send_size: 1024,
            max_receive_size: 1024,
            max_fragmented_size: 131_072,
        };
        let mut answer = vec![0; NegotiateResponse::LEN];
        response.encode(&mut answer).unwrap();
        Self {
            now: Instant::ORIGIN,
            said: VecDeque::new(),
            posted: VecDeque::new(),
            arrived: Vec::new(),
            answers: [answer, text()].into(),
            pauses: late.into(),
            may_sleep: false,
        }
    }

    /// What is there and has a receive.
    fn deliver(&mut self) {
        while let Some(id) = self.posted.pop_front() {
            let Some(message) = self.answers.pop_front() else {
                self.posted.push_front(id);
                return;
            };
            let len = u32::try_from(message.len()).unwrap();
            self.said.push_back(Input::Received { id, head: Head::of(&message), len, invalidated: None });
            self.arrived.push((id, message));
        }
    }
}

impl ReceiveMemory for Prompt {
    fn received(&self, id: RecvId) -> &[u8] {
        self.arrived.iter().rev().find(|(at, _)| *at == id).map_or(&[], |(_, message)| message)
    }
}

impl Backend for Prompt {
    type Buffer = ();

    fn now(&self) -> Instant {
        self.now
    }

    fn execute(&mut self, step: BackendOp<'_, ()>) {
        match step {
            BackendOp::Connect => {
                let limits = Limits {
                    read_depth: 1,
                    send_queue: 100,
                    rdma_len_max: 1 << 20,
                    registration_requests: 0,
                    send_with_invalidate: false,
                    reads_in_order: false,
                };
                self.said.push_back(Input::Connected { limits });
            }
            BackendOp::PostRecv { id, .. } => {
                self.posted.push_back(id);
                if self.arrived.len() == 1 {
                    self.deliver();
                }
            }
            BackendOp::Register { id, .. } => {
                let registered = Input::Registered { id, segments: &[SEGMENT], bind_complete: true };
                self.said.push_back(registered);
            }
            BackendOp::Deregister { id, .. } => self.said.push_back(Input::Deregistered { id }),
            // It never completes: that would be something more to be told.
            BackendOp::PostSend { .. } => self.deliver(),
            _ => {}
        }
    }

    fn ring_doorbell(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        if let Some(fewer) = self.pauses.checked_sub(1) {
            self.pauses = fewer;
            return None;
        }
        self.pauses = 2;
        self.said.pop_front()
    }
}

impl Blocking for Prompt {
    type Error = Infallible;

    fn wait(&mut self, until: Option<Instant>) -> Result<(), Infallible> {
        if let (Some(until), true) = (until, self.said.is_empty()) {
            self.now = self.now.max(until);
        }
        assert!(self.may_sleep || !self.said.is_empty(), "all has been told: a sleep that nothing would end");
        Ok(())
    }
}

#[test]
fn nobody_sleeps_on_what_has_come_already() {
    let config = kit::config().unwrap();
    // Whichever drive of a call brings it.
    for late in [false, true] {
        let mut answer_only = Prompt::new(late);
        answer_only.answers.truncate(1);
        Connection::establish(Role::Initiator, answer_only, &config).unwrap();

        let mut connection = Connection::establish(Role::Initiator, Prompt::new(late), &config).unwrap();
        assert_eq!(connection.recv(Duration::from_secs(5)), Ok(Bytes::from_static(TEXT)));
        connection.backend_mut().may_sleep = true;
        assert_eq!(connection.recv(Duration::from_millis(1)), Err(Failure::TimedOut));
    }
}

#[test]
fn a_peer_that_sends_more_than_may_wait_is_cut_off_and_what_waited_can_still_be_received() {
    let config = kit::config().unwrap();
    for too_much in [false, true] {
        let prompt = Prompt::new(false);
        let endpoint = Endpoint::new(Role::Initiator, &config, prompt.now());
        let mut connection = Connection::establish_keeping(2 * TEXT.len(), endpoint, prompt).unwrap();
        let prompt = connection.backend_mut();
        prompt.may_sleep = true;
        // The first is there already.
        for _ in 0..1 + u32::from(too_much) {
            prompt.answers.push_back(text());
            prompt.deliver();
        }
        let local = CloseReason::Local;
        let idle = if too_much { Err(Failure::Closed(local)) } else { Ok(()) };
        assert_eq!(connection.idle(Duration::from_millis(1)), idle);
        assert_eq!(connection.ended(), too_much.then_some(local));
        for _ in 0..2 + u32::from(too_much) {
            assert_eq!(connection.try_recv(), Ok(Some(Bytes::from_static(TEXT))));
        }
        let nothing = if too_much { Err(Failure::Closed(local)) } else { Ok(None) };
        assert_eq!(connection.try_recv(), nothing);
    }
}

#[test]
fn a_flush_of_messages_that_were_not_sent_fails() {
    let config = kit::config().unwrap();
    let mut connection = Connection::establish(Role::Initiator, Prompt::new(false), &config).unwrap();
    connection.send(Bytes::from_static(TEXT)).unwrap();
    let reason = DisconnectReason::Unreachable;
    connection.backend_mut().said.push_back(Input::Disconnected { reason });
    assert_eq!(connection.flush(), Err(Failure::Closed(CloseReason::Lost { reason })));
}

#[test]
fn a_token_of_a_registration_that_has_ended_is_kept_until_the_next_one() {
    let config = kit::config().unwrap();
    let mut connection = Connection::establish(Role::Initiator, Prompt::new(false), &config).unwrap();
    connection.recv(Duration::from_secs(5)).unwrap();
    connection.backend_mut().may_sleep = true;
    let mut message = vec![0; 20];
    DataTransfer { credits_requested: 10, credits_granted: 1, ..DataTransfer::default() }
        .encode(&mut message)
        .unwrap();
    for asked_before_the_next in [true, false] {
        let registration = connection.register(&(), Access::Read).unwrap();
        assert_eq!(connection.invalidated(), None);
        let prompt = connection.backend_mut();
        let id = prompt.posted.pop_front().unwrap();
        let invalidated = Some(SEGMENT.token);
        prompt.said.push_back(Input::Received { id, head: Head::of(&message), len: 20, invalidated });
        connection.idle(Duration::from_millis(1)).unwrap();
        connection.deregister(&registration).unwrap();
        if asked_before_the_next {
            assert_eq!(connection.invalidated(), Some(SEGMENT.token));
        }
    }
    connection.register(&(), Access::Read).unwrap();
    assert_eq!(connection.invalidated(), None);
}
