//! The gateway against what its two stages can do one after the other.

use super::report::{Cell, Way};
use crate::compare::median;

/// A server over RDMA and over TCP, and the ratio to reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    rdma: Way,
    tcp: Way,
    goal: f64,
}

/// The gateway in front of Samba.
pub(super) const SAMBA: Pair = Pair { rdma: Way::GatewaySamba, tcp: Way::Samba, goal: 0.9 };
/// The gateway in front of the server in memory.
pub(super) const MEMORY: Pair = Pair { rdma: Way::GatewayMemory, tcp: Way::Memory, goal: 0.8 };

/// Bytes from which on there is a goal.
const GOAL_FROM: u32 = 64 << 10;

impl Pair {
    /// The goal for a cell, if it has one.
    pub(super) fn goal(&self, cell: &Cell) -> Option<f64> {
        (cell.size >= GOAL_FROM).then_some(self.goal)
    }

    /// The ratio of each round in which all three were measured.
    pub(super) fn ratios(&self, cell: &Cell) -> Vec<f64> {
        let bar = if cell.at_once == 1 { in_turn } else { f64::min };
        self.ratios_to(cell, bar)
    }

    /// The same to what both stages give in turn, however many are under way: one processor does not work on both at once.
    pub(super) fn ratios_in_turn(&self, cell: &Cell) -> Vec<f64> {
        self.ratios_to(cell, in_turn)
    }

    fn ratios_to(&self, cell: &Cell, bar: fn(f64, f64) -> f64) -> Vec<f64> {
        let rates = |way: Way| cell.rates.get(&way).map(Vec::as_slice).unwrap_or_default();
        let (all, servers, devices) = (rates(self.rdma), rates(self.tcp), rates(Way::Rdma));
        let rounds = all.iter().zip(servers).zip(devices);
        rounds.filter_map(|((all, server), rdma)| Some((*all)? / bar((*server)?, (*rdma)?))).collect()
    }

    /// Whether the median of the rounds reaches the goal; a cell without one does.
    pub(super) fn is_reached(&self, cell: &Cell) -> bool {
        self.goal(cell).is_none_or(|goal| reaches(self.ratios(cell), goal))
    }
}

/// Whether the median of the rounds reaches a goal.
pub(super) fn reaches(rounds: Vec<f64>, goal: f64) -> bool {
    median(rounds).is_some_and(|ratio| ratio >= goal)
}

/// What both stages give if an operation passes them in turn. With several under way both are at work, and the slower one decides.
fn in_turn(server: f64, rdma: f64) -> f64 {
    1.0 / (1.0 / server + 1.0 / rdma)
}

/// Whether each cell reaches the goals that it has.
pub(super) fn all_reached(cells: &[Cell]) -> bool {
    cells.iter().all(|cell| [SAMBA, MEMORY].iter().all(|pair| pair.is_reached(cell)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{MEMORY, SAMBA, all_reached};
    use crate::numbers::report::{Cell, Verb, Way};

    fn cell(size: u32, at_once: u16, gateway: &[f64], server: f64, rdma: f64) -> Cell {
        let all = |value| gateway.iter().map(|_| Some(value)).collect();
        let rates = [Way::GatewaySamba, Way::GatewayMemory]
            .map(|way| (way, gateway.iter().copied().map(Some).collect()))
            .into_iter()
            .chain([(Way::Samba, all(server)), (Way::Memory, all(server)), (Way::Rdma, all(rdma))]);
        let (rates, processor) = (rates.collect(), BTreeMap::new());
        Cell { verb: Verb::Read, size, at_once, rates, processor }
    }

    #[test]
    fn one_operation_passes_two_stages_and_eight_keep_both_at_work() {
        assert_eq!(SAMBA.ratios(&cell(65_536, 1, &[15.0, 30.0], 40.0, 120.0)), [0.5, 1.0]);
        assert_eq!(SAMBA.ratios(&cell(65_536, 8, &[30.0], 40.0, 120.0)), [0.75]);
        assert_eq!(SAMBA.ratios(&cell(65_536, 8, &[30.0], 120.0, 40.0)), [0.75]);
        assert_eq!(SAMBA.ratios_in_turn(&cell(65_536, 8, &[15.0], 120.0, 40.0)), [0.5]);
    }

    #[test]
    fn the_median_of_the_rounds_decides() {
        let reached = |rates: &[f64]| {
            [SAMBA, MEMORY].map(|pair| pair.is_reached(&cell(65_536, 8, rates, 100.0, 200.0)))
        };
        assert_eq!(reached(&[10.0, 90.0, 95.0]), [true, true]);
        assert_eq!(reached(&[10.0, 85.0, 95.0]), [false, true]);
        assert_eq!(reached(&[10.0, 79.0, 95.0]), [false, false]);
        assert!(!all_reached(&[cell(65_536, 8, &[85.0], 100.0, 200.0)]));
        assert!(all_reached(&[cell(4096, 8, &[5.0], 100.0, 200.0)]), "no goal below 64 KiB");
        assert!(!all_reached(&[cell(65_536, 8, &[], 100.0, 200.0)]), "nothing measured, nothing reached");
    }

    #[test]
    fn a_round_without_one_of_the_three_does_not_count() {
        let mut cell = cell(65_536, 1, &[15.0, 30.0], 40.0, 120.0);
        cell.rates.insert(Way::Rdma, vec![None, Some(120.0)]);
        assert_eq!(SAMBA.ratios(&cell), [1.0]);
    }
}
