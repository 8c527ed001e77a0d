//! `smbd-cp` against the kernel's client, both over RDMA to ksmbd.

use std::fmt::Write as _;

use super::ratio::reaches;
use super::report::{Cell, Report, Way};
use super::table::{self, name, rate, ratio, rounds};

/// Bytes from which on there is a goal.
const GOAL_FROM: u32 = 64 << 10;
/// To be reached: as fast as the kernel's client.
const GOAL: f64 = 1.0;
/// Wished for, from 1 MiB on with several under way.
const WISH: f64 = 1.2;
const WISH_FROM: u32 = 1 << 20;

/// Whether a report is of these.
pub(super) fn is_of(report: &Report) -> bool {
    report.has(Way::SmbdCp)
}

/// Whether each cell reaches its goal.
pub(super) fn all_reached(cells: &[Cell]) -> bool {
    cells.iter().filter(|cell| cell.size >= GOAL_FROM).all(|cell| reaches(ratios(cell), GOAL))
}

/// The table of a report.
pub(super) fn table(report: &Report) -> String {
    let mut text = String::from(
        "| MiB/s | smbd-cp | cifs | ratio (rounds) | goal | cifs over TCP | RDMA alone |\n|---|---|---|---|---|---|---|\n",
    );
    for cell in &report.cells {
        let [own, kernel, tcp, rdma] =
            [Way::SmbdCp, Way::KsmbdRdma, Way::Ksmbd, Way::Rdma].map(|way| rate(cell, way));
        let ratios = ratios(cell);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {} | {own} | {kernel} | {} ({}) | {} | {tcp} | {rdma} |",
            name(cell),
            ratio(ratios.clone()),
            rounds(&ratios),
            goal(cell)
        );
    }
    text
}

fn goal(cell: &Cell) -> String {
    if cell.size < GOAL_FROM {
        return "-".into();
    }
    let said = |goal| table::goal(ratios(cell), goal);
    if cell.size >= WISH_FROM && cell.at_once > 1 {
        format!("{}, wish {}", said(GOAL), said(WISH))
    } else {
        said(GOAL)
    }
}

fn ratios(cell: &Cell) -> Vec<f64> {
    cell.ratios(Way::SmbdCp, Way::KsmbdRdma)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{all_reached, is_of, table};
    use crate::numbers::report::{Cell, Report, Verb, Way};

    fn report() -> Report {
        let cell = |size, at_once, own: [Option<f64>; 3]| Cell {
            verb: Verb::Read,
            size,
            at_once,
            rates: BTreeMap::from([
                (Way::SmbdCp, own.to_vec()),
                (Way::KsmbdRdma, vec![Some(100.0), Some(50.0), None]),
                (Way::Ksmbd, vec![Some(300.0); 3]),
                (Way::Rdma, vec![Some(400.0); 3]),
            ]),
            processor: BTreeMap::new(),
        };
        let cells = vec![
            cell(4096, 1, [Some(10.0), Some(5.0), Some(900.0)]),
            cell(65_536, 1, [Some(100.0), Some(60.0), None]),
            cell(1 << 20, 8, [Some(110.0), Some(55.0), Some(1.0)]),
        ];
        Report { kind: "siw".into(), seconds: 1.0, cells }
    }

    #[test]
    fn rounds_count_in_which_both_were_measured_and_what_is_missed_is_said() {
        insta::assert_snapshot!(table(&report()));
    }

    #[test]
    fn small_operations_have_no_goal_and_the_others_have() {
        let mut report = report();
        assert!(is_of(&report) && all_reached(&report.cells));
        report.cells[1].rates.insert(Way::SmbdCp, vec![Some(99.0), Some(10.0), None]);
        assert!(!all_reached(&report.cells));
        report.cells[1].rates.clear();
        assert!(!all_reached(&report.cells), "nothing measured, nothing reached");
    }
}
