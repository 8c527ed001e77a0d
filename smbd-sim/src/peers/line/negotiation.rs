//! The negotiation (3.1.5.2, 3.1.5.3, 3.1.5.6, 3.1.5.7), without its credits.

use smbd_core::wire::{NegotiateRequest, NegotiateResponse, NtStatus};

use super::{Line, NEGOTIATION_RECEIVE, Order, Phase};
use crate::Side;

const VERSION: u16 = 0x0100;
/// Least MaxReceiveSize (3.1.5.6, 3.1.5.7).
const RECEIVE_MIN: u32 = 128;
/// Least MaxFragmentedSize (3.1.5.6, 3.1.5.7).
const FRAGMENTED_MIN: u32 = 131_072;
/// What the acceptor says of RDMA, of which there is none here.
const MAX_READ_WRITE: u32 = 1 << 20;

impl Line {
    /// 3.1.4.1, 3.1.7.2: the receive first (NE-14).
    pub(in crate::peers) fn start(&mut self) {
        self.post_receive(NEGOTIATION_RECEIVE);
        self.orders.push_back(if self.side == Side::Initiator { Order::Connect } else { Order::Accept });
    }

    /// The transport connection is up. 3.1.5.2.
    pub(in crate::peers) fn on_connected(&mut self) {
        if self.side == Side::Acceptor || self.phase != Phase::Negotiating {
            return;
        }
        let request = NegotiateRequest {
            min_version: VERSION,
            max_version: VERSION,
            credits_requested: self.params.send_credit_target,
            preferred_send_size: self.params.max_send_size,
            max_receive_size: self.params.max_receive_size,
            max_fragmented_size: self.params.max_fragmented_recv_size,
        };
        let mut bytes = vec![0; NegotiateRequest::LEN];
        if request.encode(&mut bytes).is_ok() {
            self.orders.push_back(Order::Send(bytes));
        }
    }

    /// 3.1.5.6. The peer's CreditsRequested.
    pub(in crate::peers) fn on_request(&mut self, message: &[u8]) -> Option<u16> {
        let Ok(request) = NegotiateRequest::parse(message) else {
            self.end("it got a Negotiate Request of less than 20 bytes");
            return None;
        };
        let version = (request.min_version..=request.max_version).contains(&VERSION);
        let sizes = request.max_receive_size >= RECEIVE_MIN && request.max_fragmented_size >= FRAGMENTED_MIN;
        if !version || !sizes || request.credits_requested == 0 {
            self.end("it refused the Negotiate Request");
            return None;
        }
        self.settle(request.preferred_send_size, request.max_receive_size);
        Some(request.credits_requested)
    }

    /// 3.1.5.3, with Status 0.
    pub(in crate::peers) fn send_response(&mut self, credits_granted: u32) {
        let response = NegotiateResponse {
            min_version: VERSION,
            max_version: VERSION,
            negotiated_version: VERSION,
            credits_requested: self.params.send_credit_target,
            credits_granted: u16::try_from(credits_granted).unwrap_or(u16::MAX),
            status: NtStatus(0),
            max_read_write_size: MAX_READ_WRITE,
            preferred_send_size: self.sizes.max_send_size,
            max_receive_size: self.sizes.max_receive_size,
            max_fragmented_size: self.params.max_fragmented_recv_size,
        };
        let mut bytes = vec![0; NegotiateResponse::LEN];
        if response.encode(&mut bytes).is_ok() {
            self.orders.push_back(Order::Send(bytes));
        }
    }

    /// 3.1.5.7. The peer's CreditsRequested and CreditsGranted.
    pub(in crate::peers) fn on_response(&mut self, message: &[u8]) -> Option<(u16, u16)> {
        let Ok(response) = NegotiateResponse::parse(message) else {
            self.end("it got a Negotiate Response of less than 32 bytes");
            return None;
        };
        let credits = response.credits_granted > 0 && response.credits_requested > 0;
        let sizes = response.max_receive_size >= RECEIVE_MIN
            && response.max_fragmented_size >= FRAGMENTED_MIN
            && response.preferred_send_size <= self.params.max_receive_size;
        if response.negotiated_version != VERSION || response.status != NtStatus(0) || !credits || !sizes {
            self.end("it refused the Negotiate Response");
            return None;
        }
        self.settle(response.preferred_send_size, response.max_receive_size);
        Some((response.credits_requested, response.credits_granted))
    }

    fn settle(&mut self, preferred: u32, receive: u32) {
        self.sizes.max_receive_size = self.params.max_receive_size.min(preferred).max(RECEIVE_MIN);
        self.sizes.max_send_size = self.params.max_send_size.min(receive);
    }
}
