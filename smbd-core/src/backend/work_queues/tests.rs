#![expect(clippy::wildcard_enum_match_arm, reason = "an input that the queues never write fails the test")]

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{Push, Queue, Request, WorkQueue, WorkQueues};
use crate::error::WorkError;
use crate::id::Slot;
use crate::{Config, Input, Misuse, Params, RdmaId, RecvId, RegId, SendId, WrId};

const fn slot(index: u16) -> Slot {
    Slot { generation: 7, index }
}

const fn send(index: u16, signal: bool) -> Request {
    Request::Send { id: SendId(slot(index)), signal }
}

const fn rdma(index: u16) -> Request {
    Request::Rdma { id: RdmaId(slot(index)), signal: true }
}

const fn recv(index: u16) -> Request {
    Request::Recv(RecvId(slot(index)))
}

const fn bind(index: u16) -> Request {
    Request::Bind(RegId(slot(index)))
}

fn drained(queue: &mut WorkQueue) -> Vec<String> {
    core::iter::from_fn(|| queue.poll().map(|input| text(&input))).collect()
}

/// `send0 Sent`, `send1 PostFailed 22`, `send2 Flushed`.
fn text(input: &Input<'_>) -> String {
    let (id, end) = match *input {
        Input::Sent { id } => (WrId::from(id), "Sent".to_string()),
        Input::RdmaDone { id } => (id.into(), "RdmaDone".to_string()),
        Input::BindComplete { id } => (id.into(), "BindComplete".to_string()),
        Input::Failed { id, error: WorkError::PostFailed { errno } } => (id, format!("PostFailed {errno}")),
        Input::Failed { id, error } => (id, format!("{error:?}")),
        ref other => panic!("{other:?} is nothing the queues may say"),
    };
    format!("{id} {end}").replace(".7", "")
}

fn line(inputs: &[String]) -> String {
    if inputs.is_empty() { "-".to_string() } else { inputs.join(" | ") }
}

fn posted(depth: u32, requests: &[Request]) -> WorkQueue {
    let mut queue = WorkQueue::new(depth);
    for request in requests {
        assert!(queue.push(*request), "{request:?} does not fit");
    }
    queue.doorbell_rung();
    queue
}

#[test]
fn a_signalled_completion_completes_the_unsignalled_rdma_requests_before_it() {
    let silent = |index| Request::Rdma { id: RdmaId(slot(index)), signal: false };
    let mut queue = posted(8, &[silent(0), silent(1), send(0, true), silent(2)]);
    assert!(queue.is_awaited());
    assert_eq!(queue.complete(send(0, true).id(), Ok(())), Ok(()));
    assert_eq!(drained(&mut queue), ["rdma0 RdmaDone", "rdma1 RdmaDone", "send0 Sent"]);
    assert!(!queue.is_awaited(), "nothing says that the last is done");
    queue.drained();
    assert_eq!(drained(&mut queue), ["rdma2 RdmaDone"], "it was carried out");
}

#[test]
fn a_signalled_completion_completes_the_unsignalled_sends_before_it() {
    let mut queue = posted(8, &[send(0, false), send(1, false), rdma(0), send(2, false), send(3, true)]);
    assert_eq!(drained(&mut queue), [""; 0]);
    assert_eq!(queue.complete(rdma(0).id(), Ok(())), Ok(()));
    assert_eq!(drained(&mut queue), ["send0 Sent", "send1 Sent", "rdma0 RdmaDone"]);
    assert_eq!(queue.complete(send(3, true).id(), Ok(())), Ok(()));
    assert_eq!(drained(&mut queue), ["send2 Sent", "send3 Sent"]);
    assert_eq!(queue.used(), 0);
}

#[test]
fn what_was_before_a_failed_request_went_well() {
    let mut queue = posted(8, &[send(0, false), send(1, false), send(2, true)]);
    assert_eq!(queue.complete(send(1, false).id(), Err(WorkError::ReceiverNotReady)), Ok(()));
    assert_eq!(queue.complete(send(2, true).id(), Err(WorkError::Flushed)), Ok(()));
    assert_eq!(drained(&mut queue), ["send0 Sent", "send1 ReceiverNotReady", "send2 Flushed"]);
}

#[test]
fn a_refusal_at_each_place_of_a_chain_splits_it_into_posted_refused_and_flushed() {
    let chain = [send(0, false), rdma(0), send(1, false), send(2, true)];
    let mut seen = String::new();
    for accepted in 0..=chain.len() {
        let mut queue = WorkQueue::new(8);
        assert!(chain.iter().all(|request| queue.push(*request)));
        queue.doorbell_rung_until(accepted, 22);
        let posts_more = queue.push(send(5, true));
        seen += &format!("{accepted} accepted, posts more: {posts_more}\n");
        seen += &format!("  at once: {}\n", line(&drained(&mut queue)));
        queue.doorbell_rung();
        queue.drained();
        seen += &format!("  at the end: {}\n", line(&drained(&mut queue)));
    }
    insta::assert_snapshot!(seen, @r"
    0 accepted, posts more: false
      at once: send0 PostFailed 22 | rdma0 Flushed | send1 Flushed | send2 Flushed | send5 Flushed
      at the end: -
    1 accepted, posts more: false
      at once: rdma0 PostFailed 22 | send1 Flushed | send2 Flushed | send5 Flushed
      at the end: send0 Sent
    2 accepted, posts more: false
      at once: send1 PostFailed 22 | send2 Flushed | send5 Flushed
      at the end: send0 Sent | rdma0 Flushed
    3 accepted, posts more: false
      at once: send2 PostFailed 22 | send5 Flushed
      at the end: send0 Sent | rdma0 Flushed | send1 Flushed
    4 accepted, posts more: true
      at once: -
      at the end: send0 Sent | rdma0 Flushed | send1 Flushed | send2 Flushed | send5 Flushed
    ");
}

#[test]
fn a_full_queue_refuses_and_ends_the_posting() {
    let mut queue = posted(2, &[send(0, false), send(1, true)]);
    assert!(!queue.push(send(2, true)));
    assert!(!queue.push(send(3, true)));
    assert_eq!(drained(&mut queue), ["send2 PostFailed 12", "send3 Flushed"]);
    assert_eq!(queue.complete(send(1, true).id(), Ok(())), Ok(()));
    assert_eq!(drained(&mut queue), ["send0 Sent", "send1 Sent"]);
}

#[test]
fn a_device_with_a_smaller_queue_lowers_the_depth_and_never_raises_it() {
    let mut queue = WorkQueue::new(3);
    queue.limit(1);
    queue.limit(9);
    assert!(queue.push(send(0, true)));
    assert!(!queue.push(send(1, true)));
}

#[test]
fn a_registration_with_several_windows_is_bound_once() {
    let mut queue = posted(8, &[bind(0), bind(0), bind(0), bind(1)]);
    for _ in 0..2 {
        assert_eq!(queue.complete(bind(0).id(), Ok(())), Ok(()));
        assert_eq!(drained(&mut queue), [""; 0]);
    }
    assert_eq!(queue.complete(bind(0).id(), Ok(())), Ok(()));
    assert_eq!(drained(&mut queue), ["reg0 BindComplete"]);
    assert_eq!(queue.complete(bind(0).id(), Ok(())), Err(Misuse::UnknownWork(bind(0).id())));
}

#[test]
fn a_registration_fails_once_with_its_first_error() {
    let mut queue = posted(8, &[bind(0), bind(0), bind(0)]);
    for result in [Ok(()), Err(WorkError::LocalProtection), Err(WorkError::Flushed)] {
        assert_eq!(queue.complete(bind(0).id(), result), Ok(()));
    }
    assert_eq!(drained(&mut queue), ["reg0 LocalProtection"]);
}

#[test]
fn a_registration_refused_in_the_middle_fails_once_when_its_posted_part_is_complete() {
    for accepted in 0..=3 {
        let mut queue = WorkQueue::new(8);
        assert!([bind(0), bind(0), bind(0), send(0, true)].iter().all(|request| queue.push(*request)));
        queue.doorbell_rung_until(accepted, 22);
        let at_once = drained(&mut queue);
        queue.flush();
        let all: Vec<_> = at_once.into_iter().chain(drained(&mut queue)).collect();
        assert_eq!(all.iter().filter(|input| input.starts_with("reg0")).count(), 1, "{all:?}");
        assert_eq!(all.iter().filter(|input| input.starts_with("send0")).count(), 1, "{all:?}");
        assert_eq!(all.iter().filter(|input| input.contains("PostFailed 22")).count(), 1, "{all:?}");
    }
}

#[test]
fn a_registration_that_does_not_fit_whole_fails_once() {
    let mut queue = WorkQueue::new(2);
    let pushed = [bind(0), bind(0), bind(0), bind(0)].map(|request| queue.push(request));
    assert_eq!(pushed, [true, true, false, false]);
    assert_eq!(drained(&mut queue), [""; 0]);
    queue.doorbell_rung();
    for _ in 0..2 {
        assert_eq!(queue.complete(bind(0).id(), Ok(())), Ok(()));
    }
    assert_eq!(drained(&mut queue), ["reg0 PostFailed 12"]);
}

#[test]
fn only_what_a_device_reports_in_any_case_is_awaited() {
    let mut queue = posted(8, &[send(0, false), send(1, true), send(2, false)]);
    assert!(queue.is_awaited());
    assert_eq!(queue.complete(send(1, true).id(), Ok(())), Ok(()));
    assert!(!queue.is_awaited(), "an unsignalled send may never come back");
    assert!(queue.push(recv(0)));
    assert!(!queue.is_awaited(), "a chained request is not posted");
    queue.doorbell_rung();
    assert!(queue.is_awaited());
}

#[test]
fn a_receive_that_took_a_message_is_the_backends_to_report() {
    let mut queue = posted(4, &[recv(0), recv(1)]);
    assert_eq!(queue.take(recv(0).id()), Ok(()));
    assert_eq!(queue.take(recv(0).id()), Err(Misuse::UnknownWork(recv(0).id())));
    queue.drained();
    assert_eq!(drained(&mut queue), ["recv1 Flushed"]);
}

#[test]
fn a_message_is_taken_also_behind_receives_that_are_not_done_or_not_reported() {
    let mut queue = posted(4, &[recv(0), recv(1), recv(2)]);
    assert_eq!(queue.take(recv(1).id()), Ok(()));
    assert_eq!(queue.complete(recv(0).id(), Err(WorkError::Flushed)), Ok(()));
    assert_eq!(queue.take(recv(2).id()), Ok(()));
    assert_eq!(queue.take(recv(0).id()), Err(Misuse::UnknownWork(recv(0).id())));
    assert_eq!(drained(&mut queue), ["recv0 Flushed"]);
    assert_eq!(queue.used(), 0);
}

#[test]
fn chains_of_the_two_queues_are_rung_in_poll_order_and_a_refusal_stops_both() {
    let budget = Config::try_from(Params::example()).map(|config| config.budget());
    let mut queues = budget.map(|budget| WorkQueues::new(&budget)).expect("the example is valid");
    assert_eq!(queues.push(recv(0)), Push::Chain);
    assert_eq!(queues.push(send(0, true)), Push::RingDoorbell(Queue::Recv));
    queues.doorbell_rung_until(0, 5);
    assert_eq!(queues.chain(), None);
    assert_eq!(queues.push(send(0, true)), Push::Skip);
    let inputs: Vec<_> = core::iter::from_fn(|| queues.poll()).map(|input| text(&input)).collect();
    assert_eq!(inputs, ["send0 Flushed", "recv0 PostFailed 5"]);
}

#[derive(Clone, Debug)]
enum Op {
    Push(u8),
    Ring,
    Refuse(usize),
    Complete(usize, bool),
    Poll,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        8 => (0..5_u8).prop_map(Op::Push),
        3 => Just(Op::Ring),
        1 => (0..6_usize).prop_map(Op::Refuse),
        4 => (0..12_usize, prop::bool::weighted(0.9)).prop_map(|(place, ok)| Op::Complete(place, ok)),
        3 => Just(Op::Poll),
    ];
    prop::collection::vec(op, 0..120)
}

/// What a device would have outstanding: the model that completions are drawn from.
fn device_completes(at_device: &mut Vec<Request>, place: usize) -> Option<WrId> {
    let signalled: Vec<_> =
        (0..at_device.len()).filter(|index| !at_device[*index].is_unsignalled()).collect();
    let index = *signalled.get(place.checked_rem(signalled.len())?)?;
    // Signalled requests complete one by one, in order.
    let index = signalled.into_iter().find(|first| *first <= index)?;
    let id = at_device[index].id();
    at_device.drain(..=index);
    Some(id)
}

proptest! {
    #[test]
    fn whatever_happens_each_id_ends_once_and_posted_work_in_order(ops in ops()) {
        let mut queue = WorkQueue::new(12);
        let (mut next, mut chain, mut at_device) = (0_u16, Vec::new(), Vec::new());
        let (mut order, mut ends) = (Vec::new(), Vec::new());
        let mut capacity = None;
        for op in ops {
            match op {
                Op::Push(_) if queue.size().0 + 2 > 24 => {}
                Op::Push(kind) => {
                    next += 1;
                    let requests = match kind {
                        0 | 1 => [Some(send(next, kind == 1)), None],
                        2 => [Some(rdma(next)), None],
                        _ => [Some(bind(next)), Some(bind(next))],
                    };
                    order.push(requests[0].expect("one at least").id());
                    chain.extend(requests.into_iter().flatten().filter(|request| queue.push(*request)));
                }
                Op::Ring => {
                    queue.doorbell_rung();
                    at_device.append(&mut chain);
                }
                Op::Refuse(accepted) => {
                    queue.doorbell_rung_until(accepted, 1);
                    chain.truncate(accepted);
                    at_device.append(&mut chain);
                }
                Op::Complete(place, ok) => {
                    if let Some(id) = device_completes(&mut at_device, place) {
                        prop_assert_eq!(queue.complete(id, if ok { Ok(()) } else { Err(WorkError::Flushed) }), Ok(()));
                    }
                }
                Op::Poll => ends.extend(queue.poll().map(|input| end_of(&input))),
            }
            let now = queue.size().1;
            prop_assert_eq!(*capacity.get_or_insert(now), now, "the queues grew");
        }
        queue.doorbell_rung();
        queue.drained();
        ends.extend(core::iter::from_fn(|| queue.poll().map(|input| end_of(&input))));

        let mut count = BTreeMap::new();
        for (id, _) in &ends {
            *count.entry(*id).or_insert(0) += 1;
        }
        prop_assert!(order.iter().all(|id| count.get(id) == Some(&1)), "{:?} of {:?}", count, order);
        prop_assert_eq!(count.len(), order.len());
        let carried_out: Vec<_> = ends.iter().filter(|(_, ok)| *ok).map(|(id, _)| *id).collect();
        prop_assert!(carried_out.is_sorted_by_key(|id| order.iter().position(|other| other == id)));
    }
}

fn end_of(input: &Input<'_>) -> (WrId, bool) {
    match *input {
        Input::Sent { id } => (id.into(), true),
        Input::RdmaDone { id } => (id.into(), true),
        Input::BindComplete { id } => (id.into(), true),
        Input::Failed { id, .. } => (id, false),
        ref other => panic!("{other:?} is nothing the queues may say"),
    }
}

#[test]
fn the_queues_of_a_queue_pair_are_those_of_its_two_queues() {
    let budget = Config::try_from(Params::example()).map(|config| config.budget());
    let mut queues = budget.map(|budget| WorkQueues::new(&budget)).expect("the example is valid");
    assert!(!queues.is_broken() && !queues.is_awaited());
    assert_eq!(queues.push(recv(0)), Push::Chain);
    queues.doorbell_rung();
    assert_eq!(queues.push(send(0, true)), Push::Chain);
    queues.doorbell_rung();
    assert_eq!([Queue::Recv, Queue::Send].map(|queue| queues.queue(queue).used()), [1, 1]);
    assert_eq!(queues.complete(send(0, true).id(), Ok(())), Ok(()));
    assert_eq!(queues.poll().map(|input| text(&input)), Some("send0 Sent".to_string()));
    assert_eq!([Queue::Recv, Queue::Send].map(|queue| queues.queue(queue).used()), [1, 0]);
    assert!(queues.is_awaited(), "the receive");
    assert_eq!(queues.complete(recv(0).id(), Err(WorkError::LocalLength)), Ok(()));
    assert_eq!(queues.poll().map(|input| text(&input)), Some("recv0 LocalLength".to_string()));
    assert_eq!(queues.poll().map(|input| text(&input)), None);
    assert!(!queues.is_awaited());
    queues.stop();
    assert!(queues.is_broken());
}

#[test]
fn a_send_queue_that_the_device_made_smaller_is_full_sooner() {
    let budget = Config::try_from(Params::example()).map(|config| config.budget());
    let mut queues = budget.map(|budget| WorkQueues::new(&budget)).expect("the example is valid");
    queues.limit_send(2);
    assert_eq!([0, 1, 2].map(|index| queues.push(send(index, true))), [Push::Chain, Push::Chain, Push::Skip]);
    assert!(queues.is_broken());
}

#[test]
fn what_nobody_polls_for_long_is_kept_in_order() {
    let mut queue = WorkQueue::new(3);
    // So that the first one is not at the beginning of the ring.
    assert!(queue.push(send(99, true)));
    queue.doorbell_rung();
    assert_eq!(queue.complete(send(99, true).id(), Ok(())), Ok(()));
    assert_eq!(drained(&mut queue), ["send99 Sent"]);
    let requests: Vec<_> = (0..20).map(|index| send(index, true)).collect();
    for request in &requests {
        assert!(queue.push(*request));
        queue.doorbell_rung();
        assert_eq!(queue.complete(request.id(), Ok(())), Ok(()));
    }
    let expected: Vec<_> = (0..20).map(|index| format!("send{index} Sent")).collect();
    assert_eq!(drained(&mut queue), expected);
}

#[test]
fn a_flush_ends_what_both_queues_hold() {
    let budget = Config::try_from(Params::example()).map(|config| config.budget());
    let mut queues = budget.map(|budget| WorkQueues::new(&budget)).expect("the example is valid");
    assert_eq!(queues.push(recv(4)), Push::Chain);
    queues.doorbell_rung();
    assert_eq!(queues.push(send(5, false)), Push::Chain);
    queues.doorbell_rung();
    queues.flush();
    let mut ends: Vec<_> = core::iter::from_fn(|| queues.poll().map(|input| text(&input))).collect();
    ends.sort();
    assert_eq!(ends, ["recv4 Flushed", "send5 Flushed"]);
}
