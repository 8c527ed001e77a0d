//! The table of connections.

use std::fmt::Write as _;

use super::snapshot::{Row, Snapshot};

/// Where a table is shown: columns and rows of a terminal. Without a terminal there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    pub(super) const ANY: Self = Self { columns: usize::MAX, rows: usize::MAX };
}

const HEAD: [&str; COLUMNS] =
    ["CLIENT", "SERVER", "SERVER_PORT", "DIALECT", "SESSION", "IN", "OUT", "SINCE", "NO RDMA BECAUSE"];
const COLUMNS: usize = 9;
/// Lines besides those of connections: two above, one that says how many are missing, and that of the cursor.
const LINES_BESIDE: usize = 4;

/// The table, with a line above it. Long lines are cut at the size's width, and lines that have no room are counted.
pub(super) fn table(snapshot: &Snapshot, size: Size) -> String {
    let all = &snapshot.connections;
    let rows: Vec<_> = all.iter().take(size.rows.saturating_sub(LINES_BESIDE).max(1)).map(cells).collect();
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        cells.chain(HEAD.get(at).map(|name| name.len())).max().unwrap_or(0)
    };
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut out = String::new();
    let mut line = |text: String| {
        let end = text.char_indices().nth(size.columns).map_or(text.len(), |(at, _)| at);
        out.push_str(text.get(..end).unwrap_or(&text).trim_end());
        out.push('\n');
    };
    let state = if snapshot.is_stopping { ", stopping" } else { "" };
    let Snapshot { version, connections_max, .. } = snapshot;
    let memory = bytes(snapshot.memory);
    line(format!("smbd-gateway {version}: {} of {connections_max} connections, {memory}{state}", all.len()));
    line(aligned(&HEAD.map(str::to_owned), &widths));
    for row in &rows {
        line(aligned(row, &widths));
    }
    let missing = all.len().saturating_sub(rows.len());
    if missing > 0 {
        line(format!("and {missing} more"));
    }
    out
}

/// Numbers are at the right of their columns.
fn aligned(cells: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let mut line = String::new();
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        // Text can be written to a text.
        let _ = match at {
            2 | 5..=7 => write!(line, "{cell:>width$}  "),
            _ => write!(line, "{cell:<width$}  "),
        };
    }
    line
}

fn cells(row: &Row) -> [String; COLUMNS] {
    [
        row.client.to_string(),
        row.server.to_string(),
        // None of TCP.
        if row.server_port == 0 { "-".into() } else { row.server_port.to_string() },
        plain(row.dialect.as_deref().unwrap_or("-")),
        plain(&row.session),
        bytes(row.bytes_in.saturating_add(row.rdma_in)),
        bytes(row.bytes_out.saturating_add(row.rdma_out)),
        time(row.age_s),
        plain(row.no_rdma.as_deref().unwrap_or("-")),
    ]
}

/// Without what a terminal would take for a command.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}

/// Bytes with a unit: at most four digits.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    // Tenths of the unit.
    let (mut left, mut unit) = (u128::from(count).saturating_mul(10) >> 10, UNITS[0]);
    for larger in UNITS.into_iter().skip(1) {
        if left < 10_240 {
            break;
        }
        (left, unit) = (left >> 10, larger);
    }
    format!("{}.{} {unit}", left / 10, left % 10)
}

/// Seconds as the two largest units.
fn time(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{:02}s", seconds % 60),
        (0, ..) => format!("{hours}h{:02}m", minutes % 60),
        _ => format!("{days}d{:02}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(client: &str, age_s: u64) -> Row {
        Row {
            client: client.parse().unwrap(),
            server: "127.0.0.1:445".parse().unwrap(),
            server_port: 35000,
            dialect: Some("3.1.1".into()),
            session: "rdma".into(),
            no_rdma: None,
            bytes_in: 36_180,
            bytes_out: 29_690,
            rdma_in: 13_555_393,
            rdma_out: 27_118_598_000,
            memory: 7 << 20,
            age_s,
        }
    }

    fn snapshot() -> Snapshot {
        let mut signed = row("[fd09::2]:60001", 7);
        (signed.session, signed.no_rdma) = ("signed".into(), Some("its session\x1b[2J is signed".into()));
        (signed.rdma_in, signed.rdma_out) = (0, 0);
        let fresh = Row { dialect: None, session: "none".into(), ..row("10.9.0.3:9", 0) };
        Snapshot {
            version: "0.1.0".into(),
            is_stopping: false,
            connections_max: 256,
            memory: 21 << 20,
            connections: vec![row("10.9.0.2:45501", 7384), signed, fresh],
        }
    }

    #[test]
    fn each_connection_is_a_line_of_a_table() {
        insta::assert_snapshot!(table(&snapshot(), Size::ANY));
    }

    #[test]
    fn on_a_terminal_long_lines_are_cut_and_connections_without_room_are_counted() {
        let stopping = Snapshot { is_stopping: true, ..snapshot() };
        insta::assert_snapshot!(table(&stopping, Size { columns: 60, rows: 6 }));
    }

    #[test]
    fn without_connections_the_table_has_its_head() {
        let none = Snapshot { connections: Vec::new(), ..snapshot() };
        assert_eq!(table(&none, Size::ANY).lines().count(), 2);
    }

    #[test]
    fn bytes_and_times_have_units_and_few_digits() {
        let counts = [0, 1023, 1024, 1_048_575, 1 << 20, 5_000_000_000, u64::MAX];
        let texts = ["0 B", "1023 B", "1.0 KiB", "1023.9 KiB", "1.0 MiB", "4.6 GiB", "15.9 EiB"];
        assert_eq!(counts.map(bytes), texts);
        let ages = [0, 59, 60, 3599, 3600, 86_399, 86_400, 900_000];
        assert_eq!(ages.map(time), ["0s", "59s", "1m00s", "59m59s", "1h00m", "23h59m", "1d00h", "10d10h"]);
    }
}
