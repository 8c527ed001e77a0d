//! What was done, and what there was before and afterwards.

use std::fmt::Write as _;

use smbd_core::Instant;

use super::Holds;
use super::client::{Done, Ended};
use crate::process::Memory;

/// What happened.
#[derive(Debug, Default)]
pub(super) struct Report {
    done: Done,
    in_order: u64,
    /// Failed while the network was down or soon after.
    excused: u64,
    /// Failed, or saw wrong bytes.
    pub(super) wrong: u64,
    pub(super) killed: u64,
    /// How often the network was down.
    pub(super) cut: u64,
}

impl Report {
    pub(super) fn note(&mut self, ended: &Ended, excused: bool) {
        match ended {
            Ended::InOrder(done) => {
                self.in_order += 1;
                self.done.rounds += done.rounds;
                self.done.messages += done.messages;
                self.done.operations += done.operations;
                self.done.bytes += done.bytes;
            }
            Ended::Failed(said) if excused && !said.contains("WRONG") => self.excused += 1,
            Ended::Failed(said) => {
                self.wrong += 1;
                println!("a client failed: {said}");
            }
        }
    }

    /// How it goes.
    pub(super) fn line(&self, now: Instant, memory: &Memory) -> String {
        let seconds = now.saturating_since(Instant::ORIGIN).as_secs();
        format!(
            "{:3} min: {} clients in order, {} killed, {} lost with the network, {} wrong; {} KiB resident",
            seconds / 60,
            self.in_order,
            self.killed,
            self.excused,
            self.wrong,
            memory.resident >> 10
        )
    }

    pub(super) fn table(&self, before: &Holds, after: &Holds, last: &str) -> String {
        let Self { done, in_order, excused, wrong, killed, cut } = self;
        let mut out = format!(
            "clients: {in_order} ended in order, {killed} killed, {excused} lost when the network was down ({cut} times), \
             {wrong} wrong\n\
             of those in order: {} rounds, {} messages, {} RDMA operations, {} MiB, each byte compared\n\
             smbd-echo: {last}\n\n\
             | of smbd-echo | before | afterwards |\n|---|---|---|\n",
            done.rounds,
            done.messages,
            done.operations,
            done.bytes >> 20
        );
        for (kind, count) in &before.held {
            let now = after.held.get(kind).copied().unwrap_or(0);
            // Into a string: it cannot fail.
            let _ = writeln!(out, "| {kind} | {count} | {now} |");
        }
        let kib = |bytes: u64| bytes >> 10;
        for (name, then, now) in [
            ("resident memory, KiB", before.memory.resident, after.memory.resident),
            ("pinned memory, KiB", before.memory.pinned, after.memory.pinned),
            ("most resident memory, KiB", before.memory.peak, after.memory.peak),
        ] {
            let _ = writeln!(out, "| {name} | {} | {} |", kib(then), kib(now));
        }
        out
    }
}
