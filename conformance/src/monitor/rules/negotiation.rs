//! Rules on the two messages of the negotiation (2.2.1, 2.2.2).

use super::{Rule, derived, hardening, rules, suite, text};

rules! {
    REQUEST_TOO_SHORT = "request-too-short", "2.2.1", text(&["2.2.1-01", "3.1.5.6-01"]),
        "A Negotiate Request has at least 20 bytes.";
    REQUEST_VERSION = "request-version", "2.2.1",
        text(&["2.2.1-03", "2.2.1-06", "3.1.5.2-02", "3.1.5.2-03"]),
        "MinVersion and MaxVersion of a Negotiate Request are 0x0100.";
    REQUEST_RESERVED = "request-reserved", "2.2.1", text(&["3.1.5.2-04"]),
        "Reserved of a Negotiate Request is 0.";
    REQUEST_CREDITS = "request-credits-zero", "2.2.1", text(&["3.1.5.6-06"]),
        "CreditsRequested of a Negotiate Request is above 0.";
    REQUEST_MAX_RECEIVE = "request-max-receive-size", "2.2.1", text(&["3.1.5.6-07"]),
        "MaxReceiveSize of a Negotiate Request is at least 128.";
    REQUEST_MAX_FRAGMENTED = "request-max-fragmented-size", "2.2.1", text(&["3.1.5.6-08"]),
        "MaxFragmentedSize of a Negotiate Request is at least 131072.";
    REQUEST_PREFERRED_SMALL = "request-preferred-send-size-small", "2.2.1", hardening("NE-10"),
        "PreferredSendSize of a Negotiate Request is at least 128.";
    REQUEST_PREFERRED_LARGE = "request-preferred-send-size-large", "2.2.1", hardening("NE-3"),
        "PreferredSendSize of a Negotiate Request is at most 8136, above which Windows refuses.";
    RESPONSE_TOO_SHORT = "response-too-short", "2.2.2", text(&["2.2.2-01", "3.1.5.7-01"]),
        "A Negotiate Response has at least 32 bytes, a failure too.";
    RESPONSE_BEFORE_REQUEST = "response-before-request", "2.2",
        text(&["2.2-01", "3.1.5.3-01"]),
        "A Negotiate Response follows the Negotiate Request.";
    RESPONSE_VERSION = "response-version", "2.2.2",
        text(&["2.2.2-03", "2.2.2-06", "3.1.5.3-02", "3.1.5.3-03"]),
        "MinVersion and MaxVersion of a Negotiate Response are 0x0100, in a failure too.";
    RESPONSE_RESERVED = "response-reserved", "2.2.2", text(&["3.1.5.3-04"]),
        "Reserved of a Negotiate Response is 0.";
    RESPONSE_NEGOTIATED_VERSION = "response-negotiated-version", "2.2.2",
        text(&["3.1.5.3-09", "3.1.5.7-02"]),
        "NegotiatedVersion of a successful Negotiate Response is 0x0100.";
    RESPONSE_CREDITS_REQUESTED = "response-credits-requested-zero", "2.2.2", text(&["3.1.5.7-06"]),
        "CreditsRequested of a successful Negotiate Response is above 0.";
    RESPONSE_CREDITS_GRANTED = "response-credits-granted-zero", "2.2.2", text(&["3.1.5.7-05"]),
        "CreditsGranted of a successful Negotiate Response is above 0.";
    RESPONSE_CREDITS_ABOVE = "response-credits-granted-above-request", "2.2.2",
        suite("BVT_SmbdNegotiate_Basic"),
        "CreditsGranted of a Negotiate Response is at most what the request asked for.";
    RESPONSE_MAX_READ_WRITE = "response-max-read-write-size", "2.2.2", suite("BVT_SmbdNegotiate_Basic"),
        "MaxReadWriteSize of a successful Negotiate Response is at least 1048576.";
    RESPONSE_PREFERRED_SMALL = "response-preferred-send-size-small", "2.2.2",
        suite("BVT_SmbdNegotiate_Basic"),
        "PreferredSendSize of a successful Negotiate Response is at least 128.";
    RESPONSE_PREFERRED_ABOVE = "response-preferred-send-size-above-request", "2.2.2",
        text(&["2.2.2-19", "3.1.5.7-07"]),
        "PreferredSendSize of a Negotiate Response is at most the MaxReceiveSize of the request.";
    RESPONSE_MAX_RECEIVE = "response-max-receive-size", "2.2.2", text(&["3.1.5.7-03"]),
        "MaxReceiveSize of a successful Negotiate Response is at least 128.";
    RESPONSE_MAX_RECEIVE_ABOVE = "response-max-receive-size-above-request", "2.2.2",
        suite("BVT_SmbdNegotiate_Basic"),
        "MaxReceiveSize of a Negotiate Response is at most the PreferredSendSize of the request, or 128.";
    RESPONSE_MAX_FRAGMENTED = "response-max-fragmented-size", "2.2.2", text(&["3.1.5.7-04"]),
        "MaxFragmentedSize of a successful Negotiate Response is at least 131072.";
    FAILURE_FIELDS = "failure-response-fields", "3.1.5.3", text(&["3.1.5.3-06"]),
        "A failure has nothing but zeros beside MinVersion, MaxVersion and Status.";
    FAILURE_SEVERITY = "failure-response-severity", "3.1.5.6", text(&["3.1.5.6-04", "3.1.5.6-17"]),
        "The Status of a failure has the severity of an error.";
    VERSION_ACCEPTED = "version-not-refused", "3.1.5.6", text(&["3.1.5.6-03", "3.1.5.6-04"]),
        "A request whose versions do not include 0x0100 is answered with STATUS_NOT_SUPPORTED.";
    VERSION_REFUSED = "version-refused", "3.1.5.6",
        derived(
            &["3.1.5.6-03", "3.1.5.6-04", "3.1.5.6-05"],
            "Nothing but a range of versions without 0x0100 leads to STATUS_NOT_SUPPORTED.",
        ),
        "A request whose versions include 0x0100 is not answered with STATUS_NOT_SUPPORTED.";
    INVALID_REQUEST_ANSWERED = "invalid-request-answered", "3.1.5.6", text(&["3.1.5.6-09"]),
        "A request with a field below its minimum is not answered.";
    NEGOTIATION_LATE = "negotiation-late", "3.1.7.2", suite("SmbdNegotiate_NegotiationTimer_Timeout"),
        "A request later than 5 seconds after the connection was made is not answered.";
    NEGOTIATION_REPEATED = "negotiation-repeated", "2.2",
        derived(
            &["2.2-01", "3.1.5.4-01"],
            "The message reads as a negotiation and makes no sense as a data message, of which alone there may be \
             more.",
        ),
        "There is one Negotiate Request and one Negotiate Response.";
    DATA_BEFORE_ESTABLISHED = "data-before-established", "3.1.5.1", text(&["2.2-02", "3.1.5.1-01"]),
        "Data messages are sent after a negotiation that succeeded.";
}
