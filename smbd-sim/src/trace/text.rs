//! The text of a trace.

use std::fmt::Write as _;

use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest, NegotiateResponse};
use smbd_core::{Access, Action, Event, Head, Input, RdmaVerb};

use crate::probe::Command;

/// What one side has said and heard, as far as it is needed to read heads.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    sent: u64,
    received: u64,
}

const fn verb_name(verb: RdmaVerb) -> &'static str {
    match verb {
        RdmaVerb::Read => "read",
        RdmaVerb::Write => "write",
    }
}

const fn access_name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "read+write",
    }
}

/// The fields of a message. The first of each side is a negotiation message.
fn head(line: &mut String, head: &Head, first: bool) {
    let bytes = head.as_bytes();
    let _ = if first && bytes.len() >= NegotiateResponse::LEN {
        match NegotiateResponse::parse(bytes) {
            Ok(r) => write!(
                line,
                "Negotiate Response requested={} granted={} status=0x{:08x} read_write={} send={} receive={} fragmented={}",
                r.credits_requested,
                r.credits_granted,
                r.status.0,
                r.max_read_write_size,
                r.preferred_send_size,
                r.max_receive_size,
                r.max_fragmented_size
            ),
            Err(_) => write!(line, "{head:?}"),
        }
    } else if first {
        match NegotiateRequest::parse(bytes) {
            Ok(r) => write!(
                line,
                "Negotiate Request requested={} send={} receive={} fragmented={}",
                r.credits_requested, r.preferred_send_size, r.max_receive_size, r.max_fragmented_size
            ),
            Err(_) => write!(line, "{head:?}"),
        }
    } else {
        match DataTransfer::parse(bytes) {
            Ok(d) => {
                let flag =
                    if d.flags.0 & Flags::RESPONSE_REQUESTED.0 == 0 { "" } else { " response_requested" };
                write!(
                    line,
                    "requested={} granted={} remaining={} data={}{flag}",
                    d.credits_requested, d.credits_granted, d.remaining_data_length, d.data_length
                )
            }
            Err(_) => write!(line, "{head:?}"),
        }
    };
}

impl Words {
    pub(super) fn input(&mut self, line: &mut String, input: &Input<'_>) {
        let _ = match input {
            Input::Connected { limits } => write!(
                line,
                "Connected reads={} send_queue={} rdma_len_max={} windows={} invalidate={}",
                limits.read_depth,
                limits.send_queue,
                limits.rdma_len_max,
                limits.registration_requests,
                limits.send_with_invalidate
            ),
            Input::ConnectFailed { reason } => write!(line, "ConnectFailed {reason}"),
            Input::Disconnected { reason } => write!(line, "Disconnected {reason}"),
            Input::Timeout => write!(line, "Timeout"),
            Input::Received { id, head: bytes, len, invalidated } => {
                let _ = write!(line, "Received {id:?} {len} B ");
                head(line, bytes, self.received == 0);
                self.received += 1;
                match invalidated {
                    Some(token) => write!(line, " invalidated={token}"),
                    None => Ok(()),
                }
            }
            Input::Sent { id } => write!(line, "Sent {id:?}"),
            Input::RdmaDone { id } => write!(line, "RdmaDone {id:?}"),
            Input::Registered { id, segments, bind_complete } => {
                let _ = write!(line, "Registered {id:?}");
                for s in *segments {
                    let _ = write!(line, " {}@0x{:x}+{}", s.token, s.offset, s.length);
                }
                write!(line, "{}", if *bind_complete { "" } else { " binding" })
            }
            Input::BindComplete { id } => write!(line, "BindComplete {id:?}"),
            Input::Deregistered { id } => write!(line, "Deregistered {id:?}"),
            Input::Failed { id, error } => write!(line, "Failed {id}: {error}"),
        };
    }

    pub(super) fn action(&mut self, line: &mut String, action: &Action) {
        let _ = match action {
            Action::Connect => write!(line, "Connect"),
            Action::Accept => write!(line, "Accept"),
            Action::Disconnect => write!(line, "Disconnect"),
            Action::PostRecv { id, len } => write!(line, "PostRecv {id:?} {len} B"),
            Action::PostSend { id, head: bytes, body, invalidate, signal, solicit } => {
                let _ = write!(line, "PostSend {id:?} ");
                head(line, bytes, self.sent == 0);
                self.sent += 1;
                if let Some(b) = body {
                    let _ = write!(line, " {:?}[{}..+{}]", b.msg, b.offset, b.len);
                }
                if let Some(token) = invalidate {
                    let _ = write!(line, " invalidate={token}");
                }
                let (signal, solicit) = (signal_name(*signal), if *solicit { " solicit" } else { "" });
                write!(line, "{signal}{solicit}")
            }
            Action::PostRdma { id, op, verb, local_offset, remote, signal } => write!(
                line,
                "PostRdma {id:?} {op:?} {} [{local_offset}..+{}] {}@0x{:x}{}",
                verb_name(*verb),
                remote.length,
                remote.token,
                remote.offset,
                signal_name(*signal)
            ),
            Action::Register { id, access, segments_max } => {
                write!(line, "Register {id:?} {} {segments_max} segments", access_name(*access))
            }
            Action::Deregister { id } => write!(line, "Deregister {id:?}"),
            Action::Notify(event) => {
                self::event(line, event);
                Ok(())
            }
            Action::Wait(deadline) => write!(line, "Wait {deadline:?}"),
        };
    }

    pub(super) fn command(&mut self, line: &mut String, command: &Command<'_>) {
        match command {
            Command::Send { range, invalidate, unsignalled, result } => {
                let name = if *unsignalled { "send unsignalled" } else { "send" };
                let _ = write!(line, "> {name} {} B", range.len);
                if let Some(token) = invalidate {
                    let _ = write!(line, " invalidate={token}");
                }
                outcome(line, result.as_ref().map(|id| format!("{id:?}")));
            }
            Command::Rdma { verb, local, remote, offset, unsignalled, result } => {
                let (name, count) = (verb_name(*verb), remote.len());
                let how = if *unsignalled { " unsignalled" } else { "" };
                let _ = write!(line, "> rdma{how} {name} {} B at {offset} of {count} descriptors", local.len);
                outcome(line, result.as_ref().map(|id| format!("{id:?}")));
            }
            Command::Register { access, range, result, .. } => {
                let _ = write!(line, "> register {} {} B", access_name(*access), range.len);
                outcome(line, result.as_ref().map(|id| format!("{id:?}")));
            }
            Command::Deregister { id, result } => {
                let _ = write!(line, "> deregister {id:?}");
                outcome(line, result.as_ref().map(|()| String::new()));
            }
            Command::Release { fragment } => {
                let _ = write!(line, "> release {:?}", fragment.recv());
            }
            Command::Probe { result } => {
                line.push_str("> probe");
                outcome(line, result.as_ref().map(|()| String::new()));
            }
            Command::Close(how) => {
                let _ = write!(line, "> close {how:?}");
            }
        }
    }
}

const fn signal_name(signal: bool) -> &'static str {
    if signal { " signal" } else { "" }
}

fn outcome(line: &mut String, result: Result<String, impl std::fmt::Display>) {
    let _ = match result {
        Ok(name) if name.is_empty() => Ok(()),
        Ok(name) => write!(line, " = {name}"),
        Err(error) => write!(line, " REFUSED: {error}"),
    };
}

pub(super) fn event(line: &mut String, event: &Event) {
    let _ = match event {
        Event::Established(n) => write!(
            line,
            "Established send={} receive={} fragmented={}/{} read_write={}",
            n.max_send_size,
            n.max_receive_size,
            n.max_fragmented_send_size,
            n.max_fragmented_recv_size,
            n.max_read_write_size
        ),
        Event::ConnectFailed(error) => write!(line, "ConnectFailed: {error}"),
        Event::Data(f) => {
            write!(line, "Data {:?} {} B, {} to come", f.recv(), f.len(), f.remaining())
        }
        Event::Invalidated { id, token } => write!(line, "Invalidated {id:?} {token}"),
        Event::Sent { msg, result } => ended(line, format_args!("Sent {msg:?}"), result.as_ref()),
        Event::RdmaDone { op, result } => ended(line, format_args!("RdmaDone {op:?}"), result.as_ref()),
        Event::Registered { id, result } => ended(line, format_args!("Registered {id:?}"), result.as_ref()),
        Event::Deregistered { id, result } => {
            ended(line, format_args!("Deregistered {id:?}"), result.as_ref())
        }
        Event::Probed(Ok(time)) => write!(line, "Probed {time:?}"),
        Event::Probed(Err(error)) => write!(line, "Probed: {error}"),
        Event::Writable => write!(line, "Writable"),
        Event::Closed(reason) => write!(line, "Closed: {reason}"),
        Event::Drained => write!(line, "Drained"),
    };
}

fn ended(
    line: &mut String,
    what: std::fmt::Arguments<'_>,
    result: Result<&(), impl std::fmt::Display>,
) -> std::fmt::Result {
    match result {
        Ok(()) => line.write_fmt(what),
        Err(error) => write!(line, "{what}: {error}"),
    }
}
