//! The resources of a run, which have to be the same at the end as at the beginning.

use std::fmt;

use super::super::Run;
use crate::Side;
use crate::probe::Probe;

/// What is in use on both hosts and between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    /// Buffers of upper layers.
    pub buffers: usize,
    /// Tokens valid, of any connection.
    pub tokens: usize,
    /// Receives posted.
    pub receives: usize,
    /// Work on send queues.
    pub sends: usize,
    /// Completions that nobody has taken.
    pub completions: usize,
    /// Packets and replies under way.
    pub packets: usize,
    /// What is arranged to happen.
    pub arranged: usize,
    /// Messages that were sent and have not arrived.
    pub messages: usize,
    /// Fragments that upper layers hold.
    pub held: usize,
}

impl Stock {
    pub(super) fn of<F: Probe>(run: &Run<'_, F>) -> Self {
        let mut stock =
            Self { packets: run.world.in_flight(), arranged: run.world.arranged(), ..Self::default() };
        for side in Side::BOTH {
            let host = run.world.host(side);
            let nic = &host.device.nic;
            stock.buffers += nic.buffers.live();
            stock.tokens += nic.tokens.live_of_all();
            stock.receives += nic.recvs_posted();
            stock.sends += nic.sends_posted();
            stock.completions += nic.recv_completions() + nic.send_completions();
            stock.messages += run.workload.borrow().under_way(side);
            stock.held += host.upper.held();
        }
        stock
    }
}

/// Places of tables that grow with what is in use at the same time, and never shrink.
pub(super) fn tables<F: Probe>(run: &Run<'_, F>) -> usize {
    let of = |side| {
        let nic = &run.world.host(side).device.nic;
        nic.buffers.places() + nic.tokens.entries()
    };
    Side::BOTH.into_iter().map(of).sum()
}

impl fmt::Display for Stock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffers, tokens, receives, sends, completions, packets, arranged, messages, held } = self;
        write!(
            f,
            "{buffers} buffers, {tokens} tokens, {receives} receives, {sends} sends, {completions} completions, {packets} \
             packets, {arranged} arranged, {messages} messages, {held} fragments held"
        )
    }
}
