//! 3.1.4.3, 3.1.4.4, MR-3 to MR-5, RA-8: registered buffers from the command to the end of all remote access.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use smbd_core::error::{
    Aborted, CommandError, Misuse, RegisterError, RegistrationError, Violation, WorkError,
};
use smbd_core::{
    Access, Action, BufferDescriptorV1, Close, Event, Input, Limits, Params, PhaseName, RegId, Role, Token,
};

use crate::pair::{DATA, LIMITS, LOST, Side, data, flushed, request, shape};

fn params() -> Params {
    Params { keepalive: None, send_credit_timeout: None, ..Params::example() }
}

/// Four registrations, eight segments; the device is played by hand.
fn side_with(params: Params, limits: Limits) -> Side {
    let mut side = Side::new(Role::Acceptor, params);
    side.limits = limits;
    side.device.registers = false;
    side.drain();
    side.connect();
    side.receive(&request(&crate::pair::REQUEST));
    side.settle();
    side.events.clear();
    side
}

fn side() -> Side {
    side_with(params(), LIMITS)
}

/// A valid registration, and its segments.
fn registered(side: &mut Side, count: u16) -> (RegId, Vec<BufferDescriptorV1>) {
    let id = side.connection.register(side.now, Access::Write, count).unwrap();
    side.drain();
    let segments = side.complete_registration(count, true);
    side.drain();
    (id, segments)
}

fn segment(token: u32) -> BufferDescriptorV1 {
    BufferDescriptorV1 { offset: 0x1000, token: Token(token), length: 10 }
}

fn invalidate(side: &mut Side, token: Token) {
    side.receive_long(&data(&DATA), 20, Some(token));
}

fn live(side: &Side, id: RegId) -> Vec<BufferDescriptorV1> {
    side.connection.live_segments(id).collect()
}

#[test]
fn a_registration_asks_for_exactly_its_rights_and_segments() {
    for access in [Access::Read, Access::Write, Access::ReadWrite] {
        let mut side = side();
        let id = side.connection.register(side.now, access, 3).unwrap();
        let actions = side.drain();
        assert!(
            matches!(actions[..], [Action::Register { id: asked, access: rights, segments_max: 3 }, Action::Wait(_)]
                if asked == id && rights == access),
            "{actions:?}"
        );
        assert!(side.connection.segments(id).is_empty(), "not valid yet");
    }
}

#[test]
fn a_valid_registration_shows_its_segments_until_it_is_deregistered() {
    let mut side = side();
    let (id, segments) = registered(&mut side, 3);
    assert_eq!(live(&side, id), segments);
    assert!(matches!(side.events[..], [Event::Registered { id: told, result: Ok(()) }] if told == id));
    side.connection.deregister(side.now, id).unwrap();
    assert_eq!(live(&side, id), segments, "still valid");
    assert_eq!(shape(&side.drain()), "dw");
    assert_eq!(live(&side, id), segments, "the backend needs them");
    side.complete_deregistration();
    assert!(live(&side, id).is_empty());
    side.drain();
    assert!(matches!(side.events[1..], [Event::Deregistered { id: told, result: Ok(()) }] if told == id));
    assert_eq!(side.connection.deregister(side.now, id), Err(RegisterError::NotRegistered));
}

#[test]
fn a_registration_may_come_out_with_fewer_segments() {
    let mut side = side();
    let id = side.connection.register(side.now, Access::Read, 8).unwrap();
    side.drain();
    let full = side.connection.register(side.now, Access::Read, 1);
    assert!(matches!(full, Err(RegisterError::Command(CommandError::NoRoom { .. }))));
    side.complete_registration(2, true);
    assert_eq!(live(&side, id).len(), 2);
    // The six it did not need are free.
    side.connection.register(side.now, Access::Read, 6).unwrap();
    assert!(side.connection.register(side.now, Access::Read, 1).is_err());
}

#[test]
fn a_registration_has_1_to_all_segments() {
    let mut side = side();
    for segments in [0, 9, u16::MAX] {
        let error = side.connection.register(side.now, Access::Read, segments);
        assert_eq!(error, Err(RegisterError::Segments { segments, max: 8 }));
    }
    side.connection.register(side.now, Access::Read, 8).unwrap();
}

#[test]
fn a_registration_that_can_never_fit_into_the_send_queue_is_refused() {
    let mut side = side_with(params(), Limits { registration_requests: 2, send_queue: 8, ..LIMITS });
    let error = side.connection.register(side.now, Access::Read, 4);
    assert_eq!(error, Err(RegisterError::Segments { segments: 4, max: 3 }));
    side.connection.register(side.now, Access::Read, 3).unwrap();
    assert_eq!(shape(&side.drain()), "gw");
}

#[test]
fn a_failed_registration_is_gone_and_everything_else_goes_on() {
    // MR-3.
    let mut side = side();
    let id = side.connection.register(side.now, Access::Read, 8).unwrap();
    side.drain();
    side.registering.clear();
    let error = WorkError::PostFailed { errno: 12 };
    side.handle(Input::Failed { id: id.into(), error });
    side.drain();
    let failed = Err(RegistrationError::Work(error));
    assert!(
        matches!(side.events[..], [Event::Registered { id: told, result }] if told == id && result == failed)
    );
    assert_eq!(side.connection.phase(), PhaseName::Established);
    assert!(live(&side, id).is_empty());
    assert_eq!(side.connection.deregister(side.now, id), Err(RegisterError::NotRegistered));
    side.connection.register(side.now, Access::Read, 8).unwrap();
}

#[test]
fn a_failed_deregistration_leaves_it_valid_to_be_tried_again() {
    let mut side = side();
    let (id, segments) = registered(&mut side, 2);
    side.connection.deregister(side.now, id).unwrap();
    side.drain();
    side.deregistering.clear();
    side.handle(Input::Failed { id: id.into(), error: WorkError::Other(3) });
    side.drain();
    assert!(matches!(side.events.last(), Some(Event::Deregistered { result: Err(_), .. })));
    assert_eq!(live(&side, id), segments);
    side.connection.deregister(side.now, id).unwrap();
    side.drain();
    side.complete_deregistration();
    side.drain();
    assert!(matches!(side.events.last(), Some(Event::Deregistered { result: Ok(()), .. })));
}

#[test]
fn an_unsettled_registration_can_be_used_but_not_deregistered_before_it_is_bound() {
    let mut side = side_with(params(), Limits { registration_requests: 1, ..LIMITS });
    let id = side.connection.register(side.now, Access::Read, 2).unwrap();
    side.drain();
    let segments = side.complete_registration(2, false);
    side.drain();
    assert_eq!(live(&side, id), segments);
    assert_eq!(side.connection.outstanding().registrations, 1);
    side.connection.deregister(side.now, id).unwrap();
    assert_eq!(shape(&side.drain()), "w");
    side.binding.clear();
    side.handle(Input::BindComplete { id });
    assert_eq!(shape(&side.drain()), "dw");
}

#[test]
fn a_bind_that_fails_ends_the_connection_and_every_command_has_its_result() {
    for unwanted in [false, true] {
        let mut side = side_with(params(), Limits { registration_requests: 1, ..LIMITS });
        let id = side.connection.register(side.now, Access::Read, 2).unwrap();
        side.drain();
        side.complete_registration(2, false);
        side.drain();
        if unwanted {
            side.connection.deregister(side.now, id).unwrap();
            side.drain();
        }
        side.binding.clear();
        side.handle(Input::Failed { id: id.into(), error: WorkError::LocalOperation });
        side.drain();
        assert_eq!(side.end(), format!("Closed(Transport {{ id: {id:?}, error: LocalOperation }})"));
        let aborted = Err(RegistrationError::Aborted(Aborted));
        let results = side
            .events
            .iter()
            .filter(|event| matches!(event, Event::Deregistered { result, .. } if *result == aborted));
        assert_eq!(results.count(), usize::from(unwanted));
        assert_eq!(side.connection.phase(), PhaseName::Drained);
    }
}

#[test]
fn binds_and_invalidations_take_places_of_the_send_queue_and_leave_one_for_a_send() {
    let mut side = side_with(params(), Limits { registration_requests: 1, send_queue: 4, ..LIMITS });
    let first = side.connection.register(side.now, Access::Read, 2).unwrap();
    let second = side.connection.register(side.now, Access::Read, 2).unwrap();
    assert_eq!(shape(&side.drain()), "gw", "the second would take the last place");
    side.complete_registration(2, false);
    assert_eq!(shape(&side.drain()), "nw", "valid, but the binds are still there");
    side.binding.clear();
    side.handle(Input::BindComplete { id: first });
    assert_eq!(shape(&side.drain()), "gw");
    side.complete_registration(1, true);
    side.connection.deregister(side.now, first).unwrap();
    side.connection.deregister(side.now, second).unwrap();
    assert_eq!(shape(&side.drain()), "nddw", "two and one");
}

#[test]
fn a_deregistration_waits_for_a_place_for_each_valid_token() {
    let mut side = side_with(params(), Limits { registration_requests: 1, send_queue: 4, ..LIMITS });
    side.receive_data(smbd_core::wire::DataTransfer { credits_granted: 10, ..DATA });
    let (id, segments) = registered(&mut side, 3);
    side.send(8);
    assert_eq!(shape(&side.drain()), "sw");
    side.connection.deregister(side.now, id).unwrap();
    assert_eq!(shape(&side.drain()), "w", "three places are free, and one is for a send");
    invalidate(&mut side, segments[0].token);
    assert_eq!(shape(&side.drain()), "ndrw", "two are enough now");
}

#[test]
fn an_invalidated_token_needs_no_place_of_the_send_queue() {
    let mut side = side_with(params(), Limits { registration_requests: 1, send_queue: 4, ..LIMITS });
    let (first, segments) = registered(&mut side, 3);
    let (second, _) = registered(&mut side, 1);
    for segment in &segments {
        invalidate(&mut side, segment.token);
    }
    side.connection.deregister(side.now, first).unwrap();
    side.connection.deregister(side.now, second).unwrap();
    assert!(shape(&side.drain()).ends_with("ddrw"), "none and one");
}

#[test]
fn an_invalidated_token_is_told_at_once_and_is_no_longer_live() {
    // RA-8, MR-5.
    let mut side = side();
    let (id, segments) = registered(&mut side, 3);
    side.events.clear();
    invalidate(&mut side, segments[1].token);
    side.drain();
    let told = Token(segments[1].token.0);
    assert!(matches!(side.events[..], [Event::Invalidated { id: of, token }] if of == id && token == told));
    assert_eq!(live(&side, id), [segments[0], segments[2]]);
    assert_eq!(side.connection.segments(id).len(), 3);
    assert_eq!(side.connection.segments(id)[1].token(), told);
    assert_eq!(side.connection.segments(id)[1].descriptor(), None);
    side.connection.deregister(side.now, id).unwrap();
    side.drain();
    assert_eq!(live(&side, id), [segments[0], segments[2]], "what is left to be invalidated here");
}

#[test]
fn every_token_of_a_registration_may_be_invalidated_one_with_each_message() {
    let mut side = side();
    let (id, segments) = registered(&mut side, 8);
    for segment in &segments {
        invalidate(&mut side, segment.token);
    }
    side.drain();
    assert!(live(&side, id).is_empty());
    assert_eq!(side.connection.stats().received.invalidations, 8);
    side.connection.deregister(side.now, id).unwrap();
    side.drain();
    side.complete_deregistration();
    side.drain();
    assert!(matches!(side.events.last(), Some(Event::Deregistered { result: Ok(()), .. })));
}

#[test]
fn a_token_is_invalidated_once() {
    let mut side = side();
    let (_, segments) = registered(&mut side, 2);
    invalidate(&mut side, segments[0].token);
    invalidate(&mut side, segments[0].token);
    side.drain();
    let violation = Violation::ForeignInvalidation { token: segments[0].token };
    assert_eq!(side.end(), format!("Closed(Violation({violation:?}))"));
}

#[test]
fn a_token_that_is_not_valid_cannot_be_invalidated() {
    let mut side = side();
    let (id, segments) = registered(&mut side, 1);
    side.connection.deregister(side.now, id).unwrap();
    side.drain();
    side.complete_deregistration();
    invalidate(&mut side, segments[0].token);
    side.drain();
    let violation = Violation::ForeignInvalidation { token: segments[0].token };
    assert_eq!(side.end(), format!("Closed(Violation({violation:?}))"));
}

#[test]
fn a_token_may_be_invalidated_while_its_deregistration_is_under_way() {
    let mut side = side();
    let (id, segments) = registered(&mut side, 2);
    side.connection.deregister(side.now, id).unwrap();
    side.drain();
    invalidate(&mut side, segments[1].token);
    side.complete_deregistration();
    side.drain();
    assert!(
        matches!(side.events[1..], [Event::Invalidated { id: of, .. }, Event::Deregistered { result: Ok(()), .. }] if of == id)
    );
}

#[test]
fn a_valid_token_is_not_given_twice() {
    let mut side = side();
    let (_, segments) = registered(&mut side, 1);
    let id = side.connection.register(side.now, Access::Read, 2).unwrap();
    side.drain();
    let twice = [segment(99), BufferDescriptorV1 { token: segments[0].token, ..segment(0) }];
    let error =
        side.connection.handle(side.now, Input::Registered { id, segments: &twice, bind_complete: true });
    assert_eq!(error, Err(Misuse::TokenInUse(segments[0].token)));
    // Once the peer has invalidated it, it may be.
    invalidate(&mut side, segments[0].token);
    side.registering.clear();
    side.handle(Input::Registered { id, segments: &twice, bind_complete: true });
    assert_eq!(live(&side, id), twice);
}

#[test]
fn a_reported_registration_has_1_to_the_reserved_segments_none_empty_none_wrapping() {
    let mut side = side();
    let id = side.connection.register(side.now, Access::Read, 2).unwrap();
    side.drain();
    let now = side.now;
    let mut report = |segments: &[BufferDescriptorV1]| {
        side.connection.handle(now, Input::Registered { id, segments, bind_complete: true })
    };
    assert_eq!(report(&[]), Err(Misuse::SegmentCount { got: 0, max: 2 }));
    assert_eq!(report(&[segment(1), segment(2), segment(3)]), Err(Misuse::SegmentCount { got: 3, max: 2 }));
    let empty = BufferDescriptorV1 { length: 0, ..segment(1) };
    assert_eq!(report(&[segment(2), empty]), Err(Misuse::Segment { offset: 0x1000, len: 0 }));
    let wrapping = BufferDescriptorV1 { offset: u64::MAX - 8, length: 10, ..segment(1) };
    assert_eq!(report(&[wrapping]), Err(Misuse::Segment { offset: u64::MAX - 8, len: 10 }));
    let to_the_end = BufferDescriptorV1 { offset: u64::MAX - 9, ..segment(1) };
    assert_eq!(report(&[to_the_end]), Ok(()));
}

#[test]
fn completions_of_the_wrong_kind_are_refused() {
    let mut side = side();
    let id = side.connection.register(side.now, Access::Read, 1).unwrap();
    let unknown = Err(Misuse::UnknownWork(id.into()));
    let now = side.now;
    let registered = Input::Registered { id, segments: &[segment(1)], bind_complete: true };
    // Not handed out yet.
    for input in [registered, Input::BindComplete { id }, Input::Deregistered { id }, flushed(id.into())] {
        assert_eq!(side.connection.handle(now, input), unknown);
    }
    side.drain();
    for input in [Input::BindComplete { id }, Input::Deregistered { id }] {
        assert_eq!(side.connection.handle(now, input), unknown);
    }
    side.registering.clear();
    side.handle(registered);
    for input in [registered, Input::BindComplete { id }, Input::Deregistered { id }, flushed(id.into())] {
        assert_eq!(side.connection.handle(now, input), unknown);
    }
    side.connection.deregister(side.now, id).unwrap();
    assert_eq!(side.connection.handle(now, Input::Deregistered { id }), unknown);
    side.drain();
    for input in [registered, Input::BindComplete { id }] {
        assert_eq!(side.connection.handle(now, input), unknown);
    }
    side.deregistering.clear();
    side.handle(Input::Deregistered { id });
    for input in [registered, Input::BindComplete { id }, Input::Deregistered { id }, flushed(id.into())] {
        assert_eq!(side.connection.handle(now, input), unknown);
    }
}

#[test]
fn after_the_end_the_device_owes_the_same_completions_and_no_others() {
    // Registering, bound later, and deregistering: each abandoned by an abort.
    let mut side = side_with(params(), Limits { registration_requests: 1, ..LIMITS });
    side.device.flushes = false;
    let (leaving, _) = registered(&mut side, 1);
    side.connection.deregister(side.now, leaving).unwrap();
    let coming = side.connection.register(side.now, Access::Read, 1).unwrap();
    side.drain();
    side.connection.close(side.now, Close::Abort);
    side.drain();
    assert_eq!(side.connection.outstanding().registrations, 2);
    let now = side.now;
    let unknown = |id: RegId| Err(Misuse::UnknownWork(id.into()));
    let as_registered = |id, bind_complete| Input::Registered {
        id,
        segments: &[const { BufferDescriptorV1 { offset: 0, token: Token(77), length: 1 } }],
        bind_complete,
    };
    for input in [as_registered(leaving, true), Input::BindComplete { id: leaving }] {
        assert_eq!(side.connection.handle(now, input), unknown(leaving));
    }
    for input in [Input::Deregistered { id: coming }, Input::BindComplete { id: coming }] {
        assert_eq!(side.connection.handle(now, input), unknown(coming));
    }
    assert_eq!(side.connection.handle(now, Input::Deregistered { id: leaving }), Ok(()));
    assert_eq!(side.connection.handle(now, as_registered(coming, false)), Ok(()));
    assert_eq!(side.connection.handle(now, as_registered(coming, false)), unknown(coming));
    assert_eq!(side.connection.handle(now, Input::Deregistered { id: coming }), unknown(coming));
    assert_eq!(side.connection.outstanding().registrations, 1);
    assert_eq!(side.connection.handle(now, Input::BindComplete { id: coming }), Ok(()));
    assert_eq!(side.connection.outstanding().registrations, 0);
    side.deregistering.clear();
    side.registering.clear();
    side.flush();
    side.handle(LOST);
    side.drain();
    assert_eq!(side.connection.phase(), PhaseName::Drained);
}

#[test]
fn only_what_is_valid_can_be_deregistered_and_once() {
    let mut side = side();
    let id = side.connection.register(side.now, Access::Read, 1).unwrap();
    assert_eq!(side.connection.deregister(side.now, id), Err(RegisterError::NotRegistered));
    side.drain();
    assert_eq!(side.connection.deregister(side.now, id), Err(RegisterError::NotRegistered));
    side.complete_registration(1, true);
    // The event is not polled yet; the device has said so.
    side.connection.deregister(side.now, id).unwrap();
    assert_eq!(side.connection.deregister(side.now, id), Err(RegisterError::NotRegistered));
    assert_eq!(shape(&side.drain()), "ndw");
    assert_eq!(side.connection.deregister(side.now, id), Err(RegisterError::NotRegistered));
}

#[test]
fn the_table_has_places_for_as_many_registrations_as_configured() {
    let mut side = side();
    for _ in 0..4 {
        registered(&mut side, 1);
    }
    let full = side.connection.register(side.now, Access::Read, 1);
    assert!(matches!(full, Err(RegisterError::Command(CommandError::NoRoom { .. }))));
    let mut none = side_with(Params { registrations: 0, segments_max: 0, ..params() }, LIMITS);
    let error = none.connection.register(none.now, Access::Read, 1);
    assert_eq!(error, Err(RegisterError::Segments { segments: 1, max: 0 }));
}

#[derive(Clone, Debug)]
enum Step {
    Register(u16),
    Poll,
    Registered(u16),
    Fail,
    Invalidate(prop::sample::Index),
    Deregister(prop::sample::Index),
    Deregistered,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1..5_u16).prop_map(Step::Register),
        3 => Just(Step::Poll),
        3 => (1..5_u16).prop_map(Step::Registered),
        1 => Just(Step::Fail),
        2 => any::<prop::sample::Index>().prop_map(Step::Invalidate),
        2 => any::<prop::sample::Index>().prop_map(Step::Deregister),
        2 => Just(Step::Deregistered),
    ]
}

proptest! {
    /// The arena of segments is compacted; a map of what should be where is not.
    #[test]
    fn segments_stay_with_their_registration(steps in proptest::collection::vec(any_step(), 1..200)) {
        let mut side = side_with(Params { registrations: 5, segments_max: 10, ..params() }, LIMITS);
        let mut model: BTreeMap<RegId, Vec<BufferDescriptorV1>> = BTreeMap::new();
        let mut reserved: BTreeMap<RegId, u16> = BTreeMap::new();
        let mut unwanted = BTreeSet::new();
        for step in steps {
            match step {
                Step::Register(count) => {
                    let used = reserved.values().sum::<u16>() + u16::try_from(model.values().map(Vec::len).sum::<usize>()).unwrap();
                    let fits = used + count <= 10 && reserved.len() + model.len() < 5;
                    let result = side.connection.register(side.now, Access::Read, count);
                    prop_assert_eq!(result.is_ok(), fits);
                    if let Ok(id) = result {
                        reserved.insert(id, count);
                    }
                }
                Step::Poll => {
                    side.drain();
                }
                Step::Registered(count) => if let Some((id, _, max)) = side.registering.front().copied() {
                    let segments = side.complete_registration(count.min(max), true);
                    reserved.remove(&id);
                    // Polled, so that a shrunk registration's places are free for the model too.
                    model.insert(id, segments);
                },
                Step::Fail => if let Some((id, ..)) = side.registering.pop_front() {
                    side.handle(Input::Failed { id: id.into(), error: WorkError::Other(1) });
                    side.drain();
                    reserved.remove(&id);
                },
                Step::Invalidate(which) => {
                    let all: Vec<_> = model.iter().flat_map(|(id, segments)| segments.iter().map(|s| (*id, *s))).filter(|(_, s)| s.length > 0).collect();
                    if !all.is_empty() {
                        let (id, segment) = all[which.index(all.len())];
                        if side.connection.credits().outstanding() > 0 {
                            side.receive_long(&data(&smbd_core::wire::DataTransfer { credits_granted: 2, ..DATA }), 20, Some(segment.token));
                            side.drain();
                            while side.complete_send() {}
                            // Kept in the model without a length: dead.
                            for s in model.get_mut(&id).unwrap() {
                                if s.token == segment.token {
                                    s.length = 0;
                                }
                            }
                        }
                    }
                }
                Step::Deregister(which) => if !model.is_empty() {
                    let id = *model.keys().nth(which.index(model.len())).unwrap();
                    let result = side.connection.deregister(side.now, id);
                    prop_assert_eq!(result.is_ok(), unwanted.insert(id));
                },
                Step::Deregistered => if let Some(id) = side.deregistering.front().copied() {
                    side.complete_deregistration();
                    side.drain();
                    model.remove(&id);
                    unwanted.remove(&id);
                },
            }
            for (id, segments) in &model {
                let expected: Vec<_> = segments.iter().filter(|s| s.length > 0).copied().collect();
                prop_assert_eq!(live(&side, *id), expected);
                prop_assert_eq!(side.connection.segments(*id).len(), segments.len());
            }
        }
    }
}
