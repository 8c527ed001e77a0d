//! Between the connection and the script: a backend without a device.
//!
//! Without a device, messages that a device would refuse reach the connection as well, such as one that is longer than
//! the receive posted for it.

use std::collections::VecDeque;

use smbd_core::backend::{Backend, BackendOp, ReceiveMemory};
use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::{BufferDescriptorV1, Head, Input, Instant, Limits, RecvId, RegId, Token, WrId};

use super::script::Said;
use crate::memory::Range;

/// Something to tell.
#[derive(Debug)]
enum Report {
    Input(Input<'static>),
    Registered(RegId, BufferDescriptorV1),
}

/// One end of a line whose other end is a script.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) now: Instant,
    /// Posted and not used, in posting order.
    pub(super) recvs: VecDeque<(RecvId, u32)>,
    posted: VecDeque<WrId>,
    registering: VecDeque<RegId>,
    /// What was received, by slot.
    messages: Vec<Vec<u8>>,
    reports: VecDeque<Report>,
    /// Inputs given.
    pub(super) given: u64,
    /// Of the registration reported last.
    segments: [BufferDescriptorV1; 1],
    /// Heads of messages that the script has not heard.
    pub(super) heard: VecDeque<Head>,
    /// The connection was asked for or taken, and whether it is up.
    pub(super) linked: Option<bool>,
}

impl Line {
    pub(super) fn new(recv_slots: u32) -> Self {
        let nothing = BufferDescriptorV1 { offset: 0, token: Token(0), length: 0 };
        Self {
            now: Instant::ORIGIN,
            recvs: VecDeque::new(),
            posted: VecDeque::new(),
            registering: VecDeque::new(),
            messages: (0..recv_slots).map(|_| Vec::new()).collect(),
            reports: VecDeque::new(),
            given: 0,
            segments: [nothing],
            heard: VecDeque::new(),
            linked: None,
        }
    }

    /// The transport connection is up.
    pub(super) fn connected(&mut self, limits: Limits) {
        self.linked = Some(true);
        self.report(Input::Connected { limits });
    }

    /// One thing that was asked for is done; `key` makes tokens different.
    pub(super) fn complete(&mut self, key: bool) {
        if let Some(id) = self.registering.pop_front() {
            let token = Token(0x0100_0000 | u32::from(id.slot()) << 8 | u32::from(key));
            let segment = BufferDescriptorV1 { offset: 4096, token, length: 4096 };
            return self.reports.push_back(Report::Registered(id, segment));
        }
        match self.posted.pop_front() {
            Some(WrId::Send(id)) => self.report(Input::Sent { id }),
            Some(WrId::Rdma(id)) => self.report(Input::RdmaDone { id }),
            Some(WrId::Reg(id)) => self.report(Input::Deregistered { id }),
            Some(WrId::Recv(_)) | None => {}
        }
    }

    /// A message of the script arrives; `false` if no receive is posted.
    pub(super) fn deliver(&mut self, said: &Said) -> bool {
        let Some((id, _)) = self.recvs.pop_front() else { return false };
        let len = u32::try_from(said.bytes.len()).unwrap_or(u32::MAX);
        let head = Head::of(&said.bytes);
        if let Some(message) = self.messages.get_mut(usize::from(id.slot())) {
            message.clone_from(&said.bytes);
        }
        self.report(Input::Received { id, head, len, invalidated: said.invalidates });
        true
    }

    fn report(&mut self, input: Input<'static>) {
        self.reports.push_back(Report::Input(input));
    }

    fn disconnect(&mut self) {
        let error = WorkError::Flushed;
        let recvs = std::mem::take(&mut self.recvs).into_iter().map(|(id, _)| WrId::from(id));
        let posted = std::mem::take(&mut self.posted);
        let registering = std::mem::take(&mut self.registering).into_iter().map(WrId::from);
        let all: Vec<WrId> = recvs.chain(posted).chain(registering).collect();
        for id in all {
            self.report(Input::Failed { id, error });
        }
        self.report(Input::Disconnected { reason: DisconnectReason::Local });
    }
}

impl ReceiveMemory for Line {
    fn received(&self, id: RecvId) -> &[u8] {
        self.messages.get(usize::from(id.slot())).map_or(&[], Vec::as_slice)
    }
}

impl Backend for Line {
    type Buffer = Range;

    fn now(&self) -> Instant {
        self.now
    }

    fn execute(&mut self, step: BackendOp<'_, Range>) {
        match step {
            BackendOp::Connect | BackendOp::Accept => self.linked = Some(false),
            BackendOp::Disconnect => self.disconnect(),
            BackendOp::PostRecv { id, len } => self.recvs.push_back((id, len)),
            BackendOp::PostSend { id, head, .. } => {
                self.posted.push_back(id.into());
                self.heard.push_back(*head);
            }
            BackendOp::PostRdma { id, .. } => self.posted.push_back(id.into()),
            BackendOp::Register { id, .. } => self.registering.push_back(id),
            BackendOp::Deregister { id, .. } => self.posted.push_back(id.into()),
        }
    }

    /// Nothing is chained.
    fn ring_doorbell(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        let report = self.reports.pop_front()?;
        self.given += 1;
        Some(match report {
            Report::Input(input) => input,
            Report::Registered(id, segment) => {
                self.segments = [segment];
                Input::Registered { id, segments: &self.segments, bind_complete: true }
            }
        })
    }
}
