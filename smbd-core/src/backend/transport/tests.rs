use alloc::vec::Vec;

use proptest::prelude::*;

use super::TransportReports;
use crate::error::{ConnectReason, DisconnectReason};
use crate::{Input, Limits};
use DisconnectReason::{PeerClosed, Unreachable};

const LIMITS: Limits = Limits {
    read_depth: 1,
    send_queue: 8,
    rdma_len_max: 1,
    registration_requests: 0,
    send_with_invalidate: false,
    reads_in_order: false,
};

#[derive(Clone, Copy, Debug)]
enum Op {
    Connected,
    Failed,
    Disconnected(DisconnectReason),
    PollConnected,
    PollFailure,
    PollEnd,
}

proptest! {
    #[test]
    fn one_answer_one_end_and_nothing_after_it(
        ops in prop::collection::vec(
            prop::sample::select(&[Op::Connected, Op::Failed, Op::Disconnected(PeerClosed), Op::Disconnected(Unreachable), Op::PollConnected, Op::PollFailure, Op::PollEnd][..]),
            0..12,
        ),
    ) {
        let mut link = TransportReports::default();
        let mut told = Vec::new();
        for op in &ops {
            match op {
                Op::Connected => link.connected(LIMITS),
                Op::Failed => link.connect_failed(ConnectReason::Refused),
                Op::Disconnected(reason) => link.disconnected(*reason),
                Op::PollConnected => told.extend(link.poll_connected()),
                Op::PollFailure => told.extend(link.poll_failure()),
                Op::PollEnd => told.extend(link.poll_end()),
            }
        }
        let over = ops.iter().any(|op| matches!(op, Op::Failed | Op::Disconnected(_)));
        prop_assert_eq!(link.is_over(), over);
        told.extend(core::iter::from_fn(|| link.poll_end()));
        prop_assert_eq!(told.iter().filter(|input| is_end(input)).count(), usize::from(over), "{:?}", told);
        prop_assert!(told.iter().filter(|input| matches!(input, Input::Connected { .. })).count() <= 1, "{:?}", told);
        let failed = told.iter().any(|input| matches!(input, Input::ConnectFailed { .. }));
        prop_assert!(!failed || told.len() == 1, "{:?}", told);
        if let Some(end) = told.iter().position(is_end) {
            prop_assert_eq!(end + 1, told.len());
        }
    }
}

fn is_end(input: &Input<'_>) -> bool {
    matches!(input, Input::ConnectFailed { .. } | Input::Disconnected { .. })
}

#[test]
fn the_first_report_of_the_end_wins_with_its_reason() {
    let mut link = TransportReports::default();
    link.connected(LIMITS);
    link.disconnected(PeerClosed);
    link.disconnected(Unreachable);
    link.connect_failed(ConnectReason::Refused);
    assert!(matches!(link.poll_end(), Some(Input::Connected { .. })));
    assert!(matches!(link.poll_end(), Some(Input::Disconnected { reason: PeerClosed })));
    assert!(link.poll_end().is_none());
    link.disconnected(Unreachable);
    assert!(link.poll_end().is_none());
}

#[test]
fn a_connection_that_was_up_and_then_fails_to_connect_is_lost_for_an_unknown_reason() {
    let mut link = TransportReports::default();
    link.connected(LIMITS);
    link.connect_failed(ConnectReason::TimedOut);
    assert!(link.poll_connected().is_some());
    assert!(matches!(link.poll_end(), Some(Input::Disconnected { reason: DisconnectReason::Unknown })));
}
