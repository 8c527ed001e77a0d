//! READ and WRITE of SMB2 by RDMA channels (MS-SMB2 3.3.5.12, 3.3.5.13) and what clients make of them (3.2.5.11).

mod channel;
mod clients;
mod covered_clients;
mod covered_reads;
mod covered_writes;
mod descriptors;
mod invalidation;
mod ours;
mod refusals;
mod refused_clients;
mod transforms;
mod two_channels;

use super::Entry;
use crate::suite::rig::Adapter;

pub(super) use covered_clients::CASES as OF_CLIENTS;
pub(super) use transforms::CASES as TRANSFORMS;

/// `Smb2OverRdmaChannel`.
pub(super) const CHANNEL: &[Entry] = &[
    Entry::new("BVT_Smb2OverRdmaChannel_ReadLargeFile", channel::read_large),
    Entry::new("Smb2OverRdmaChannel_ReadMultipleOperation", channel::read_many),
    Entry::new("BVT_Smb2OverRdmaChannel_WriteLargeFile", channel::write_large),
    Entry::new("Smb2OverRdmaChannel_WriteMultipleOperation", channel::write_many),
    Entry::new("Smb2OverRdmaChannel_ReadWriteMultipleBufferDescriptorList", descriptors::most),
    Entry::new("Smb2OverRdmaChannel_InvalidBufferDescriptor_Offset", descriptors::wrong_offset),
    Entry::new("Smb2OverRdmaChannel_InvalidBufferDescriptor_Length", descriptors::wrong_length),
    Entry::new("Smb2OverRdmaChannel_InvalidBufferDescriptor_Token", descriptors::wrong_token),
    Entry::new("Smb2OverRdmaChannel_InvalidBufferDescriptor_DeregisteredBuffer", descriptors::deregistered),
];

/// `Smb2OverRdmaRemoteInvalidation`.
pub(super) const INVALIDATION: &[Entry] = &[
    Entry::new("BVT_Smb2OverRdma_Smb302_Write_SMB2_CHANNEL_RDMA_V1_INVALIDATE", invalidation::write_once),
    Entry::new("BVT_Smb2OverRdma_Smb302_Read_SMB2_CHANNEL_RDMA_V1_INVALIDATE", invalidation::read_once),
    Entry::new("Smb2OverRdma_Write_SMB2_CHANNEL_RDMA_V1", invalidation::write_twice),
    Entry::new("Smb2OverRdma_Read_SMB2_CHANNEL_RDMA_V1", invalidation::read_twice),
    Entry::new("Smb2OverRdma_Smb300_Write_SMB2_CHANNEL_RDMA_V1_INVALIDATE", invalidation::write_in_3_0),
    Entry::new("Smb2OverRdma_Smb300_Read_SMB2_CHANNEL_RDMA_V1_INVALIDATE", invalidation::read_in_3_0),
];

/// `Smb2MultiChannel`.
pub(super) const SEVERAL_CHANNELS: &[Entry] = &[
    Entry::new("BVT_Smb2MultipleChannel_2Channels_DiffNicTypeDiffTransport", |play| {
        two_channels::write_and_read(play, Adapter::Other)
    }),
    Entry::new("Smb2Multichannel_2Channels_DiffTransport", |play| {
        two_channels::write_and_read(play, Adapter::Rdma)
    }),
];

/// What the statements say besides.
pub(super) const CASES: &[Entry] = &[
    Entry::new("smb2::a_read_by_a_channel_that_is_none_is_refused", refusals::read_channel),
    Entry::new("smb2::a_read_of_nothing_by_a_channel_is_refused", refusals::read_of_nothing),
    Entry::new("smb2::a_write_by_a_channel_that_is_none_is_refused", refusals::write_channel),
    Entry::new("smb2::a_write_with_data_beside_its_channel_is_refused", refusals::write_beside),
    Entry::new("smb2::a_write_of_nothing_by_a_channel_is_refused", refusals::write_of_nothing),
    Entry::new("smb2::a_write_whose_buffers_do_not_do_is_refused", refusals::write_buffers),
    Entry::new("smb2::a_read_beyond_the_end_brings_what_there_is", ours::beyond_the_end),
    Entry::new("smb2::several_buffers_are_used_in_their_order", ours::several_buffers),
    Entry::new("smb2::what_is_written_by_rdma_is_read_over_tcp", two_channels::read_over_tcp),
    Entry::new("smb2::a_write_under_a_transform_that_is_none_is_refused", covered_writes::none_that_there_is),
    Entry::new("smb2::a_buffer_is_closed_before_its_data_are_used", clients::closed_before_use),
    Entry::new("smb2::a_failed_read_brings_nothing", clients::failed),
    Entry::new("smb2::a_transform_that_nobody_wanted_is_refused", clients::transform_not_negotiated),
];
