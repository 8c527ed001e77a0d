//! Rules on keepalive, RDMA operations and the end of a connection.

use super::{Rule, derived, rules, suite, text};

rules! {
    KEEPALIVE_UNANSWERED = "keepalive-unanswered", "3.1.5.8",
        derived(
            &["2.2.3-06", "3.1.5.8-14", "3.1.5.1-13"],
            "A message has to go out promptly, and whoever asked waits no longer than 5 seconds.",
        ),
        "Who is asked for a response sends a message.";
    KEEPALIVE_LATE = "keepalive-late", "3.1.5.8",
        derived(
            &["2.2.3-06", "3.1.5.8-14", "3.1.5.1-13"],
            "A message has to go out promptly, and whoever asked waits no longer than 5 seconds.",
        ),
        "Who is asked for a response sends a message within 5 seconds.";
    KEEPALIVE_ASKS_BACK = "keepalive-asks-back", "3.1.5.8", suite("SmbdDataTransfer_IdleConnection_Client"),
        "The empty message that answers a request for a response does not ask for one.";
    RDMA_TOO_LONG = "rdma-over-max-read-write-size", "2.2.2",
        derived(
            &["2.2.2-17"],
            "An operation longer than all that is moved for one read or write of the upper layer is longer than its \
             part of that.",
        ),
        "An RDMA operation is no longer than the MaxReadWriteSize of the Negotiate Response.";
    RDMA_INVALIDATED = "rdma-token-invalidated", "3.1.5.1",
        derived(
            &["1.5-02", "3.1.4.2-05", "3.1.5.1-15"],
            "The sender had the peer's provider close the memory, and its later requests arrive later.",
        ),
        "No RDMA operation uses a token that its requester has invalidated.";
    AFTER_END = "message-after-end", "3.1.7.1", text(&["3.1.7.1-02"]),
        "Who has ended a connection sends nothing on it.";
}
