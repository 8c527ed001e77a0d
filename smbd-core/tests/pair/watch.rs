//! What may be sent, worked out from the bytes on the wire alone.

use smbd_core::wire::{DataTransfer, NegotiateRequest, NegotiateResponse};
use smbd_core::{Params, Role};

pub struct Watch {
    role: Role,
    credits_requested: u16,
    /// Longest message the peer takes.
    send_max: u32,
    sent_first: bool,
    received_first: bool,
    /// Credits from the peer, and messages that used them.
    got: i64,
    used: i64,
    /// Credits for the peer, and its messages that used them.
    given: i64,
    taken: i64,
    /// Bytes missing of the message being sent.
    open: u32,
}

impl Watch {
    pub fn new(role: Role, params: &Params) -> Self {
        Self {
            role,
            credits_requested: params.send_credit_target,
            send_max: params.max_send_size,
            sent_first: false,
            received_first: false,
            got: 0,
            used: 0,
            given: 0,
            taken: 0,
            open: 0,
        }
    }

    pub fn credits(&self) -> i64 {
        self.got - self.used
    }

    pub fn peer_holds(&self) -> i64 {
        self.given - self.taken
    }

    pub fn on_received(&mut self, bytes: &[u8]) {
        if !std::mem::replace(&mut self.received_first, true) {
            match self.role {
                Role::Initiator => {
                    if let Ok(response) = NegotiateResponse::parse(bytes) {
                        self.got = i64::from(response.credits_granted);
                        self.send_max = self.send_max.min(response.max_receive_size);
                    }
                }
                Role::Acceptor => {
                    if let Ok(request) = NegotiateRequest::parse(bytes) {
                        self.send_max = self.send_max.min(request.max_receive_size);
                    }
                }
            }
        } else if let Ok(header) = DataTransfer::parse(bytes) {
            self.got += i64::from(header.credits_granted);
            self.taken += 1;
        }
    }

    pub fn on_sent(&mut self, bytes: &[u8], len: u32, posted: usize) {
        if !std::mem::replace(&mut self.sent_first, true) {
            if self.role == Role::Acceptor {
                self.given = i64::from(NegotiateResponse::parse(bytes).unwrap().credits_granted);
                self.check_grants(posted);
            }
            return;
        }
        let header = DataTransfer::parse(bytes).unwrap();
        assert!(self.credits() > 0, "law 4: sent without a credit");
        self.used += 1;
        if self.credits() == 0 {
            assert!(
                header.credits_granted > 0,
                "law 4: the last credit was spent on a message that grants nothing"
            );
        }
        self.given += i64::from(header.credits_granted);
        self.check_grants(posted);
        self.check_form(&header, bytes, len);
    }

    fn check_grants(&self, posted: usize) {
        let posted = i64::try_from(posted).unwrap();
        assert!(self.peer_holds() <= posted, "law 3: {} granted, {posted} posted", self.peer_holds());
    }

    /// 2.2.3 and 3.1.5.4.
    fn check_form(&mut self, header: &DataTransfer, bytes: &[u8], len: u32) {
        assert!(len <= self.send_max, "{len} bytes are more than {}", self.send_max);
        assert_eq!(header.credits_requested, self.credits_requested);
        assert_eq!(header.flags.unknown(), 0);
        assert_eq!(bytes[6..8], [0; 2], "Reserved");
        if header.data_length == 0 {
            assert_eq!(self.open, 0, "an empty message inside a sequence");
            assert_eq!((header.data_offset, header.remaining_data_length, len, bytes.len()), (0, 0, 20, 20));
            return;
        }
        assert_eq!((header.data_offset, len, bytes.len()), (24, 24 + header.data_length, 24));
        assert_eq!(bytes[20..24], [0; 4], "Padding");
        if self.open > 0 {
            assert_eq!(
                header.data_length + header.remaining_data_length,
                self.open,
                "another message in between"
            );
        }
        self.open = header.remaining_data_length;
    }
}
