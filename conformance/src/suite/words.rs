//! Values in words, as findings have them.

use std::fmt::Display;
use std::time::Duration;

use smbd_core::error::WorkError;
use smbd_core::{Access, BufferDescriptorV1, Negotiated, Outstanding, RdmaVerb};
use smbd_tools::exercise::Answer;

use super::rig::Told;
use super::seen::{Message, Seen};
use super::trace::{Kind, Packet, hex};

/// Items of a list that are named; more are counted.
const NAMED_MAX: usize = 6;
/// Bytes of a text that are shown.
const BYTES_SHOWN: usize = 32;

/// Something that can be said in a sentence.
pub(super) trait Words {
    /// As part of a sentence.
    fn words(&self) -> String;
}

impl<T: Words> Words for Option<T> {
    fn words(&self) -> String {
        self.as_ref().map_or_else(|| "nothing".into(), Words::words)
    }
}

impl<T: Words> Words for [T] {
    fn words(&self) -> String {
        let mut all: Vec<_> = self.iter().take(NAMED_MAX).map(Words::words).collect();
        if self.len() > NAMED_MAX {
            all.push(format!("{} more", self.len() - NAMED_MAX));
        }
        if all.is_empty() { "nothing".into() } else { all.join("; ") }
    }
}

impl<T: Words> Words for Vec<T> {
    fn words(&self) -> String {
        self.as_slice().words()
    }
}

/// How something ended: `done`, or the error.
pub(super) fn result<T, E: Display>(result: &Result<T, E>) -> String {
    result.as_ref().map_or_else(ToString::to_string, |_| "done".into())
}

/// Numbers, with commas between.
pub(super) fn numbers(all: impl IntoIterator<Item = impl Display>) -> String {
    let all: Vec<_> = all.into_iter().map(|number| number.to_string()).collect();
    if all.is_empty() { "none".into() } else { all.join(", ") }
}

/// A number, if there is one.
pub(super) fn number(number: Option<impl Display>) -> String {
    number.map_or_else(|| "nothing".into(), |number| number.to_string())
}

impl Words for Duration {
    /// In the unit that suits it, with three digits at most behind the point.
    fn words(&self) -> String {
        let (number, unit) = match self.as_nanos() {
            0 => return "0 s".into(),
            1..1_000_000 => (self.as_secs_f64() * 1e6, "µs"),
            1_000_000..1_000_000_000 => (self.as_secs_f64() * 1e3, "ms"),
            _ => (self.as_secs_f64(), "s"),
        };
        let digits = format!("{number:.3}");
        format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Words for Message {
    fn words(&self) -> String {
        let shown = &self.bytes[..self.bytes.len().min(BYTES_SHOWN)];
        let more = if shown.len() < self.bytes.len() { " ..." } else { "" };
        format!("a message of {} bytes: {}{more}", self.bytes.len(), hex(shown))
    }
}

impl Words for Seen {
    fn words(&self) -> String {
        let token = self.message.invalidated.map(|token| token.0);
        Packet::of(Kind::DataTransfer, &self.message.bytes, token).to_string()
    }
}

impl Words for WorkError {
    fn words(&self) -> String {
        self.to_string()
    }
}

impl Words for (smbd_core::WrId, WorkError) {
    fn words(&self) -> String {
        format!("{}: {}", self.0, self.1)
    }
}

impl Words for Negotiated {
    fn words(&self) -> String {
        let keepalive = self.keepalive_interval.map_or_else(|| "none".into(), |interval| interval.words());
        format!(
            "version 0x{:04X}, MaxSendSize {}, MaxReceiveSize {}, MaxFragmentedSendSize {}, MaxFragmentedRecvSize {}, \
             MaxReadWriteSize {}, KeepaliveInterval {keepalive}",
            self.protocol,
            self.max_send_size,
            self.max_receive_size,
            self.max_fragmented_send_size,
            self.max_fragmented_recv_size,
            self.max_read_write_size,
        )
    }
}

impl Words for Outstanding {
    fn words(&self) -> String {
        let Self { recvs, sends, rdma, registrations, borrowed, .. } = self;
        format!(
            "{recvs} receives, {sends} sends, {rdma} RDMA requests, {registrations} registrations, {borrowed} fragments held"
        )
    }
}

impl Words for Told {
    fn words(&self) -> String {
        match self {
            Self::Established(negotiated) => format!("established with {}", negotiated.words()),
            Self::ConnectFailed(error) => format!("not connected: {error}"),
            Self::Message(bytes) => format!("a message of {} bytes", bytes.len()),
            Self::Invalidated(_, token) => format!("token {token} invalidated"),
            Self::Sent(message, ended) => format!("message {}: {}", message.sequence(), result(ended)),
            Self::RdmaDone(_, ended) => format!("RDMA operation: {}", result(ended)),
            Self::Registered(_, ended) => format!("registration: {}", result(ended)),
            Self::Deregistered(_, ended) => format!("deregistration: {}", result(ended)),
            Self::Probed(Ok(time)) => format!("probe answered after {}", time.words()),
            Self::Probed(Err(error)) => format!("probe: {error}"),
            Self::Writable => "room to send".into(),
            Self::Closed(reason) => format!("closed: {reason}"),
            Self::Drained => "drained".into(),
        }
    }
}

impl Words for BufferDescriptorV1 {
    fn words(&self) -> String {
        let Self { offset, token, length } = self;
        format!("{length} bytes at {token} + 0x{offset:x}")
    }
}

impl Words for Answer {
    fn words(&self) -> String {
        match self {
            Self::Hello(_) => "its limits".into(),
            Self::Done => "done".into(),
            Self::Report(report) => format!("counts of {} messages", report.messages),
            Self::Offered { descriptors, .. } => format!("an offer: {}", descriptors.words()),
            Self::Hash(hash) => format!("hash 0x{hash:016x}"),
            Self::Failed(failure) => format!("a refusal: {failure}"),
        }
    }
}

/// `RDMA Read`, as the side that asks for it has it.
pub(super) const fn verb(verb: RdmaVerb) -> &'static str {
    match verb {
        RdmaVerb::Read => "RDMA Read",
        RdmaVerb::Write => "RDMA Write",
    }
}

/// What memory is registered for.
pub(super) const fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "reading",
        Access::Write => "writing",
        Access::ReadWrite => "reading and writing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smbd_core::error::{CloseReason, DisconnectReason};

    #[test]
    fn times_are_in_the_unit_that_suits_them() {
        let said = |nanos| Duration::from_nanos(nanos).words();
        assert_eq!([said(0), said(35_000), said(1_500_000)], ["0 s", "35 µs", "1.5 ms"]);
        assert_eq!(
            [said(12_000_000_000), said(102_345_000), said(120_000_100_000)],
            ["12 s", "102.345 ms", "120 s"]
        );
    }

    #[test]
    fn long_lists_are_cut_and_empty_ones_say_so() {
        let error = WorkError::Flushed;
        assert_eq!(vec![error; 8].words(), format!("{}; 2 more", ["flushed"; 6].join("; ")));
        assert_eq!(Vec::<WorkError>::new().words(), "nothing");
        assert_eq!((numbers([1, 2]), numbers([0; 0])), ("1, 2".into(), "none".into()));
    }

    #[test]
    fn what_an_upper_layer_was_told_is_said_as_a_person_would() {
        let lost = CloseReason::Lost { reason: DisconnectReason::Unreachable };
        assert_eq!(Told::Closed(lost).words(), format!("closed: {lost}"));
        assert_eq!(None::<Told>.words(), "nothing");
    }
}
