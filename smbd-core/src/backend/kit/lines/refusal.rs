use alloc::format;
use alloc::vec::Vec;

use super::Line;
use crate::WrId;
use crate::backend::kit::bench::{Bench, Message, ensure, needs};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{End, Finding, Fixture, Lab};
use crate::error::WorkError;

const CHAIN: usize = 5;

pub(super) fn lines<L: Lab>() -> [Line<L>; 2] {
    [
        Line {
            id: "refusal.of-a-send",
            about: "a send refused at any place of a chain: those behind it and all later posts are flushed",
            law: "contract: a refused post",
            run: |lab| each_place(lab, send),
        },
        Line {
            id: "refusal.of-a-receive",
            about: "a receive refused at any place of a chain: those behind it and all later posts are flushed",
            law: "contract: a refused post",
            run: |lab| each_place(lab, receive),
        },
    ]
}

fn send<F: Fixture>(bench: &mut Bench<F>, n: usize) -> WrId {
    bench.send(End::INITIATOR, Message { signal: n.is_multiple_of(2), ..Message::head(b"refusal") }).into()
}

fn receive<F: Fixture>(bench: &mut Bench<F>, _: usize) -> WrId {
    bench.post_recv(End::INITIATOR, 64).into()
}

type Post<F> = fn(&mut Bench<F>, usize) -> WrId;

fn each_place<L: Lab>(lab: &mut L, post: Post<L::Fixture>) -> Result<(), Finding> {
    needs(lab.capabilities().refusal, "posts cannot be made to be refused")?;
    (0..CHAIN).try_for_each(|place| one_place(lab, post, place))
}

fn one_place<L: Lab>(lab: &mut L, post: Post<L::Fixture>, place: usize) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    for _ in 0..CHAIN {
        bench.post_recv(End::ACCEPTOR, 64);
    }
    bench.ring(End::ACCEPTOR);
    bench.refuse_after(End::INITIATOR, place);
    let chain: Vec<_> = (0..CHAIN).map(|n| post(&mut bench, n)).collect();
    bench.ring(End::INITIATOR);
    let later: [WrId; 2] = [
        bench.post_recv(End::INITIATOR, 64).into(),
        bench.send(End::INITIATOR, Message::head(b"later")).into(),
    ];
    bench.ring(End::INITIATOR);
    let (accepted, unposted) = chain.split_at_checked(place).unwrap_or_default();
    for id in unposted.iter().chain(&later) {
        bench.wait_for(End::INITIATOR, *id)?;
    }
    bench.disconnect(End::INITIATOR)?;
    let failure = |id: &WrId| match bench.ends(End::INITIATOR, *id).first() {
        Some(Seen::Failed(_, error)) => Some(*error),
        _ => None,
    };
    let at = |id: &WrId| format!("place {place}: {id} ended as {:?}", bench.ends(End::INITIATOR, *id));
    for id in accepted {
        ensure(!matches!(failure(id), Some(WorkError::Refused { .. })), || at(id))?;
    }
    let (refused, behind) = (unposted.first(), unposted.iter().skip(1));
    if let Some(id) = refused {
        ensure(matches!(failure(id), Some(WorkError::Refused { .. })), || at(id))?;
    }
    for id in behind.chain(&later) {
        ensure(failure(id) == Some(WorkError::Flushed), || at(id))?;
    }
    Ok(())
}
