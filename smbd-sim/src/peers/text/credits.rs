//! The credits of both texts, and the repairs.

use super::super::line::{ModelParams, Posting};

/// Connection.SendCredits, ReceiveCredits, ReceiveCreditMax, ReceiveCreditTarget.
#[derive(Debug)]
pub(super) struct Credits {
    pub(super) send_credits: u32,
    pub(super) receive_credits: u32,
    pub(super) receive_credit_target: u32,
    receive_credit_max: u32,
    posting: Posting,
    /// CR-1 and CR-2 repaired: receives that were posted and granted in no message yet.
    kept: Option<u32>,
}

impl Credits {
    pub(super) fn new(repaired: bool, params: &ModelParams) -> Self {
        Self {
            send_credits: 0,
            receive_credits: 0,
            receive_credit_target: 0,
            receive_credit_max: u32::from(params.receive_credit_max),
            posting: params.posting,
            kept: repaired.then_some(0),
        }
    }

    /// 3.1.5.9: the number of receives posted by `post`, which is asked for a number and posts at most that.
    pub(super) fn manage(&mut self, queued: bool, mut post: impl FnMut(u32) -> u32) -> u32 {
        let target = self.receive_credit_target;
        // Paragraph 1 comes first and makes the second useless while the peer has what it asked for (CR-4).
        if self.receive_credits > 0 && self.receive_credits >= target {
            return 0;
        }
        let mut posted = 0;
        if self.receive_credits == 0 || (self.send_credits == 1 && queued) {
            posted = post(1);
            if posted == 0 {
                return 0;
            }
            self.receive_credits += posted;
        }
        if target > self.receive_credits && self.receive_credits < self.receive_credit_max {
            let most = target.min(self.receive_credit_max);
            let count = match self.posting {
                Posting::One => 1,
                Posting::Missing => most.saturating_sub(self.receive_credits).max(1),
                Posting::Most => most,
            };
            let more = post(count);
            self.receive_credits += more;
            posted += more;
        }
        posted
    }

    /// Credits that the text forgets about.
    pub(super) fn keep_if_repaired(&mut self, new: u32) {
        if let Some(kept) = &mut self.kept {
            *kept += new;
        }
    }

    /// The same, for the message that is about to leave.
    pub(super) fn take_kept(&mut self) -> u32 {
        self.kept.as_mut().map_or(0, std::mem::take)
    }
}
