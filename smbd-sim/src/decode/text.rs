//! A report as text: a line for each item.

use std::fmt::{self, Display, Formatter};

use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest, NegotiateResponse};

use super::item::{
    Body, CmEvent, Connection, Direction, Endpoint, Identified, Item, ItemKind, Message, RdmaKind,
    RdmaOperation, Roles,
};
use super::report::Report;
use super::summary::{Counters, Summary, Totals};
use crate::capture::format::mpa::MpaFrame;

/// The whole report: connections, items, totals. A problem is not in it.
#[must_use]
pub fn report(report: &Report) -> impl Display {
    Whole(report)
}

/// The line of one item of `report`.
#[must_use]
pub fn item<'a>(item: &'a Item, report: &'a Report) -> impl Display + 'a {
    Line { item, start_ns: start(report) }
}

fn start(report: &Report) -> u64 {
    report.items.iter().map(|item| item.frames.first_ns).min().unwrap_or(0)
}

struct Whole<'a>(&'a Report);

impl Display for Whole<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for connection in &self.0.connections {
            self::connection(f, connection)?;
        }
        let start_ns = start(self.0);
        for item in &self.0.items {
            writeln!(f, "{}", Line { item, start_ns })?;
        }
        summary(f, &self.0.summary)
    }
}

struct End<'a>(&'a Endpoint);

impl Display for End<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.address)?;
        if let Some(port) = self.0.port {
            write!(f, " port {port}")?;
        }
        if let Some(qpn) = self.0.qpn {
            write!(f, " qp {qpn:#x}")?;
        }
        Ok(())
    }
}

fn connection(f: &mut Formatter<'_>, connection: &Connection) -> fmt::Result {
    let Connection { number, transport, initiator, acceptor, roles, from_start, smb_direct, .. } = connection;
    write!(f, "connection {number} {}: {} > {}", transport.name(), End(initiator), End(acceptor))?;
    if !from_start {
        f.write_str(", began before the capture: message types by shape")?;
    }
    match roles {
        Roles::Seen => {}
        Roles::FromContent => f.write_str(", roles by what was sent")?,
        Roles::Assumed => f.write_str(", roles assumed")?,
    }
    if !smb_direct {
        f.write_str(", no SMB Direct message")?;
    }
    writeln!(f)
}

struct Line<'a> {
    item: &'a Item,
    start_ns: u64,
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Item { number, frames, connection, direction, kind } = self.item;
        let elapsed = frames.last_ns.saturating_sub(self.start_ns);
        let arrow = match direction {
            Direction::ToAcceptor => "I>A",
            Direction::ToInitiator => "A>I",
        };
        write!(f, "{number:6} {:5}.{:09}", elapsed / 1_000_000_000, elapsed % 1_000_000_000)?;
        write!(f, " #{connection} {arrow} ")?;
        match kind {
            ItemKind::Message(message) => self::message(f, message)?,
            ItemKind::Rdma(operation) => rdma(f, operation)?,
            ItemKind::Cm(event) => cm(f, event)?,
            ItemKind::Mpa(event) => mpa(f, event)?,
            ItemKind::Terminate { control } => write!(f, "Terminate control={control:#06x}")?,
            ItemKind::Lost { count, unit } => write!(f, "({count} {unit} are not in the capture)")?,
        }
        write!(f, " frame={}", frames.first)?;
        if frames.last != frames.first {
            write!(f, "..{}", frames.last)?;
        }
        if frames.packets > 1 {
            write!(f, " packets={}", frames.packets)?;
        }
        Ok(())
    }
}

fn message(f: &mut Formatter<'_>, message: &Message) -> fmt::Result {
    match &message.body {
        Body::NegotiateRequest(fields) => negotiate_request(f, fields)?,
        Body::NegotiateResponse(fields) => negotiate_response(f, fields)?,
        Body::DataTransfer(fields) => data_transfer(f, fields)?,
        Body::Malformed(error) => write!(f, "Malformed: {error}")?,
    }
    write!(f, " len={}", message.len)?;
    if message.identified == Identified::ByShape {
        f.write_str(" (by shape)")?;
    }
    if message.solicited {
        f.write_str(" solicited")?;
    }
    if let Some(token) = message.invalidate {
        write!(f, " invalidate={:#010x}", token.0)?;
    }
    if let Some(fragment) = message.fragment {
        match fragment.index {
            0 => f.write_str(" fragment ?")?,
            index => write!(f, " fragment {index}")?,
        }
        write!(f, " at {} of {}", fragment.offset, fragment.total)?;
        if fragment.last {
            f.write_str(" (last)")?;
        }
    }
    if let Some(upper) = &message.upper {
        write!(f, " | {upper}")?;
    }
    message.remarks.iter().try_for_each(|remark| write!(f, " [{remark}]"))
}

fn negotiate_request(f: &mut Formatter<'_>, fields: &NegotiateRequest) -> fmt::Result {
    let NegotiateRequest {
        min_version,
        max_version,
        credits_requested,
        preferred_send_size,
        max_receive_size,
        max_fragmented_size,
    } = fields;
    write!(
        f,
        "Negotiate Request MinVersion={min_version:#06x} MaxVersion={max_version:#06x} \
         CreditsRequested={credits_requested} PreferredSendSize={preferred_send_size} \
         MaxReceiveSize={max_receive_size} MaxFragmentedSize={max_fragmented_size}"
    )
}

fn negotiate_response(f: &mut Formatter<'_>, fields: &NegotiateResponse) -> fmt::Result {
    let NegotiateResponse {
        min_version,
        max_version,
        negotiated_version,
        credits_requested,
        credits_granted,
        status,
        max_read_write_size,
        preferred_send_size,
        max_receive_size,
        max_fragmented_size,
    } = fields;
    write!(
        f,
        "Negotiate Response MinVersion={min_version:#06x} MaxVersion={max_version:#06x} \
         NegotiatedVersion={negotiated_version:#06x} CreditsRequested={credits_requested} \
         CreditsGranted={credits_granted} Status={status} MaxReadWriteSize={max_read_write_size} \
         PreferredSendSize={preferred_send_size} MaxReceiveSize={max_receive_size} \
         MaxFragmentedSize={max_fragmented_size}"
    )
}

fn data_transfer(f: &mut Formatter<'_>, fields: &DataTransfer) -> fmt::Result {
    let DataTransfer {
        credits_requested,
        credits_granted,
        flags,
        remaining_data_length,
        data_offset,
        data_length,
    } = fields;
    write!(
        f,
        "Data Transfer CreditsRequested={credits_requested} CreditsGranted={credits_granted} Flags={:#06x}",
        flags.0
    )?;
    if flags.contains(Flags::RESPONSE_REQUESTED) {
        f.write_str("(ResponseRequested)")?;
    }
    write!(
        f,
        " RemainingDataLength={remaining_data_length} DataOffset={data_offset} DataLength={data_length}"
    )
}

fn rdma(f: &mut Formatter<'_>, operation: &RdmaOperation) -> fmt::Result {
    f.write_str(match operation.kind {
        RdmaKind::ReadRequest => "RDMA Read request",
        RdmaKind::ReadResponse => "RDMA Read response",
        RdmaKind::Write => "RDMA Write",
    })?;
    match operation.token {
        Some(token) => write!(
            f,
            " token={:#010x} address={:#018x} length={}",
            token.0, operation.address, operation.length
        )?,
        None => f.write_str(" (request not seen)")?,
    }
    if operation.kind != RdmaKind::ReadRequest {
        write!(f, " bytes={}", operation.bytes)?;
    }
    if !operation.complete {
        f.write_str(" (incomplete)")?;
    }
    Ok(())
}

fn cm(f: &mut Formatter<'_>, event: &CmEvent) -> fmt::Result {
    write!(f, "CM {}", event.name)?;
    if let Some(qpn) = event.qpn {
        write!(f, " qp={qpn:#x}")?;
    }
    if let Some(port) = event.port {
        write!(f, " port={port}")?;
    }
    if let Some(reason) = event.reason {
        write!(f, " reason={reason}")?;
    }
    if let Some((answers, issues)) = event.read_depths {
        write!(f, " responder_resources={answers} initiator_depth={issues}")?;
    }
    private_data(f, event.private_len, &event.private_data)
}

fn mpa(f: &mut Formatter<'_>, event: &MpaFrame) -> fmt::Result {
    let kind = match (event.reply, event.rejected) {
        (false, _) => "request",
        (true, false) => "reply",
        (true, true) => "reject",
    };
    let on = |flag| if flag { "on" } else { "off" };
    write!(f, "MPA {kind} revision={} crc={} markers={}", event.revision, on(event.crc), on(event.markers))?;
    private_data(f, event.private_data.len(), &event.private_data)
}

fn private_data(f: &mut Formatter<'_>, len: usize, bytes: &[u8]) -> fmt::Result {
    write!(f, " private_data={len} bytes")?;
    if !bytes.is_empty() {
        f.write_str(" ")?;
        bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        if bytes.len() < len {
            f.write_str("..")?;
        }
    }
    Ok(())
}

fn summary(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    totals(f, "initiator to acceptor", &summary.to_acceptor)?;
    totals(f, "acceptor to initiator", &summary.to_initiator)?;
    let Counters {
        frames,
        retransmissions,
        acknowledgements,
        negative_acknowledgements,
        receiver_not_ready,
        bad_checksums,
        not_understood,
        cut_frames,
        broken_frames,
        foreign_messages,
        foreign_operations,
        foreign_frames,
        unknown_link_frames,
        unknown_link_type,
    } = &summary.counters;
    writeln!(
        f,
        "total: {} messages, {frames} frames, {retransmissions} retransmissions, {not_understood} packets not understood",
        summary.messages()
    )?;
    writeln!(
        f,
        "acknowledgements: {acknowledgements}, negative {negative_acknowledgements}, receiver not ready {receiver_not_ready}"
    )?;
    writeln!(
        f,
        "frames: {bad_checksums} with a wrong CRC, {cut_frames} cut by the capture, {broken_frames} broken, \
         {foreign_frames} of other protocols; {foreign_messages} messages and \
         {foreign_operations} RDMA operations of other protocols"
    )?;
    match unknown_link_type {
        None => Ok(()),
        Some(number) => writeln!(
            f,
            "not understood: {unknown_link_frames} frames of link type {number}; Ethernet, Linux cooked and raw IP can be read"
        ),
    }
}

fn totals(f: &mut Formatter<'_>, direction: &str, totals: &Totals) -> fmt::Result {
    let Totals {
        negotiate_requests,
        negotiate_responses,
        data_transfers,
        malformed,
        message_bytes,
        payload_bytes,
        credits_granted,
        read_requests,
        read_responses,
        read_bytes,
        writes,
        write_bytes,
    } = totals;
    write!(
        f,
        "{direction}: {} messages ({negotiate_requests} Negotiate Request, {negotiate_responses} Negotiate Response, \
         {data_transfers} Data Transfer",
        totals.messages()
    )?;
    if *malformed > 0 {
        write!(f, ", {malformed} malformed")?;
    }
    writeln!(
        f,
        "), {message_bytes} bytes with {payload_bytes} of payload, {credits_granted} credits granted; \
         {read_requests} RDMA Read requests, {read_responses} responses with {read_bytes} bytes, \
         {writes} RDMA Writes with {write_bytes} bytes"
    )
}

#[cfg(test)]
mod tests;
