//! Checks the examples against the expected messages, which follow from the options alone.

use smbd_core::wire::{DATA_OFFSET, NtStatus, PROTOCOL_VERSION};

use super::Options;
use super::record::{Data, Message, Seen, What};
use crate::Side;

/// Values compared, and those that were not as they should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checks {
    pub(super) count: u32,
    pub(super) wrong: Vec<String>,
    pub(super) remarks: Vec<String>,
}

impl Checks {
    pub(super) fn same<T: PartialEq + std::fmt::Display>(&mut self, what: &str, expected: T, got: T) {
        self.count += 1;
        if expected != got {
            self.wrong.push(format!("{what} is {got}, should be {expected}"));
        }
    }

    pub(super) fn holds(&mut self, what: &str, holds: bool) {
        self.count += 1;
        if !holds {
            self.wrong.push(format!("not so: {what}"));
        }
    }

    /// The parts of a message that are the same in all examples.
    fn constant(&mut self, data: &Data, credits: u16, reserved: u16) {
        let header = &data.header;
        self.same("CreditsRequested", credits, header.credits_requested);
        self.same("Flags", 0, header.flags.0);
        self.same("Reserved", 0, reserved);
        let offset = if header.data_length == 0 { 0 } else { DATA_OFFSET };
        self.same("DataOffset", offset, header.data_offset);
        if header.data_length > 0 {
            self.holds("Padding is 4 bytes of 0x00", data.padding == Some([0; 4]));
        }
    }

    /// An upper-layer message of `len` bytes from `from`, in as many fragments as it takes, nothing between them;
    /// before and behind it only messages that grant.
    pub(super) fn message(&mut self, seen: &[Seen], from: Side, options: &Options, len: u32) -> u32 {
        let payload = options.send_size - DATA_OFFSET;
        let mut left = len;
        let mut fragments = 0;
        for (data, reserved) in data_of(seen, from) {
            self.constant(data, options.credits, reserved);
            if data.header.data_length == 0 && (left == len || left == 0) {
                self.holds("a message without data grants credits", data.header.credits_granted > 0);
                continue;
            }
            let expected = left.min(payload);
            left -= expected;
            fragments += 1;
            self.same("DataLength", expected, data.header.data_length);
            self.same("RemainingDataLength", left, data.header.remaining_data_length);
            self.same("bytes of Buffer", expected as usize, data.payload.len());
        }
        self.same("fragments", len.div_ceil(payload), fragments);
        fragments
    }

    /// Messages of `from` that only grant credits.
    pub(super) fn grants_only(&mut self, seen: &[Seen], from: Side, options: &Options) {
        for (data, reserved) in data_of(seen, from) {
            self.constant(data, options.credits, reserved);
            self.same("DataLength of a message that only grants", 0, data.header.data_length);
            self.holds("a message without data grants credits", data.header.credits_granted > 0);
        }
    }

    pub(super) fn negotiation(&mut self, seen: &[Seen], options: &Options) {
        let messages: Vec<_> = seen.iter().filter_map(message).collect();
        let [(request, r1), (response, r2), ..] = messages.as_slice() else {
            return self.holds("a request and a response crossed the wire", false);
        };
        self.same("Reserved", 0, *r1);
        self.same("Reserved", 0, *r2);
        let (credits, size) = (options.credits, options.send_size);
        if let Message::Request(m) = request {
            self.same("MinVersion", PROTOCOL_VERSION, m.min_version);
            self.same("MaxVersion", PROTOCOL_VERSION, m.max_version);
            self.same("CreditsRequested", credits, m.credits_requested);
            self.same("PreferredSendSize", size, m.preferred_send_size);
            self.same("MaxReceiveSize", size, m.max_receive_size);
            self.same("MaxFragmentedSize", 0x0002_0000, m.max_fragmented_size);
        } else {
            self.holds("the first message is a Negotiate Request", false);
        }
        if let Message::Response(m) = response {
            self.same("MinVersion", PROTOCOL_VERSION, m.min_version);
            self.same("MaxVersion", PROTOCOL_VERSION, m.max_version);
            self.same("NegotiatedVersion", PROTOCOL_VERSION, m.negotiated_version);
            self.same("CreditsRequested", credits, m.credits_requested);
            self.same("CreditsGranted", credits, m.credits_granted);
            self.same("Status", NtStatus(0), m.status);
            self.same("MaxReadWriteSize", 0x0010_0000, m.max_read_write_size);
            self.same("PreferredSendSize", size, m.preferred_send_size);
            self.same("MaxReceiveSize", size, m.max_receive_size);
            self.same("MaxFragmentedSize", 0x0002_0000, m.max_fragmented_size);
        } else {
            self.holds("the second message is a Negotiate Response", false);
        }
    }

    /// Says where grants differ from the 1 of the text, and why.
    pub(super) fn explain_grants(&mut self, seen: &[Seen]) {
        let differ = |why: fn(&Data) -> bool| {
            let all = seen.iter().filter_map(message);
            let data = all.filter_map(|(m, _)| if let Message::Data(d) = m { Some(d) } else { None });
            data.filter(|d| d.header.data_length > 0 && d.header.credits_granted != 1 && why(d)).count()
        };
        let none = differ(|d| d.header.credits_granted == 0);
        let last = seen.iter().filter_map(message).filter(|(m, _)| {
            matches!(m, Message::Data(d) if d.last_credit && d.received_since == 0 && d.header.credits_granted == 1)
        });
        let last = last.count();
        let more = differ(|d| d.header.credits_granted > 1);
        if none > 0 {
            self.remarks.push(format!(
                "CreditsGranted is 0 in {none} messages where the text has 1: their sender had received nothing since its last \
                 grant, so there was no credit to replace (3.1.5.9)"
            ));
        }
        if last > 0 {
            self.remarks.push(format!(
                "{last} messages spend the last credit of their sender, which may be done only with a grant: one receive beyond the \
                 window is posted for it (3.1.5.9)"
            ));
        }
        if more > 0 {
            self.remarks.push(format!(
                "CreditsGranted is above 1 in {more} messages: each replaces all credits used since the last grant at once (3.1.5.9)"
            ));
        }
    }
}

pub(super) fn message(seen: &Seen) -> Option<(&Message, u16)> {
    match &seen.what {
        What::Message { message, reserved, .. } => Some((message, *reserved)),
        What::ReadRequest(_)
        | What::ReadData { .. }
        | What::Write { .. }
        | What::Note(_)
        | What::Waits(_) => None,
    }
}

/// Data Transfer messages of one side, with their Reserved field.
pub(super) fn data_of(seen: &[Seen], from: Side) -> impl Iterator<Item = (&Data, u16)> {
    seen.iter().filter(move |s| s.side == from).filter_map(message).filter_map(|(m, reserved)| match m {
        Message::Data(data) => Some((data, reserved)),
        Message::Request(_) | Message::Response(_) | Message::Unreadable => None,
    })
}
