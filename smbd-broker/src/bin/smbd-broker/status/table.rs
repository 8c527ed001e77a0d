//! The tables of owners and connections.

use smbd_daemon::table::{Align, Lines, Size, bytes, plain};

use super::snapshot::{Connection, Owner, Snapshot};

const OWNERS: [(&str, Align); 8] = [
    ("SERVER", Align::Right),
    ("NAME", Align::Left),
    ("PID", Align::Right),
    ("UID", Align::Right),
    ("SLOTS", Align::Right),
    ("CONNECTIONS", Align::Right),
    ("HOLDS", Align::Left),
    ("STATE", Align::Left),
];
const CONNECTIONS: [(&str, Align); 8] = [
    ("CONNECTION", Align::Right),
    ("CLIENT", Align::Left),
    ("SERVER", Align::Right),
    ("BY", Align::Left),
    ("IN", Align::Right),
    ("OUT", Align::Right),
    ("TRANSFERS", Align::Right),
    ("STATE", Align::Left),
];
/// Lines besides those of owners and connections: the first, two heads, two that say how many are missing, one between, and that of the
/// cursor.
const LINES_BESIDE: usize = 7;

/// The tables, with a line above them. Long lines are cut at the size's width, and lines that have no room are counted.
pub(crate) fn table(snapshot: &Snapshot, size: Size) -> String {
    let room = size.rows.saturating_sub(LINES_BESIDE);
    let owners: Vec<_> = snapshot.owners.iter().map(owner).collect();
    let connections: Vec<_> = snapshot.connections.iter().map(connection).collect();
    // Servers have half of the room at least.
    let owners_max = room.saturating_sub(connections.len()).max(room / 2).max(1);
    let connections_max = room.saturating_sub(owners.len().min(owners_max)).max(1);
    let Snapshot { version, owners_max: most, connections_max: most_connections, memory, memory_max, .. } =
        snapshot;
    let mut lines = Lines::new(size);
    lines.line(&format!(
        "smbd-broker {version}: {} of {most} servers, {} of {most_connections} connections, {} of {} shared",
        owners.len(),
        connections.len(),
        bytes(*memory),
        bytes(*memory_max),
    ));
    lines.table(OWNERS, &owners, owners_max);
    lines.line("");
    lines.table(CONNECTIONS, &connections, connections_max);
    lines.text()
}

fn owner(owner: &Owner) -> [String; OWNERS.len()] {
    let number = |number: Option<String>| number.unwrap_or_else(|| "-".into());
    let plural = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let held = [(owner.sessions, "session"), (owner.clients, "client")];
    let mut held: Vec<_> =
        held.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| plural(count, what)).collect();
    if owner.is_acceptor {
        held.push("the rest".into());
    }
    [
        owner.owner.to_string(),
        plain(&owner.name),
        number(owner.pid.map(|pid| pid.to_string())),
        number(owner.uid.map(|uid| uid.to_string())),
        format!("{}/{}", owner.slots_in_use, owner.slots),
        owner.connections.to_string(),
        if held.is_empty() { "-".into() } else { held.join(", ") },
        if owner.is_gone { "gone".into() } else { "attached".into() },
    ]
}

fn connection(connection: &Connection) -> [String; CONNECTIONS.len()] {
    [
        connection.connection.to_string(),
        plain(&connection.client),
        connection.owner.map_or_else(|| "-".into(), |owner| owner.to_string()),
        connection.by.clone().unwrap_or_else(|| "-".into()),
        bytes(connection.bytes_in.saturating_add(connection.rdma_in)),
        bytes(connection.bytes_out.saturating_add(connection.rdma_out)),
        connection.transfers.to_string(),
        connection.state.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let owner = |owner: u64, is_gone: bool| Owner {
            owner,
            name: "smbd-serve\x1b[2J".into(),
            pid: (!is_gone).then_some(4711),
            uid: (!is_gone).then_some(0),
            is_gone,
            is_acceptor: !is_gone,
            connections: 2,
            sessions: usize::from(!is_gone),
            clients: 0,
            slots: 8,
            slots_in_use: 3,
        };
        let connection = |connection: u64, owner: Option<u64>| Connection {
            connection,
            client: "10.9.0.2:45501".into(),
            owner,
            by: owner.map(|_| "default".into()),
            state: if owner.is_some() { "held".into() } else { "waiting".into() },
            messages_in: 5,
            messages_out: 4,
            bytes_in: 36_180,
            bytes_out: 29_690,
            rdma_in: 13_555_393,
            rdma_out: 27_118_598_000,
            transfers: 2,
            sends: 0,
            untaken: 0,
        };
        Snapshot {
            version: "0.1.0".into(),
            owners_max: 256,
            connections_max: 256,
            memory: 16 << 20,
            memory_max: 4 << 30,
            owners: vec![owner(1, true), owner(2, false)],
            connections: vec![connection(7, Some(2)), connection(8, Some(2)), connection(9, None)],
        }
    }

    #[test]
    fn each_server_and_each_connection_is_a_line_of_its_table() {
        insta::assert_snapshot!(table(&snapshot(), Size::ANY));
    }

    #[test]
    fn on_a_terminal_long_lines_are_cut_and_those_without_room_are_counted() {
        insta::assert_snapshot!(table(&snapshot(), Size { columns: 40, rows: 10 }));
    }
}
