//! A server on `smbd-broker` against the same server with RDMA in its own process, and behind the gateway.

use std::fmt::Write as _;

use super::ratio::reaches;
use super::report::{Cell, Report, Way};
use super::table::{self, name, rate, ratio, rounds};

/// From so many bytes on, this ratio to RDMA in the server's own process is to be reached.
const GOALS: [(u32, f64); 2] = [(1 << 20, 0.9), (64 << 10, 0.75)];

/// Whether a report is of these.
pub(super) fn is_of(report: &Report) -> bool {
    report.has(Way::Broker)
}

/// Whether each cell reaches its goal.
pub(super) fn all_reached(cells: &[Cell]) -> bool {
    cells.iter().all(|cell| goal(cell).is_none_or(|goal| reaches(ratios(cell), goal)))
}

/// The table of a report.
pub(super) fn table(report: &Report) -> String {
    let mut text = String::from(
        "| MiB/s | broker | in process | ratio (rounds) | goal | gateway | broker to gateway | RDMA alone |\n|---|---|---|---|---|---|---|---|\n",
    );
    for cell in &report.cells {
        let [broker, serve, gateway, rdma] =
            [Way::Broker, Way::Serve, Way::GatewayServe, Way::Rdma].map(|way| rate(cell, way));
        let ratios = ratios(cell);
        let said = goal(cell).map_or("-".into(), |goal| table::goal(ratios.clone(), goal));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {} | {broker} | {serve} | {} ({}) | {said} | {gateway} | {} | {rdma} |",
            name(cell),
            ratio(ratios.clone()),
            rounds(&ratios),
            ratio(cell.ratios(Way::Broker, Way::GatewayServe)),
        );
    }
    text
}

/// The ratio that a cell is to reach, if there is one.
fn goal(cell: &Cell) -> Option<f64> {
    GOALS.iter().find_map(|(from, goal)| (cell.size >= *from).then_some(*goal))
}

fn ratios(cell: &Cell) -> Vec<f64> {
    cell.ratios(Way::Broker, Way::Serve)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{all_reached, is_of, table};
    use crate::numbers::report::{Cell, Report, Verb, Way};

    fn report() -> Report {
        let cell = |size, at_once, broker: [Option<f64>; 3]| Cell {
            verb: Verb::Write,
            size,
            at_once,
            rates: BTreeMap::from([
                (Way::Broker, broker.to_vec()),
                (Way::Serve, vec![Some(100.0), Some(50.0), None]),
                (Way::GatewayServe, vec![Some(40.0), None, Some(10.0)]),
                (Way::Rdma, vec![Some(400.0); 3]),
            ]),
            processor: BTreeMap::new(),
        };
        let cells = vec![
            cell(4096, 1, [Some(10.0), Some(5.0), Some(900.0)]),
            cell(65_536, 1, [Some(75.0), Some(40.0), None]),
            cell(1 << 20, 8, [Some(90.0), Some(45.0), Some(1.0)]),
        ];
        Report { kind: "siw".into(), seconds: 1.0, cells }
    }

    #[test]
    fn each_row_has_the_goal_of_its_size_and_what_is_missed_is_said() {
        let mut report = report();
        let missed = report.cells[2].rates.get_mut(&Way::Broker).unwrap();
        missed[0] = Some(89.0);
        insta::assert_snapshot!(table(&report));
    }

    #[test]
    fn small_operations_have_no_goal_and_the_others_have() {
        let report = report();
        assert!(is_of(&report) && all_reached(&report.cells));
        for (at, rate) in [(1, 70.0), (2, 89.0)] {
            let mut cells = report.cells.clone();
            cells[at].rates.insert(Way::Broker, vec![Some(rate)]);
            assert!(!all_reached(&cells));
            cells[at].rates.clear();
            assert!(!all_reached(&cells), "nothing measured, nothing reached");
        }
    }
}
