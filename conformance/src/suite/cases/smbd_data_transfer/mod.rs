//! Microsoft's cases of data transfer.

mod good;
mod idle;
mod negative;

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("BVT_SmbdDataTransfer_Basic_SendSmallBytesOfData", good::small),
    Entry::new("BVT_SmbdDataTransfer_Basic_SendModerateBytesData", good::moderate),
    Entry::new("SmbdDataTransfer_VariableLengthSegment", good::variable_lengths),
    Entry::new("SmbdDataTransfer_SmallLengthSegment", good::small_lengths),
    Entry::new("SmbdDataTransfer_Redundancy", good::redundancy),
    Entry::new("SmbdDataTransfer_ReceiveMaxReceiveSize", good::max_receive_size),
    Entry::new("SmbdDataTransfer_UncompletedMessage", negative::uncompleted),
    Entry::new("SmbdDataTransfer_NegativeParameter_DataOffset_Against8ByteAligned", negative::alignment),
    Entry::new("SmbdDataTransfer_NegativeParameter_DataOffset_AgainstMessageLength", negative::offset),
    Entry::new("SmbdDataTransfer_NegativeParameter_DataLength_AgainstMessageLength", negative::length),
    Entry::new("SmbdDataTransfer_NegativeParameter_DataLength_AgainstMaxReceiveSize", negative::too_long),
    Entry::new("SmbdDataTransfer_NegativeParameter_AgainstMaxFragmentedSize", negative::too_much),
    Entry::new(
        "SmbdDataTransfer_NegativeParameter_RemainingDataLength_AgainstMaxFragmentedSize",
        negative::remaining_too_much,
    ),
    Entry::new("SmbdDataTransfer_NegativeParameter_RemainingDataLength_Zero", negative::ends_early),
    Entry::new(
        "SmbdDataTransfer_NegativeParameter_RemainingDataLength_AgainstFragmentReassemblyRemaining",
        negative::remaining_wrong,
    ),
    Entry::new("SmbdDataTransfer_IdleConnection_Client", idle::client).with(idle::keepalive_of_the_text),
    Entry::new("SmbdDataTransfer_IdleConnection_Server", idle::server).with(idle::keepalive_of_the_text),
    Entry::new("SmbdDataTransfer_IdleConnection_Server_Timeout", idle::server_timeout)
        .with(idle::keepalive_of_the_text),
];

/// Length of the long messages, in bytes.
const LONG: usize = 65_536;
