//! Microsoft's cases of credits.

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[];

/// Cases of this group that are still to be written.
pub(super) const TO_WRITE: &[&str] = &[
    "BVT_SmbdCreditMgmt_OperationWithMinimumCredits",
    "SmbdCreditMgmt_OperationWithLimitedCredits",
    "SmbdCreditMgmt_ConsumeAllSendCredits",
    "SmbdCreditMgmt_ConsumeAllReceiveCredits",
    "SmbdCreditMgmt_ConsumeAllCreditServer_Timeout",
    "SmbdCreditMgmt_NegativeParameter_CreditRequested",
];
