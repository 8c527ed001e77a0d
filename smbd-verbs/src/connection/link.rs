//! The transport connection: its state, and the operations on it.

use std::sync::Arc;
use std::time::Duration;

use smbd_core::Limits;
use smbd_core::backend::{TransportReports, WorkQueues};
use smbd_core::error::{ConnectReason, DisconnectReason};

use super::VerbsConnection;
use super::call::Call;
use super::phase::{Phase, Way};
use crate::depth::{Depths, Terms};
use crate::ffi::{CmId, ConnParams, EventChannel, PrivateData};
use crate::status;
use crate::{CallError, Error, RejectReason, fit};

/// How much longer than the negotiation timer the connection manager may take.
pub(super) const MARGIN: Duration = Duration::from_secs(1);
/// Attempts of the device to reach a silent peer, the most there are: the network decides, not this number.
const RETRIES: u8 = 7;

#[derive(Debug)]
pub(super) struct Link {
    pub(super) id: Arc<CmId>,
    pub(super) channel: Arc<EventChannel>,
    pub(super) phase: Phase,
    pub(super) reports: TransportReports,
    /// What an acceptor answers.
    pub(super) answer: Option<Terms>,
    /// What came with the peer's refusal.
    pub(super) reject_data: PrivateData,
    /// What the connection manager was told of a message that came before its last one.
    pub(super) early: Early,
}

/// A message that came while the answer was on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Early {
    /// There was none, or the connection is known to be up.
    #[default]
    None,
    /// One came; the connection manager's last message is given a moment.
    Noticed,
    /// The connection manager was told, and has not said that the connection is up.
    Told,
}

impl Link {
    pub(super) fn new(id: Arc<CmId>, channel: Arc<EventChannel>, way: Way) -> Self {
        Self {
            id,
            channel,
            phase: Phase::Idle(way),
            reports: TransportReports::default(),
            answer: None,
            reject_data: PrivateData::default(),
            early: Early::None,
        }
    }

    /// Whether completions mean something. Those of an initiator that is not connected are flushes: some providers
    /// report them before the connection manager says why it failed.
    pub(super) const fn has_completions(&self) -> bool {
        !matches!(self.phase, Phase::Connecting(_) | Phase::Settling(_))
    }

    /// The transport connection is gone.
    pub(super) fn lose(&mut self, reason: DisconnectReason) {
        self.reports.disconnected(reason);
        self.phase = Phase::Down;
    }

    pub(super) fn fail(&mut self, reason: ConnectReason) {
        self.reports.connect_failed(reason);
        self.phase = Phase::Down;
    }
}

impl ConnParams<'_> {
    /// Credits see to it that there is a receive for every message, so none is sent again for want of one.
    const fn of(terms: &Terms) -> ConnParams<'_> {
        ConnParams {
            private_data: match &terms.header {
                Some(header) => header,
                None => &[],
            },
            responder_resources: terms.incoming,
            initiator_depth: terms.outgoing,
            retry_count: RETRIES,
            rnr_retry_count: 0,
        }
    }
}

/// The peer's first message needs one of the receives posted so far: with one that was refused nobody is connected.
const fn took_receives(queues: &WorkQueues) -> Result<(), CallError> {
    if queues.is_broken() { Err(CallError::new("ibv_post_recv", libc::EINVAL)) } else { Ok(()) }
}

impl VerbsConnection {
    /// [`BackendOp::Connect`](smbd_core::backend::BackendOp::Connect).
    pub(super) fn begin_connecting(&mut self) {
        let Phase::Idle(Way::Connect(route)) = self.link.phase else { return };
        let asked = self.link.id.resolve_addr(route.from, route.to, route.timeout);
        self.link.phase = Phase::ResolvingAddr(route);
        self.fail_unless(asked);
    }

    pub(super) fn addr_resolved(&mut self) {
        let Phase::ResolvingAddr(route) = self.link.phase else { return };
        let asked = self.link.id.resolve_route(route.timeout);
        self.link.phase = Phase::ResolvingRoute;
        self.fail_unless(asked);
    }

    pub(super) fn route_resolved(&mut self) {
        if !matches!(self.link.phase, Phase::ResolvingRoute) {
            return;
        }
        self.link.phase = Phase::Connecting(None);
        if let Err(error) = self.open_queues().and_then(|()| self.request_connection()) {
            self.link.fail(match error {
                Error::Call(call) => status::connect_reason_of(call),
                Error::System { errno, .. } => status::connect_reason(errno.raw_os_error()),
                Error::NoDevice { .. } => ConnectReason::Unreachable,
                Error::DeviceTooSmall { .. } => ConnectReason::Other(libc::ENOMEM),
                Error::ReadDepth { .. } => ConnectReason::ReadDepth,
            });
        }
    }

    fn request_connection(&mut self) -> Result<(), Error> {
        took_receives(&self.queues)?;
        let terms = self.depths().offer();
        if !self.connect_blocks() {
            return Ok(self.link.id.connect(&ConnParams::of(&terms))?);
        }
        let call = move |id: &CmId| id.connect(&ConnParams::of(&terms));
        let call = Call::start(Arc::clone(&self.link.id), self.wake.call_handle()?, call)?;
        self.link.phase = Phase::Connecting(Some(call));
        Ok(())
    }

    /// A call on another thread is back.
    pub(super) fn call_returned(&mut self) {
        let Phase::Connecting(pending) = &mut self.link.phase else { return };
        if let Some(result) = pending.as_ref().and_then(Call::result) {
            *pending = None;
            self.fail_unless(result);
        }
    }

    /// [`BackendOp::Accept`](smbd_core::backend::BackendOp::Accept).
    pub(super) fn begin_accepting(&mut self) {
        let (Phase::Idle(Way::Accept), Some(terms)) = (&self.link.phase, self.link.answer) else { return };
        if let Err(refused) = took_receives(&self.queues) {
            // Said at once, as any refusal.
            let _ = self.link.id.reject(RejectReason::NoReceive.text().as_bytes());
            return self.link.fail(status::connect_reason_of(refused));
        }
        let accepted = self.link.id.accept(&ConnParams::of(&terms));
        self.link.phase = Phase::Accepting(terms);
        self.fail_unless(accepted);
    }

    /// The connection is up, with this many own reads.
    pub(super) fn connected(&mut self, read_depth: u16) {
        let Some(open) = &self.open else { return };
        let limits = fit::limits(&open.qp.granted(), &open.device, open.quirks, read_depth);
        if matches!(self.link.phase, Phase::Accepting(_)) {
            self.announce(limits);
        } else if open.quirks.settle_millis > 0 {
            self.wake.set_timer(Duration::from_millis(open.quirks.settle_millis));
            self.link.phase = Phase::Settling(limits);
        } else {
            self.announce(limits);
        }
    }

    pub(super) fn announce(&mut self, limits: Limits) {
        self.link.phase = Phase::Up;
        self.await_first(limits.read_depth);
        self.link.reports.connected(limits);
        if let Some(permit) = &mut self.permit {
            permit.connected();
        }
    }

    /// What this side can do; nothing before the device is known.
    pub(super) fn depths(&self) -> Depths {
        let known = self.open.as_ref();
        known.map_or(Depths::NONE, |open| Depths::new(&open.device, open.quirks, self.budget.read_depth))
    }

    fn fail_unless(&mut self, result: Result<(), CallError>) {
        if let Err(error) = result {
            self.link.fail(status::connect_reason_of(error));
        }
    }
}

#[cfg(test)]
mod tests {
    use smbd_core::backend::{Request, WorkQueues, kit};
    use smbd_core::error::ConnectReason;
    use smbd_core::{RecvId, WrId};

    use super::took_receives;
    use crate::status;

    /// Queues with two receives, of which the device took so many.
    fn queues(accepted: usize) -> WorkQueues {
        let mut queues = WorkQueues::new(&kit::config().expect("the kit's").budget());
        for slot in [0, 1] {
            let _ = queues.push(Request::Recv(recv(slot)));
        }
        match accepted {
            2 => queues.doorbell_rung(),
            accepted => queues.doorbell_rung_until(accepted, libc::ENOMEM),
        }
        queues
    }

    fn recv(slot: u64) -> RecvId {
        match WrId::from_raw(1 << 56 | slot) {
            Some(WrId::Recv(id)) => id,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nobody_is_connected_with_a_receive_refused() {
        let reason = |accepted| took_receives(&queues(accepted)).map_err(status::connect_reason_of);
        for accepted in [0, 1] {
            assert_eq!(reason(accepted), Err(ConnectReason::Other(libc::EINVAL)), "{accepted} taken");
        }
        assert_eq!(reason(2), Ok(()));
    }
}
