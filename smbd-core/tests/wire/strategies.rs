//! Arbitrary messages. Sizes and credits are drawn from the whole range: the codec judges no value.

use proptest::prelude::*;
use smbd_core::wire::{
    BufferDescriptorV1, DATA_OFFSET, DataTransfer, Flags, NegotiateRequest, NegotiateResponse, NtStatus,
    Token, status,
};

prop_compose! {
    pub fn negotiate_request()(
        (min_version, max_version, credits_requested) in any::<(u16, u16, u16)>(),
        (preferred_send_size, max_receive_size, max_fragmented_size) in any::<(u32, u32, u32)>(),
    ) -> NegotiateRequest {
        NegotiateRequest {
            min_version, max_version, credits_requested,
            preferred_send_size, max_receive_size, max_fragmented_size,
        }
    }
}

pub fn nt_status() -> impl Strategy<Value = NtStatus> {
    const KNOWN: [NtStatus; 3] = [status::SUCCESS, status::NOT_SUPPORTED, status::INSUFFICIENT_RESOURCES];
    prop_oneof![prop::sample::select(KNOWN.as_slice()), any::<u32>().prop_map(NtStatus)]
}

prop_compose! {
    pub fn negotiate_response()(
        (min_version, max_version, negotiated_version) in any::<(u16, u16, u16)>(),
        (credits_requested, credits_granted) in any::<(u16, u16)>(),
        status in nt_status(),
        (max_read_write_size, preferred_send_size) in any::<(u32, u32)>(),
        (max_receive_size, max_fragmented_size) in any::<(u32, u32)>(),
    ) -> NegotiateResponse {
        NegotiateResponse {
            min_version, max_version, negotiated_version, credits_requested, credits_granted, status,
            max_read_write_size, preferred_send_size, max_receive_size, max_fragmented_size,
        }
    }
}

prop_compose! {
    pub fn data_transfer()(
        (credits_requested, credits_granted, flags) in any::<(u16, u16, u16)>(),
        (remaining_data_length, data_length) in any::<(u32, u32)>(),
        data_offset in prop_oneof![Just(0), Just(DATA_OFFSET), any::<u32>()],
    ) -> DataTransfer {
        DataTransfer {
            credits_requested, credits_granted, flags: Flags(flags),
            remaining_data_length, data_offset, data_length,
        }
    }
}

prop_compose! {
    pub fn buffer_descriptor()(offset in any::<u64>(), token in any::<u32>(), length in any::<u32>())
        -> BufferDescriptorV1 {
        BufferDescriptorV1 { offset, token: Token(token), length }
    }
}
