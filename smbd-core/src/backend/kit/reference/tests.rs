//! What the reference does and no line asks of a device.

use core::time::Duration;

use super::{Reference, ReferenceFixture};
use crate::backend::kit::bench::{Bench, Message};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{End, Fixture, Lab, Situation, config};
use crate::backend::{Backend, Step};
use crate::error::{ConnectReason, WorkError};
use crate::{Access, RdmaVerb, Token};

const MILLI: Duration = Duration::from_millis(1);

fn connected() -> Bench<ReferenceFixture> {
    Bench::connected(&mut Reference::default()).unwrap()
}

fn fixture(situation: Situation) -> ReferenceFixture {
    Reference::default().fixture(situation, &config().unwrap()).unwrap()
}

fn begin(fixture: &mut ReferenceFixture, end: End, step: Step<'_, super::ReferenceBuffer>) {
    let mut end = fixture.end(end);
    end.execute(step);
    end.ring();
}

fn next(fixture: &mut ReferenceFixture, end: End) -> Option<Seen> {
    fixture.end(end).next_input().map(|input| Seen::of(&input))
}

/// A message to the acceptor that invalidates `token`.
fn invalidate(bench: &mut Bench<ReferenceFixture>, token: Token) {
    bench.post_recv(End::ACCEPTOR, 512);
    bench.ring(End::ACCEPTOR);
    bench.send(End::INITIATOR, Message { invalidate: Some(token), ..Message::head(b"invalidate") });
    bench.ring(End::INITIATOR);
    bench.quiet();
}

fn is_refused(bench: &Bench<ReferenceFixture>) -> bool {
    let failed = |seen: &Seen| matches!(seen, Seen::Failed(_, WorkError::RemoteInvalidRequest));
    bench.count(End::ACCEPTOR, failed) == 1
        && bench.count(End::INITIATOR, |seen| matches!(seen, Seen::Failed(_, WorkError::RemoteOperation)))
            == 1
        && [End::INITIATOR, End::ACCEPTOR]
            .iter()
            .all(|end| bench.count(*end, |seen| *seen == Seen::Disconnected) == 1)
}

#[test]
fn what_is_dead_already_is_not_invalidated_again() {
    let mut bench = connected();
    let buffer = bench.allocate(End::ACCEPTOR, &[1; 64]).unwrap();
    let (_, segments) = bench.register(End::ACCEPTOR, &buffer, Access::Read).unwrap();
    let token = segments[0].token;

    invalidate(&mut bench, token);
    assert!(!is_refused(&bench));
    invalidate(&mut bench, token);
    assert!(is_refused(&bench), "{:?}", bench.seen(End::ACCEPTOR));
}

#[test]
fn a_token_of_nothing_is_not_invalidated_in_place_of_another() {
    let mut bench = connected();
    let buffer = bench.allocate(End::ACCEPTOR, &[1; 64]).unwrap();
    let (_, segments) = bench.register(End::ACCEPTOR, &buffer, Access::Read).unwrap();

    invalidate(&mut bench, Token(segments[0].token.0 ^ 0x8000));
    assert!(is_refused(&bench), "{:?}", bench.seen(End::ACCEPTOR));
}

#[test]
fn a_registration_goes_alone() {
    for windows in [true, false] {
        let mut bench = Bench::connected(&mut Reference { windows, ..Reference::default() }).unwrap();
        let buffers = [1, 2].map(|byte| bench.allocate(End::ACCEPTOR, &[byte; 64]).unwrap());
        let [(first, gone), (_, left)] =
            buffers.each_ref().map(|buffer| bench.register(End::ACCEPTOR, buffer, Access::Read).unwrap());
        bench.deregister(End::ACCEPTOR, first, &gone, None).unwrap();

        let near = bench.allocate(End::INITIATOR, &[0; 64]).unwrap();
        let read = bench.rdma(End::INITIATOR, RdmaVerb::Read, &near, 0, left[0]);
        bench.ring(End::INITIATOR);
        bench.wait_for(End::INITIATOR, read).unwrap();
        assert_eq!(bench.ends(End::INITIATOR, read), [Seen::RdmaDone(read)], "windows: {windows}");
        assert_eq!(bench.contents(End::INITIATOR, &near, 64).unwrap(), [2; 64]);

        let read = bench.rdma(End::INITIATOR, RdmaVerb::Read, &near, 0, gone[0]);
        bench.ring(End::INITIATOR);
        bench.wait_for(End::INITIATOR, read).unwrap();
        assert_eq!(
            bench.ends(End::INITIATOR, read),
            [Seen::Failed(read.into(), WorkError::RemoteAccess)],
            "windows: {windows}"
        );
    }
}

#[test]
fn who_gets_no_answer_hears_so_after_50_ms() {
    let mut fixture = fixture(Situation::Silent);
    begin(&mut fixture, End::INITIATOR, Step::Connect);
    fixture.pass(49 * MILLI);
    assert_eq!(next(&mut fixture, End::INITIATOR), None);
    fixture.pass(MILLI);
    assert_eq!(next(&mut fixture, End::INITIATOR), Some(Seen::ConnectFailed(ConnectReason::TimedOut)));
}

#[test]
fn nothing_is_up_before_the_acceptor_has_accepted() {
    let mut fixture = fixture(Situation::Connects);
    begin(&mut fixture, End::INITIATOR, Step::Connect);
    fixture.pass(MILLI);
    assert_eq!(next(&mut fixture, End::INITIATOR), None);
    begin(&mut fixture, End::ACCEPTOR, Step::Accept);
    fixture.pass(MILLI);
    for end in [End::INITIATOR, End::ACCEPTOR] {
        assert!(matches!(next(&mut fixture, end), Some(Seen::Connected(_))), "{end:?}");
    }
}
