//! The table of connections.

use smbd_daemon::table::{Align, Lines, Size, bytes, plain, time};

use super::snapshot::{Row, Snapshot};

/// Numbers are at the right of their columns.
const COLUMNS: [(&str, Align); 9] = [
    ("CLIENT", Align::Left),
    ("SERVER", Align::Left),
    ("SERVER_PORT", Align::Right),
    ("DIALECT", Align::Left),
    ("SESSION", Align::Left),
    ("IN", Align::Right),
    ("OUT", Align::Right),
    ("SINCE", Align::Right),
    ("NO RDMA BECAUSE", Align::Left),
];
/// Lines besides those of connections: two above, one that says how many are missing, and that of the cursor.
const LINES_BESIDE: usize = 4;

/// The table, with a line above it. Long lines are cut at the size's width, and lines that have no room are counted.
pub(crate) fn table(snapshot: &Snapshot, size: Size) -> String {
    let all = &snapshot.connections;
    let rows_max = size.rows.saturating_sub(LINES_BESIDE).max(1);
    let rows: Vec<_> = all.iter().map(cells).collect();
    let state = if snapshot.is_stopping { ", stopping" } else { "" };
    let Snapshot { version, connections_max, .. } = snapshot;
    let memory = bytes(snapshot.memory);
    let mut lines = Lines::new(size);
    lines.line(&format!(
        "smbd-gateway {version}: {} of {connections_max} connections, {memory}{state}",
        all.len()
    ));
    lines.table(COLUMNS, &rows, rows_max);
    lines.text()
}

fn cells(row: &Row) -> [String; COLUMNS.len()] {
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
}
