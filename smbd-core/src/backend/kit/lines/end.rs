use alloc::format;

use super::Line;
use crate::backend::kit::bench::{Bench, ensure, needs};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{Finding, Fixture, Lab, Peer};
use crate::error::DisconnectReason;

pub(super) fn lines<L: Lab>() -> [Line<L>; 2] {
    [
        Line {
            id: "end.own-disconnect",
            about: "the end of the own disconnect is Local, and at the other end it is not",
            law: "contract: the end",
            run: own_disconnect,
        },
        Line {
            id: "end.peer-closed",
            about: "an orderly close by the peer is PeerClosed at the end that did not close",
            law: "contract: the end, 3.1.7.1",
            run: peer_closed,
        },
    ]
}

/// `closer` disconnects an idle connection; what both ends say of it, its own first.
fn close<L: Lab>(lab: &mut L, closer: Peer, other: Peer) -> Result<[DisconnectReason; 2], Finding> {
    let mut bench = Bench::connected(lab)?;
    bench.disconnect(closer)?;
    bench.wait(other, "Disconnected", Seen::is_disconnected)?;
    let told = [reason(&bench, closer)?, reason(&bench, other)?];
    bench.disconnect(other)?;
    Ok(told)
}

fn reason<F: Fixture>(bench: &Bench<F>, end: Peer) -> Result<DisconnectReason, Finding> {
    let reason = bench.seen(end).iter().find_map(Seen::disconnect_reason);
    reason.ok_or_else(|| Finding::Broken(format!("no Disconnected at {end:?}: {:?}", bench.seen(end))))
}

fn own_disconnect<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    for (closer, other) in [(Peer::INITIATOR, Peer::ACCEPTOR), (Peer::ACCEPTOR, Peer::INITIATOR)] {
        let [own, told] = close(lab, closer, other)?;
        ensure(own == DisconnectReason::Local, || format!("{closer:?} closed, and says {own:?}"))?;
        ensure(told != DisconnectReason::Local, || format!("{closer:?} closed, {other:?} says Local"))?;
    }
    Ok(())
}

fn peer_closed<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    needs(lab.capabilities().peer_close_told, "an orderly close cannot be told from other ends")?;
    for (closer, other) in [(Peer::INITIATOR, Peer::ACCEPTOR), (Peer::ACCEPTOR, Peer::INITIATOR)] {
        let [_, told] = close(lab, closer, other)?;
        ensure(told == DisconnectReason::PeerClosed, || {
            format!("{closer:?} closed in order, {other:?} says {told:?}")
        })?;
    }
    Ok(())
}
