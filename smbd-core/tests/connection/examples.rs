//! Section 4 as a trace between two connections.

use smbd_core::{Action, Event, Params};

use crate::pair::{ACCEPTOR, INITIATOR, Pair};

#[test]
fn the_examples_of_section_4_1_to_4_3() {
    let mut pair = Pair::new(Params::example(), Params::example());
    pair.connect();
    pair.drain(INITIATOR);
    pair.deliver(INITIATOR);
    pair.drain(ACCEPTOR);
    pair.deliver(ACCEPTOR);
    // The upper layer answers Established with a message: it carries the first grant.
    let side = &mut pair.sides[INITIATOR];
    let event = side.connection.poll_action();
    assert!(matches!(event, Action::Notify(Event::Established(_))), "{event:?}");
    side.send(256);
    pair.run();
    pair.send(INITIATOR, 500);
    pair.run();
    pair.send(INITIATOR, 65_536);
    pair.run();
    insta::assert_snapshot!(pair.trace);
}
