//! Connection management: the initiator of a connection, and its two queue pairs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Roce;
use crate::capture::format::cm::{CmKind, CmMessage};
use crate::decode::collect::{Collector, Flow, Mark};
use crate::decode::item::{CmEvent, Endpoint, ItemKind, Transport};
use crate::decode::session::Side;

const ATTRIBUTE_MRA: u16 = 0x11;

/// Connections by the ids their ends gave them.
#[derive(Debug, Default)]
pub(super) struct Connecting {
    /// Address and communication id, with the end that owns it.
    by_id: BTreeMap<(IpAddr, u32), Flow>,
    /// First packet number of the acceptor and queue pair of the initiator.
    requested: BTreeMap<usize, (u32, u32)>,
    /// Transactions and kinds seen, to count repeated datagrams once.
    seen: BTreeMap<(IpAddr, u64, &'static str), u32>,
}

impl Roce {
    pub(super) fn connection_management(
        &mut self,
        (source, dest): (IpAddr, IpAddr),
        mark: Mark,
        message: &CmMessage,
        collector: &mut Collector,
    ) {
        let repeated =
            self.connecting.seen.insert((source, message.transaction, name(&message.kind)), message.local_id);
        if repeated == Some(message.local_id) {
            collector.counters.retransmissions += 1;
            return;
        }
        let flow = match &message.kind {
            CmKind::Request(request) => {
                let end = |address, port, qpn| Endpoint { address, port, qpn };
                let ends = [end(source, None, Some(request.qpn)), end(dest, request.port(), None)];
                let connection = collector.open_from_start(Transport::RoceV2, ends);
                self.connecting.requested.insert(connection, (request.starting_psn, request.qpn));
                self.mtu.insert(connection, request.path_mtu);
                Some(Flow { connection, side: Side::A })
            }
            CmKind::DisconnectRequest { qpn } => self
                .owner(dest, message.remote_id)
                .or_else(|| self.by_key.get(&(source, dest, *qpn)).map(|index| self.senders[*index].flow)),
            CmKind::Reply(_)
            | CmKind::ReadyToUse
            | CmKind::Reject { .. }
            | CmKind::DisconnectReply
            | CmKind::Other { .. } => self.owner(dest, message.remote_id),
        };
        let Some(flow) = flow else {
            collector.counters.not_understood += 1;
            return;
        };
        if message.local_id != 0 {
            self.connecting.by_id.insert((source, message.local_id), flow);
        }
        if let CmKind::Reply(reply) = &message.kind
            && let Some((acceptor_psn, qpn)) = self.connecting.requested.remove(&flow.connection)
        {
            collector.connections[flow.connection].ends[flow.side.index()].qpn = Some(reply.qpn);
            self.add_sender((dest, source, reply.qpn), flow.reversed(), Some(reply.starting_psn));
            self.add_sender((source, dest, qpn), flow, Some(acceptor_psn));
        }
        if matches!(message.kind, CmKind::DisconnectRequest { .. }) {
            collector.ended(flow.connection, mark);
        }
        collector.item(flow, mark.frames(), ItemKind::Cm(event(message)));
    }

    /// The sender of a message to the end at `dest` that calls the connection `id`.
    fn owner(&self, dest: IpAddr, id: u32) -> Option<Flow> {
        self.connecting.by_id.get(&(dest, id)).map(|owner| owner.reversed())
    }
}

fn name(kind: &CmKind) -> &'static str {
    match kind {
        CmKind::Request(_) => "REQ",
        CmKind::Reply(_) => "REP",
        CmKind::ReadyToUse => "RTU",
        CmKind::Reject { .. } => "REJ",
        CmKind::DisconnectRequest { .. } => "DREQ",
        CmKind::DisconnectReply => "DREP",
        CmKind::Other { attribute: ATTRIBUTE_MRA } => "MRA",
        CmKind::Other { .. } => "other",
    }
}

fn event(message: &CmMessage) -> CmEvent {
    let mut event = CmEvent {
        name: name(&message.kind),
        qpn: None,
        port: None,
        reason: None,
        read_depths: None,
        private_len: message.private_data.len(),
        private_data: message.private_data.clone(),
    };
    while event.private_data.last() == Some(&0) {
        event.private_data.pop();
    }
    match &message.kind {
        CmKind::Request(request) => {
            event.qpn = Some(request.qpn);
            event.port = request.port();
            event.read_depths = Some((request.responder_resources, request.initiator_depth));
        }
        CmKind::Reply(reply) => {
            event.qpn = Some(reply.qpn);
            event.read_depths = Some((reply.responder_resources, reply.initiator_depth));
        }
        CmKind::Reject { reason } => event.reason = Some(*reason),
        CmKind::DisconnectRequest { qpn } => event.qpn = Some(*qpn),
        CmKind::ReadyToUse | CmKind::DisconnectReply | CmKind::Other { .. } => {}
    }
    event
}
