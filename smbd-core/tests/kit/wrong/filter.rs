use smbd_core::error::{ConnectReason, DisconnectReason, WorkError};
use smbd_core::{Head, Input, Limits, WrId};

use super::end::WrongBackend;
use super::{Fault, Out};

/// The same input, owned; not for `Registered`.
pub fn owned(input: &Input<'_>) -> Input<'static> {
    match *input {
        Input::Connected { limits } => Input::Connected { limits },
        Input::ConnectFailed { reason } => Input::ConnectFailed { reason },
        Input::Disconnected { reason } => Input::Disconnected { reason },
        Input::Timeout => Input::Timeout,
        Input::Received { id, head, len, invalidated } => Input::Received { id, head, len, invalidated },
        Input::Sent { id } => Input::Sent { id },
        Input::RdmaDone { id } => Input::RdmaDone { id },
        Input::Registered { .. } => panic!("handled apart"),
        Input::BindComplete { id } => Input::BindComplete { id },
        Input::Deregistered { id } => Input::Deregistered { id },
        Input::Failed { id, error } => Input::Failed { id, error },
    }
}

impl WrongBackend<'_> {
    /// Puts what becomes of an input in the output.
    pub fn filter(&mut self, out: Out) {
        let Out::Plain(input) = out else {
            if self.fault == Fault::SegmentsUnderstated {
                self.state.segments.iter_mut().for_each(|segment| segment.length -= 1);
            }
            if self.fault == Fault::NoSegments {
                self.state.segments.clear();
            }
            return self.state.out.push_back(out);
        };
        match input {
            Input::Connected { .. } => self.state.connected = true,
            Input::ConnectFailed { .. } => self.state.failed = true,
            Input::Disconnected { .. } => self.state.disconnected = true,
            Input::Received { id, .. } => self.state.last = Some(id),
            _ => {}
        }
        for input in self.spoiled(input) {
            self.state.out.push_back(Out::Plain(input));
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table")]
    fn spoiled(&mut self, input: Input<'static>) -> Vec<Input<'static>> {
        let state = &mut *self.state;
        match (self.fault, input) {
            (Fault::ConnectedTwice, Input::Connected { .. }) => vec![input, input],
            (Fault::DisconnectedTwice, Input::Disconnected { .. }) => vec![input, input],
            (Fault::PeersEndCalledOwn, Input::Disconnected { .. }) => {
                vec![Input::Disconnected { reason: DisconnectReason::Local }]
            }
            (Fault::PeersCloseNotTold, Input::Disconnected { reason: DisconnectReason::PeerClosed }) => {
                vec![Input::Disconnected { reason: DisconnectReason::Unknown }]
            }
            (Fault::AcceptsAndSaysItFailed, Input::Connected { .. }) if state.refuses_first => {
                vec![Input::ConnectFailed { reason: ConnectReason::Other(22) }]
            }
            (Fault::RequestLeftUnanswered, Input::ConnectFailed { reason: ConnectReason::Refused }) => vec![],
            (Fault::EarlyMessageLost, Input::Received { .. }) if !state.connected => vec![],
            (Fault::RefusalWithoutReason, Input::ConnectFailed { reason: ConnectReason::Refused }) => {
                vec![Input::ConnectFailed { reason: ConnectReason::Other(111) }]
            }
            (Fault::ReceivesLostWithConnectFailed, Input::Failed { id: WrId::Recv(_), .. })
                if state.failed =>
            {
                vec![]
            }
            (Fault::MessagesSwapped, Input::Received { .. }) => match state.kept.take() {
                Some(first) => vec![input, first],
                None => {
                    state.kept = Some(input);
                    vec![]
                }
            },
            (Fault::LateAnswerReported, Input::Disconnected { .. }) if !state.connected => {
                let limits = Limits {
                    read_depth: 1,
                    send_queue: 8,
                    rdma_len_max: 8,
                    registration_requests: 0,
                    send_with_invalidate: false,
                    reads_in_order: false,
                };
                vec![input, Input::Connected { limits }]
            }
            (Fault::EndBeforeCauses | Fault::DeregisteredBeforeMessages, Input::Received { .. })
                if state.kept.is_none() =>
            {
                state.kept = Some(input);
                vec![]
            }
            (Fault::EndBeforeCauses, Input::Disconnected { .. })
            | (Fault::DeregisteredBeforeMessages, Input::Deregistered { .. }) => {
                [Some(input), state.kept.take()].into_iter().flatten().collect()
            }
            (Fault::UnsignalledForgotten, Input::Sent { id }) if state.unsignalled.contains(&id) => vec![],
            (Fault::RdmaFirst, Input::Sent { .. }) if state.kept.is_none() => {
                state.kept = Some(input);
                vec![]
            }
            (Fault::RdmaFirst, Input::RdmaDone { .. }) => {
                [Some(input), state.kept.take()].into_iter().flatten().collect()
            }
            (
                Fault::FlushedSendsForgotten,
                Input::Failed { id: WrId::Send(_), error: WorkError::Flushed },
            ) => {
                vec![]
            }
            (Fault::FlushedTwice, Input::Failed { error: WorkError::Flushed, .. }) => vec![input, input],
            (Fault::PeerDisconnectIgnored, Input::Disconnected { .. }) if !state.disconnecting => {
                state.kept = Some(input);
                vec![]
            }
            (Fault::FlushedCalledRefused, Input::Failed { id, error: WorkError::Flushed }) => {
                vec![Input::Failed { id, error: WorkError::PostFailed { errno: 22 } }]
            }
            (
                Fault::RefusedReceivesForgotten,
                Input::Failed { id: WrId::Recv(_), error: WorkError::PostFailed { .. } },
            ) => vec![],
            (Fault::LengthOfTheBuffer, Input::Received { id, head, invalidated, len }) => {
                let room = state.rooms.iter().rev().find(|(other, _)| *other == id);
                vec![Input::Received { id, head, len: room.map_or(len, |(_, room)| *room), invalidated }]
            }
            (Fault::Truncates, Input::Failed { id: WrId::Recv(id), error: WorkError::LocalLength }) => {
                vec![Input::Received { id, head: Head::of(&[0; 32]), len: 64, invalidated: None }]
            }
            (Fault::QueueOfOne, Input::Connected { mut limits }) => {
                limits.send_queue = 1;
                vec![Input::Connected { limits }]
            }
            // The last request of a full queue.
            (Fault::QueueOverstated, Input::RdmaDone { id }) if id.slot() == 3 => {
                vec![Input::Failed { id: id.into(), error: WorkError::PostFailed { errno: 12 } }]
            }
            (Fault::OverflowLost, Input::Failed { error: WorkError::PostFailed { errno: 12 }, .. }) => vec![],
            (
                Fault::RefusedReadsCalledDone,
                Input::Failed { id: WrId::Rdma(id), error: WorkError::RemoteAccess },
            ) => vec![Input::RdmaDone { id }],
            (Fault::SecondReadFails | Fault::ThirdReadLost, Input::RdmaDone { id }) => {
                state.reads += 1;
                match (self.fault, state.reads) {
                    (Fault::SecondReadFails, 2) => {
                        vec![Input::Failed { id: id.into(), error: WorkError::RemoteInvalidRequest }]
                    }
                    (Fault::ThirdReadLost, 3) => vec![],
                    _ => vec![input],
                }
            }
            (Fault::InvalidationHidden, Input::Received { id, head, len, .. }) => {
                vec![Input::Received { id, head, len, invalidated: None }]
            }
            _ => vec![input],
        }
    }
}
