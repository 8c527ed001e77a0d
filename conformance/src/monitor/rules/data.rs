//! Rules on data messages and on sequences of them (2.2.3, 3.1.5.4).

use super::{Rule, derived, hardening, rules, text};

rules! {
    TOO_SHORT = "data-too-short", "2.2.3", text(&["2.2.3-16", "3.1.5.8-02"]),
        "A Data Transfer message has at least 20 bytes.";
    CREDITS_REQUESTED = "data-credits-requested-zero", "2.2.3", text(&["3.1.5.8-03"]),
        "CreditsRequested of a Data Transfer message is above 0.";
    UNKNOWN_FLAGS = "data-unknown-flags", "2.2.3", text(&["2.2.3-05"]),
        "Flags has no bits but the defined one.";
    RESERVED = "data-reserved", "2.2.3", hardening("NE-12"),
        "Reserved of a Data Transfer message with payload is 0.";
    EMPTY_RESERVED = "empty-reserved", "3.1.5.4", text(&["2.2.3-09", "3.1.5.4-04"]),
        "Reserved of an empty message is 0.";
    EMPTY_OFFSET = "empty-data-offset", "3.1.5.4", text(&["2.2.3-14", "3.1.5.4-06"]),
        "DataOffset of a message without payload is 0.";
    EMPTY_LENGTH = "empty-too-long", "3.1.5.4", text(&["3.1.5.4-08"]),
        "An empty message has 20 bytes.";
    OFFSET_ALIGNMENT = "data-offset-alignment", "2.2.3", text(&["2.2.3-15", "3.1.5.8-04"]),
        "DataOffset is a multiple of 8.";
    OFFSET_IN_HEADER = "data-offset-in-header", "2.2.3",
        derived(
            &["2.2.3-15", "2.2.3-16", "2.2.3-21"],
            "The header has 20 bytes and is no payload; the first multiple of 8 behind it is 24.",
        ),
        "DataOffset of a message with payload is at least 24.";
    BEYOND_MESSAGE = "data-beyond-message", "3.1.5.8", text(&["2.2.3-21", "3.1.5.8-05"]),
        "DataOffset and DataLength stay inside the message.";
    PADDING = "data-padding", "3.1.5.4", text(&["2.2.3-19", "3.1.5.4-20"]),
        "The bytes between header and payload are 0.";
    OVER_MAX_RECEIVE = "data-over-max-receive-size", "3.1.5.4",
        derived(
            &["2.2.1-13", "2.2.2-20", "3.1.5.4-13", "3.1.5.6-14", "3.1.5.7-14"],
            "MaxSendSize never exceeds the MaxReceiveSize of the peer, nor a message MaxSendSize.",
        ),
        "A message is no longer than the MaxReceiveSize of its receiver.";
    OVER_PREFERRED = "data-over-preferred-send-size", "3.1.5.4",
        derived(
            &["2.2.2-18", "3.1.5.2-06", "3.1.5.3-13", "3.1.5.4-13"],
            "PreferredSendSize is MaxSendSize, or an upper bound of it, and no message exceeds MaxSendSize.",
        ),
        "A message is no longer than the PreferredSendSize of its sender.";
    OVER_MAX_FRAGMENTED = "data-over-max-fragmented-size", "3.1.5.8", text(&["3.1.4.2-01", "3.1.5.8-06"]),
        "DataLength and RemainingDataLength are together at most the MaxFragmentedSize of the receiver.";
    FRAGMENT_WITHOUT_DATA = "fragment-without-data", "3.1.5.4", hardening("RA-5"),
        "A fragment has payload.";
    SEQUENCE_REMAINING = "sequence-remaining", "3.1.5.4",
        text(&["2.2.3-11", "3.1.5.4-17", "3.1.5.4-18"]),
        "DataLength and RemainingDataLength of a fragment are together what its predecessor left.";
    SEQUENCE_INTERRUPTED = "sequence-interrupted", "3.1.4.2", text(&["3.1.4.2-03", "3.1.5.8-21"]),
        "No empty message stands between the fragments of one upper-layer message.";
    INVALIDATE_REPEATED = "invalidate-repeated", "3.1.5.4", text(&["3.1.5.4-22"]),
        "One segment of an upper-layer message at most invalidates a token.";
}
