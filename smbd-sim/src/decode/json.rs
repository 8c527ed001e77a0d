//! A report as JSON lines. Field names are stable: new ones may join, none changes its meaning.
//!
//! Each line is an object with `type`: `connection`, `message`, `rdma`, `cm`, `mpa`, `terminate`, `lost`, last
//! `summary`, and, when the file could not be read to its end, `problem`.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::item::{Body, Connection, Endpoint, Fragment, Identified, Item, ItemKind, Message, RdmaOperation};
use super::report::Report;
use super::summary::{Summary, Totals};

/// Writes all lines.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let connections = report.connections.iter().map(connection);
    let items = report.items.iter().map(item);
    for value in connections.chain(items) {
        writeln!(out, "{value}")?;
    }
    writeln!(out, "{}", summary(&report.summary))?;
    if let Some(problem) = &report.problem {
        writeln!(out, "{}", json!({ "type": "problem", "text": problem.to_string() }))?;
    }
    Ok(())
}

fn end(end: &Endpoint) -> Value {
    json!({ "address": end.address.to_string(), "port": end.port, "qpn": end.qpn })
}

fn connection(connection: &Connection) -> Value {
    json!({
        "type": "connection",
        "connection": connection.number,
        "transport": connection.transport.name(),
        "initiator": end(&connection.initiator),
        "acceptor": end(&connection.acceptor),
        "roles": connection.roles.name(),
        "from_start": connection.from_start,
        "smb_direct": connection.smb_direct,
    })
}

/// The object of one item.
#[must_use]
pub fn item(item: &Item) -> Value {
    let mut object = Map::new();
    let kind = match &item.kind {
        ItemKind::Message(_) => "message",
        ItemKind::Rdma(_) => "rdma",
        ItemKind::Cm(_) => "cm",
        ItemKind::Mpa(_) => "mpa",
        ItemKind::Terminate { .. } => "terminate",
        ItemKind::Lost { .. } => "lost",
    };
    object.insert("type".into(), kind.into());
    object.insert("number".into(), item.number.into());
    object.insert("connection".into(), item.connection.into());
    object.insert("direction".into(), item.direction.name().into());
    object.insert("frame".into(), item.frames.first.into());
    object.insert("last_frame".into(), item.frames.last.into());
    object.insert("packets".into(), item.frames.packets.into());
    object.insert("time_ns".into(), item.frames.last_ns.into());
    let own = match &item.kind {
        ItemKind::Message(message) => self::message(message),
        ItemKind::Rdma(operation) => rdma(operation),
        ItemKind::Cm(event) => json!({
            "name": event.name,
            "qpn": event.qpn,
            "port": event.port,
            "reason": event.reason,
            "responder_resources": event.read_depths.map(|(answers, _)| answers),
            "initiator_depth": event.read_depths.map(|(_, issues)| issues),
            "private_data_length": event.private_len,
            "private_data": hex(&event.private_data),
        }),
        ItemKind::Mpa(event) => json!({
            "reply": event.reply,
            "rejected": event.rejected,
            "revision": event.revision,
            "crc": event.crc,
            "markers": event.markers,
            "private_data_length": event.private_data.len(),
            "private_data": hex(&event.private_data),
        }),
        ItemKind::Terminate { control } => json!({ "control": control }),
        ItemKind::Lost { count, unit } => json!({ "count": count, "unit": unit }),
    };
    if let Value::Object(own) = own {
        object.extend(own);
    }
    Value::Object(object)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fragment(fragment: Fragment) -> Value {
    json!({
        "index": (fragment.index > 0).then_some(fragment.index),
        "offset": fragment.offset,
        "total": fragment.total,
        "last": fragment.last,
    })
}

fn message(message: &Message) -> Value {
    json!({
        "message": message.body.name(),
        "fields": fields(&message.body),
        "identified": match message.identified {
            Identified::ByPlace => "by_place",
            Identified::ByShape => "by_shape",
        },
        "ordinal": message.ordinal,
        "length": message.len,
        "digest": format!("{:016x}", message.digest),
        "invalidate": message.invalidate.map(|token| token.0),
        "solicited": message.solicited,
        "fragment": message.fragment.map(fragment),
        "upper": message.upper,
        "remarks": message.remarks,
    })
}

fn fields(body: &Body) -> Value {
    match body {
        Body::NegotiateRequest(m) => json!({
            "min_version": m.min_version,
            "max_version": m.max_version,
            "credits_requested": m.credits_requested,
            "preferred_send_size": m.preferred_send_size,
            "max_receive_size": m.max_receive_size,
            "max_fragmented_size": m.max_fragmented_size,
        }),
        Body::NegotiateResponse(m) => json!({
            "min_version": m.min_version,
            "max_version": m.max_version,
            "negotiated_version": m.negotiated_version,
            "credits_requested": m.credits_requested,
            "credits_granted": m.credits_granted,
            "status": m.status.0,
            "max_read_write_size": m.max_read_write_size,
            "preferred_send_size": m.preferred_send_size,
            "max_receive_size": m.max_receive_size,
            "max_fragmented_size": m.max_fragmented_size,
        }),
        Body::DataTransfer(m) => json!({
            "credits_requested": m.credits_requested,
            "credits_granted": m.credits_granted,
            "flags": m.flags.0,
            "remaining_data_length": m.remaining_data_length,
            "data_offset": m.data_offset,
            "data_length": m.data_length,
        }),
        Body::Malformed(error) => json!({ "error": error.to_string() }),
    }
}

fn rdma(operation: &RdmaOperation) -> Value {
    json!({
        "operation": operation.kind.name(),
        "token": operation.token.map(|token| token.0),
        "address": operation.address,
        "length": operation.length,
        "bytes": operation.bytes,
        "complete": operation.complete,
    })
}

fn totals(totals: &Totals) -> Value {
    let mut value = json!(totals);
    value["messages"] = totals.messages().into();
    value
}

fn summary(summary: &Summary) -> Value {
    let mut value = json!(summary.counters);
    value["type"] = "summary".into();
    value["messages"] = summary.messages().into();
    value["to_acceptor"] = totals(&summary.to_acceptor);
    value["to_initiator"] = totals(&summary.to_initiator);
    value
}
