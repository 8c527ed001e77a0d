//! smbd with itself, over the device of this host.

mod access;
mod address6;
mod attempt;
mod bulk;
mod calls;
pub(crate) mod client;
pub(crate) mod crashes;
mod doorbells;
mod ends;
mod invalidation;
mod many;
mod messages;
mod neighbours;
mod overlooked;
pub(crate) mod pair;
mod pieces;
mod ports;
mod refusals;
pub(crate) mod resources;
pub(crate) mod serving;
mod silence;
mod sinks;
mod tokio;
pub(crate) mod traffic;
mod transfers;
pub(crate) mod victim;
mod worker;

use smbd_verbs::blocking::Connection;

use crate::case::{Case, Context, Outcome, Target};
use calls::InTokio;

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::Ours, about, run }
}

const fn long(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::OursLong, about, run }
}

pub(crate) const CASES: &[Case] = &[
    case(
        "ours::messages_of_the_example",
        "message sizes at every edge, as in section 4",
        messages::example::<Connection>,
    ),
    case(
        "ours::messages_of_windows",
        "message sizes at every edge, Windows' parameters",
        messages::windows::<Connection>,
    ),
    case(
        "ours::messages_of_linux",
        "message sizes at every edge, Linux' parameters",
        messages::linux::<Connection>,
    ),
    case(
        "ours::doorbells",
        "a message that is alone goes at once, of several the doorbell is rung once",
        doorbells::alone,
    ),
    case(
        "ours::rdma_through_descriptors",
        "1 to 4095 descriptors out of order, both verbs from both sides",
        transfers::through_descriptors::<Connection>,
    ),
    case(
        "ours::rdma_of_nothing_and_of_all",
        "no byte, MaxReadWriteSize and one more",
        transfers::edges::<Connection>,
    ),
    long("ours::a_gigabyte", "1 GiB by writes, reads and messages, hashed", bulk::gigabyte::<Connection>),
    case("ours::many_connections", "64 at once, engines on both sides", many::at_once),
    case("ours::a_busy_neighbour", "a quiet connection beside a busy one", neighbours::busy),
    case("ours::ipv6", "a connection over IPv6", address6::works),
    case("ours::access_without_the_right", "access without the right ends both sides", access::rights),
    case("ours::access_with_dead_tokens", "wrong and deregistered tokens end both sides", access::tokens),
    case("ours::access_out_of_bounds", "a byte too far or too early ends both sides", access::bounds),
    case("ours::access_on_another_connection", "a token is its connection's alone", access::foreign),
    case("ours::read_sinks_work", "RDMA Read where a device needs the peer's right to write", sinks::work),
    case(
        "ours::read_sinks_are_closed_behind_a_read",
        "a write of the peer then ends both sides",
        sinks::writes,
    ),
    case("ours::read_sinks_are_closed_at_the_end", "of Reads that fail, and of a connection", sinks::ends),
    case("ours::invalidation_with_a_message", "told once where devices tell", invalidation::with_a_message),
    case("ours::invalidation_ends_access", "a token is dead once invalidated", invalidation::ends_access),
    case(
        "ours::invalidation_against_deregistration",
        "at most one invalidation, whoever is first",
        invalidation::against_deregistration,
    ),
    case("ours::refused_too_many", "max_connections, with the reason", refusals::too_many),
    case("ours::refused_too_many_pending", "max_pending, with the reason", refusals::too_many_pending),
    case("ours::refused_by_the_upper_layer", "a reject, a drop, nobody there", refusals::unwanted),
    case(
        "ours::overlooked_request",
        "a request that siw overlooks at the peer is answered",
        overlooked::request,
    ),
    case("ours::silent_network", "packets vanish", silence::blackhole),
    case("ours::unreachable", "no route", silence::unreachable),
    case("ours::silent_listener", "nobody looks at the request", silence::listener),
    case("ours::silent_acceptor", "the initiator's negotiation timer", silence::acceptor),
    case("ours::silent_initiator", "the acceptor's negotiation timer", silence::initiator),
    case(
        "ours::closed_in_order",
        "the side that did not close is told as much as its device can",
        ends::in_order,
    ),
    case("ours::acceptor_killed", "SIGKILL in the middle of transfers", crashes::acceptor_killed),
    case("ours::initiator_killed", "SIGKILL in the middle of transfers", crashes::initiator_killed),
    case("ours::tokio_echo", "both sides in tokio: sizes, a slow receiver, cancelled calls", tokio::echo),
    case("ours::tokio_many_connections", "64 at once, both sides in tokio", tokio::many),
    case("ours::tokio_ends", "closed, dropped, refused, nobody there", tokio::ends),
    case("ours::tokio_messages_of_windows", "as without, in tokio", messages::windows::<InTokio>),
    case("ours::tokio_messages_of_linux", "as without, in tokio", messages::linux::<InTokio>),
    case(
        "ours::tokio_rdma_through_descriptors",
        "as without, in tokio",
        transfers::through_descriptors::<InTokio>,
    ),
    case("ours::tokio_rdma_of_nothing_and_of_all", "as without, in tokio", transfers::edges::<InTokio>),
    long("ours::tokio_a_gigabyte", "as without, in tokio", bulk::gigabyte::<InTokio>),
];
