//! Messages of a peer played by hand.

use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest, NegotiateResponse, status};

/// A request nobody objects to.
pub const REQUEST: NegotiateRequest = NegotiateRequest {
    min_version: 0x0100,
    max_version: 0x0100,
    credits_requested: 10,
    preferred_send_size: 1024,
    max_receive_size: 1024,
    max_fragmented_size: 131_072,
};

/// A response nobody objects to.
pub const RESPONSE: NegotiateResponse = NegotiateResponse {
    min_version: 0x0100,
    max_version: 0x0100,
    negotiated_version: 0x0100,
    credits_requested: 10,
    credits_granted: 10,
    status: status::SUCCESS,
    max_read_write_size: 1 << 20,
    preferred_send_size: 1024,
    max_receive_size: 1024,
    max_fragmented_size: 131_072,
};

/// A Data Transfer message without data that grants nothing.
pub const DATA: DataTransfer = DataTransfer {
    credits_requested: 10,
    credits_granted: 0,
    flags: Flags::NONE,
    remaining_data_length: 0,
    data_offset: 0,
    data_length: 0,
};

pub fn request(request: &NegotiateRequest) -> Vec<u8> {
    encoded(|out| request.encode(out))
}

pub fn response(response: &NegotiateResponse) -> Vec<u8> {
    encoded(|out| response.encode(out))
}

pub fn data(header: &DataTransfer) -> Vec<u8> {
    encoded(|out| header.encode(out))
}

fn encoded<E: std::fmt::Debug>(encode: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    let len = encode(&mut bytes).unwrap();
    bytes.truncate(len);
    bytes
}
