//! What the reference does and no line asks of a device.

use core::time::Duration;

use super::{Reference, ReferenceFixture};
use crate::backend::kit::bench::{Bench, Message};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{Fixture, Lab, Peer, Situation, config};
use crate::backend::{Backend, BackendOp};
use crate::error::{ConnectReason, WorkError};
use crate::{Access, RdmaVerb, Token};

const MILLI: Duration = Duration::from_millis(1);

fn connected() -> Bench<ReferenceFixture> {
    Bench::connected(&mut Reference::default()).unwrap()
}

fn fixture(situation: Situation) -> ReferenceFixture {
    Reference::default().fixture(situation, &config().unwrap()).unwrap()
}

fn begin(fixture: &mut ReferenceFixture, end: Peer, step: BackendOp<'_, super::ReferenceBuffer>) {
    let mut end = fixture.backend(end);
    end.execute(step);
    end.ring_doorbell();
}

fn next(fixture: &mut ReferenceFixture, end: Peer) -> Option<Seen> {
    fixture.backend(end).next_input().map(|input| Seen::of(&input))
}

/// A message to the acceptor that invalidates `token`.
fn invalidate(bench: &mut Bench<ReferenceFixture>, token: Token) {
    bench.post_recv(Peer::ACCEPTOR, 512);
    bench.ring_doorbell(Peer::ACCEPTOR);
    bench.send(Peer::INITIATOR, Message { invalidate: Some(token), ..Message::head(b"invalidate") });
    bench.ring_doorbell(Peer::INITIATOR);
    bench.quiet();
}

fn is_refused(bench: &Bench<ReferenceFixture>) -> bool {
    let failed = |seen: &Seen| matches!(seen, Seen::Failed(_, WorkError::RemoteInvalidRequest));
    bench.count(Peer::ACCEPTOR, failed) == 1
        && bench.count(Peer::INITIATOR, |seen| matches!(seen, Seen::Failed(_, WorkError::RemoteOperation)))
            == 1
        && [Peer::INITIATOR, Peer::ACCEPTOR].iter().all(|end| bench.count(*end, Seen::is_disconnected) == 1)
}

#[test]
fn what_is_dead_already_is_not_invalidated_again() {
    let mut bench = connected();
    let buffer = bench.allocate(Peer::ACCEPTOR, &[1; 64]).unwrap();
    let (_, segments) = bench.register(Peer::ACCEPTOR, &buffer, Access::Read).unwrap();
    let token = segments[0].token;

    invalidate(&mut bench, token);
    assert!(!is_refused(&bench));
    invalidate(&mut bench, token);
    assert!(is_refused(&bench), "{:?}", bench.seen(Peer::ACCEPTOR));
}

#[test]
fn a_token_of_nothing_is_not_invalidated_in_place_of_another() {
    let mut bench = connected();
    let buffer = bench.allocate(Peer::ACCEPTOR, &[1; 64]).unwrap();
    let (_, segments) = bench.register(Peer::ACCEPTOR, &buffer, Access::Read).unwrap();

    invalidate(&mut bench, Token(segments[0].token.0 ^ 0x8000));
    assert!(is_refused(&bench), "{:?}", bench.seen(Peer::ACCEPTOR));
}

#[test]
fn a_registration_goes_alone() {
    for windows in [true, false] {
        let mut bench = Bench::connected(&mut Reference { windows, ..Reference::default() }).unwrap();
        let buffers = [1, 2].map(|byte| bench.allocate(Peer::ACCEPTOR, &[byte; 64]).unwrap());
        let [(first, gone), (_, left)] =
            buffers.each_ref().map(|buffer| bench.register(Peer::ACCEPTOR, buffer, Access::Read).unwrap());
        bench.deregister(Peer::ACCEPTOR, first, &gone, None).unwrap();

        let near = bench.allocate(Peer::INITIATOR, &[0; 64]).unwrap();
        let read = bench.rdma(Peer::INITIATOR, RdmaVerb::Read, &near, 0, left[0]);
        bench.ring_doorbell(Peer::INITIATOR);
        bench.wait_for(Peer::INITIATOR, read).unwrap();
        assert_eq!(bench.ends(Peer::INITIATOR, read), [Seen::RdmaDone(read)], "windows: {windows}");
        assert_eq!(bench.contents(Peer::INITIATOR, &near, 64).unwrap(), [2; 64]);

        let read = bench.rdma(Peer::INITIATOR, RdmaVerb::Read, &near, 0, gone[0]);
        bench.ring_doorbell(Peer::INITIATOR);
        bench.wait_for(Peer::INITIATOR, read).unwrap();
        assert_eq!(
            bench.ends(Peer::INITIATOR, read),
            [Seen::Failed(read.into(), WorkError::RemoteAccess)],
            "windows: {windows}"
        );
    }
}

#[test]
fn who_gets_no_answer_hears_so_after_50_ms() {
    let mut fixture = fixture(Situation::Silent);
    begin(&mut fixture, Peer::INITIATOR, BackendOp::Connect);
    fixture.pass(49 * MILLI);
    assert_eq!(next(&mut fixture, Peer::INITIATOR), None);
    fixture.pass(MILLI);
    assert_eq!(next(&mut fixture, Peer::INITIATOR), Some(Seen::ConnectFailed(ConnectReason::TimedOut)));
}

#[test]
fn nothing_is_up_before_the_acceptor_has_accepted() {
    let mut fixture = fixture(Situation::Connects);
    begin(&mut fixture, Peer::INITIATOR, BackendOp::Connect);
    fixture.pass(MILLI);
    assert_eq!(next(&mut fixture, Peer::INITIATOR), None);
    begin(&mut fixture, Peer::ACCEPTOR, BackendOp::Accept);
    fixture.pass(MILLI);
    for end in [Peer::INITIATOR, Peer::ACCEPTOR] {
        assert!(matches!(next(&mut fixture, end), Some(Seen::Connected(_))), "{end:?}");
    }
}
