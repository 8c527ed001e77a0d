//! Rules on send credits (3.1.5.1, 3.1.5.9).

use super::{Rule, hardening, rules, text};

rules! {
    SEND_WITHOUT_CREDIT = "send-without-credit", "3.1.5.1", text(&["3.1.5.1-06", "3.1.5.1-09"]),
        "Nothing is sent without a send credit.";
    LAST_CREDIT = "last-credit-without-grant", "3.1.5.1", text(&["3.1.5.1-07", "3.1.5.9-04"]),
        "The message that spends the last send credit grants at least one.";
    ABOVE_REQUESTED = "credits-above-requested", "3.1.5.9", hardening("CR-6"),
        "With a grant the peer holds no more credits than it asked for, or 3, and one for its last-credit message.";
    OVERFLOW = "credits-overflow", "3.1.5.8", hardening("CR-11"),
        "No side is given more than 65535 credits to hold.";
    GRANTS_ANSWER_GRANTS = "grants-answer-grants", "3.1.5.8", hardening("CR-3"),
        "Messages that only grant are not answered with messages that only grant, time and again.";
}
