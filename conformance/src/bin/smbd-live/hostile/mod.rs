//! Hostile peers against `smbd-echo`: it goes on serving others, keeps to its memory, and its log says who did what.

mod accept_queue;
mod attack;
mod data;
pub(crate) mod echo;
mod flood;
mod half_open;
mod honest;
mod invalidation;
mod killed;
mod negotiation;
mod raw;
mod siege;
mod slow;

use crate::case::{Case, Context, Outcome, Target};

const fn short(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::Hostile, about, run }
}

const fn long(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::HostileLong, about, run }
}

pub(crate) const CASES: &[Case] = &[
    short("hostile::negotiation", "first messages with each field wrong", negotiation::malformed),
    short("hostile::data", "messages with each field wrong, too long, out of turn", data::malformed),
    short("hostile::flood_without_credits", "more messages than there are receives", flood::without_credits),
    short("hostile::flood_of_probes", "keepalive probes as fast as can be", flood::probes),
    short("hostile::invalidation", "tokens that are none, and twice", invalidation::nonsense),
    short("hostile::half_open", "more connections of one host than are allowed", half_open::few),
    short("hostile::never_negotiated", "connections that the negotiation timer ends", half_open::unfinished),
    short("hostile::gone_at_once", "connections that end as soon as they are up", half_open::gone_few),
    short("hostile::bare_network", "connections of TCP without a word of MPA", half_open::bare_few),
    short("hostile::killed", "processes that connect and are killed", killed::few),
    Case {
        name: "hostile::invalidation_wherever",
        target: Target::Fatal,
        about: "tokens that are none, and twice, on any device",
        run: invalidation::wherever,
    },
    Case {
        name: "hostile::bare_hasty",
        target: Target::Fatal,
        about: "connections of TCP that end before they are accepted",
        run: half_open::bare_hasty,
    },
    long("hostile::slow_to_speak", "peers that begin when they are nearly given up", slow::to_speak),
    long("hostile::half_open_thousands", "2000 connections that never negotiate", half_open::thousands),
    long("hostile::gone_hundreds", "500 that end as soon as they are up", half_open::gone_hundreds),
    long("hostile::bare_thousands", "2000 of TCP without a word of MPA", half_open::bare_thousands),
    long("hostile::killed_dozens", "50 processes that connect and are killed", killed::dozens),
];
