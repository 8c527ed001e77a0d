//! The table of connections.

use smbd_daemon::table::{Align, Lines, Size, bytes, plain, time};

use super::snapshot::{Row, Snapshot};

/// Numbers are at the right of their columns.
const COLUMNS: [(&str, Align); 10] = [
    ("CLIENT", Align::Left),
    ("OVER", Align::Left),
    ("USER", Align::Left),
    ("DIALECT", Align::Left),
    ("SIGNED", Align::Left),
    ("ENCRYPTED", Align::Left),
    ("IN", Align::Right),
    ("OUT", Align::Right),
    ("FILES", Align::Right),
    ("SINCE", Align::Right),
];
/// Lines besides those of connections: two above, one that says how many are missing, and that of the cursor.
const LINES_BESIDE: usize = 4;

/// The table, with a line above it. Long lines are cut at the size's width, and lines that have no room are counted.
pub(crate) fn table(snapshot: &Snapshot, size: Size) -> String {
    let Snapshot { version, connections_max, open_files, shares, connections, is_stopping } = snapshot;
    let rows: Vec<_> = connections.iter().map(cells).collect();
    let state = if *is_stopping { ", stopping" } else { "" };
    let shares = shares.iter().map(|share| plain(share)).collect::<Vec<_>>().join(", ");
    let mut lines = Lines::new(size);
    lines.line(&format!(
        "smbd-serve {version}: {} of {connections_max} connections, {open_files} open files, serves {shares}{state}",
        rows.len()
    ));
    lines.table(COLUMNS, &rows, size.rows.saturating_sub(LINES_BESIDE).max(1));
    lines.text()
}

fn cells(row: &Row) -> [String; COLUMNS.len()] {
    let or_none = |text: &Option<String>| plain(text.as_deref().unwrap_or("-"));
    let of_child = row.child.map(|child| format!("(process {child})"));
    [
        row.client.to_string(),
        plain(&row.over),
        of_child.unwrap_or_else(|| or_none(&row.user)),
        or_none(&row.dialect),
        or_none(&row.signed),
        or_none(&row.encrypted),
        bytes(row.bytes_in.saturating_add(row.rdma_in)),
        bytes(row.bytes_out.saturating_add(row.rdma_out)),
        row.open_files.to_string(),
        time(row.age_s),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(client: &str, over: &str, user: Option<&str>) -> Row {
        Row {
            client: client.parse().unwrap(),
            over: over.into(),
            user: user.map(str::to_owned),
            dialect: user.map(|_| "3.1.1".into()),
            signed: user.map(|_| "AES-GMAC".into()),
            encrypted: None,
            bytes_in: 36_180,
            bytes_out: 29_690,
            rdma_in: 13_555_393,
            rdma_out: 27_118_598_000,
            open_files: 3,
            child: None,
            age_s: 7384,
        }
    }

    fn snapshot() -> Snapshot {
        let silent = Row {
            bytes_in: 0,
            bytes_out: 0,
            rdma_in: 0,
            rdma_out: 0,
            open_files: 0,
            ..row("10.9.0.3:9", "tcp", None)
        };
        let child = Row {
            child: Some(4711),
            ..Row { client: "10.9.0.4:9".parse().unwrap(), over: "broker".into(), ..silent.clone() }
        };
        Snapshot {
            version: "0.1.0".into(),
            is_stopping: false,
            connections_max: 64,
            open_files: 6,
            shares: vec!["data".into(), "scratch\x1b[2J".into()],
            connections: vec![row("10.9.0.2:45501", "rdma", Some("tester\x1b[2J")), silent, child],
        }
    }

    #[test]
    fn each_connection_is_a_line_of_a_table() {
        let lines = [
            "smbd-serve 0.1.0: 3 of 64 connections, 6 open files, serves data, scratch[2J",
            "CLIENT          OVER    USER            DIALECT  SIGNED    ENCRYPTED        IN       OUT  FILES  SINCE",
            "10.9.0.2:45501  rdma    tester[2J       3.1.1    AES-GMAC  -          12.9 MiB  25.2 GiB      3  2h03m",
            "10.9.0.3:9      tcp     -               -        -         -               0 B       0 B      0  2h03m",
            "10.9.0.4:9      broker  (process 4711)  -        -         -               0 B       0 B      0  2h03m",
        ];
        assert_eq!(table(&snapshot(), Size::ANY).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn on_a_terminal_long_lines_are_cut_and_connections_without_room_are_counted() {
        let stopping = Snapshot { is_stopping: true, shares: vec!["data".into()], ..snapshot() };
        let shown = table(&stopping, Size { columns: 90, rows: 6 });
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[0], "smbd-serve 0.1.0: 3 of 64 connections, 6 open files, serves data, stopping");
        assert_eq!((lines.len(), lines[4]), (5, "and 1 more"));
        assert!(lines.iter().all(|line| line.chars().count() <= 90));
    }

    #[test]
    fn what_is_told_is_one_line_of_json_that_can_be_read_again() {
        let line = snapshot().line();
        assert_eq!((line.lines().count(), line.ends_with('\n')), (1, true));
        assert_eq!(serde_json::from_str::<Snapshot>(&line).unwrap(), snapshot());
    }
}
