//! Carries out the orders of the model on a simulated device, and gives the device's reports to the model.

use smbd_core::backend::{Backend as _, BackendOp, Payload, ReceiveMemory as _};
use smbd_core::error::DisconnectReason;
use smbd_core::{Action, Head, Input, RecvId, SendId, WrId};

use super::Run;
use crate::memory::Range;
use crate::nic::{NicConfig, Personality};
use crate::peers::line::{ModelParams, Order};
use crate::probe::{At, Probe as _};

/// Sends that a model may have posted: more than it can have credits for.
const SENDS: u16 = 2048;

/// Names of a model's work.
#[derive(Debug, Default)]
pub(super) struct Posts {
    next: u16,
}

/// What a device reported.
enum Report {
    Connected,
    Received(u16, Vec<u8>),
    Sent,
    Over,
}

/// A device with room for whatever a model does.
pub(super) fn nic(
    personality: Personality,
    params: &ModelParams,
    buffers: u16,
    ours: &NicConfig,
) -> NicConfig {
    let receives = u32::from(buffers);
    NicConfig {
        send_queue: u32::from(SENDS),
        send_cq: u32::from(SENDS),
        recv_queue: receives,
        recv_cq: receives,
        recv_slots: receives,
        recv_buffer_len: params.max_receive_size.max(512),
        personality,
        ..ours.clone()
    }
}

fn recv_id(slot: u16) -> Option<RecvId> {
    match WrId::from_raw(1 << 56 | u64::from(slot)) {
        Some(WrId::Recv(id)) => Some(id),
        _ => None,
    }
}

fn send_id(slot: u16) -> Option<SendId> {
    match WrId::from_raw(2 << 56 | u64::from(slot)) {
        Some(WrId::Send(id)) => Some(id),
        _ => None,
    }
}

impl Run<'_> {
    const fn at(&self) -> At {
        At { now: self.world.now(), side: self.side }
    }

    /// Shows the model's doings in the trace, like those of the connection.
    fn show(&mut self, action: &Action) {
        let at = self.at();
        if let Some(trace) = &mut self.world.probe_mut().trace {
            trace.action(at, action);
        }
    }

    /// Everything the model wants done.
    pub(super) fn carry_out(&mut self) {
        while let Some(order) = self.model.next_order() {
            match order {
                Order::Connect => {
                    self.show(&Action::Connect);
                    self.execute(BackendOp::Connect);
                }
                Order::Accept => {
                    self.show(&Action::Accept);
                    self.execute(BackendOp::Accept);
                }
                Order::Disconnect => {
                    self.show(&Action::Disconnect);
                    self.execute(BackendOp::Disconnect);
                }
                Order::PostRecv { slot, len } => {
                    let Some(id) = recv_id(slot) else { continue };
                    self.show(&Action::PostRecv { id, len });
                    self.execute(BackendOp::PostRecv { id, len });
                }
                Order::Send(message) => self.post_send(&message),
            }
        }
        self.show(&Action::Wait(None));
        self.world.end::<Range>(self.side).ring_doorbell();
        self.world.look_bare(self.side);
    }

    fn post_send(&mut self, message: &[u8]) {
        let Some(id) = send_id(self.posts.next) else { return };
        self.posts.next = (self.posts.next + 1) % SENDS;
        let head = Head::of(message);
        self.show(&Action::PostSend { id, head, body: None, invalidate: None, signal: true, solicit: false });
        let rest = message.get(Head::MAX..).filter(|rest| !rest.is_empty());
        let body = rest.map(Payload::Copy);
        self.execute(BackendOp::PostSend {
            id,
            head: &head,
            body,
            invalidate: None,
            signal: true,
            solicit: false,
        });
    }

    fn execute(&mut self, step: BackendOp<'_, Range>) {
        self.world.end(self.side).execute(step);
    }

    /// Everything the device has to report.
    pub(super) fn poll_model(&mut self) {
        while let Some(report) = self.next_report() {
            let now = self.world.now();
            match report {
                Report::Connected => self.model.on_connected(now),
                Report::Received(slot, message) => self.model.on_received(now, slot, &message),
                Report::Sent => self.model.on_sent(now),
                Report::Over => self.model.on_lost(),
            }
            self.carry_out();
        }
    }

    fn next_report(&mut self) -> Option<Report> {
        let (at, side) = (self.at(), self.side);
        let mut end = self.world.end::<Range>(side);
        let input = end.next_input()?;
        // A report of the world's own memory, which has to be given back before anything is done with it.
        let copy = match input {
            Input::Connected { limits } => Input::Connected { limits },
            Input::Received { id, head, len, invalidated } => Input::Received { id, head, len, invalidated },
            Input::Sent { id } => Input::Sent { id },
            Input::Failed { id, error } => Input::Failed { id, error },
            Input::Disconnected { reason } => Input::Disconnected { reason },
            _ => Input::Disconnected { reason: DisconnectReason::Unknown },
        };
        if let Some(trace) = &mut self.world.probe_mut().trace {
            trace.input(at, &copy, Ok(()));
        }
        Some(match copy {
            Input::Connected { .. } => Report::Connected,
            Input::Received { id, .. } => {
                Report::Received(id.slot(), self.world.end::<Range>(side).received(id).to_vec())
            }
            Input::Sent { .. } => Report::Sent,
            _ => Report::Over,
        })
    }
}
