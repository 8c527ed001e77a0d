//! Whole messages: how an endpoint reassembles the fragments of a connection.

use smbd_core::RecvId;

use super::law::{Law, Verdicts};
use super::receiving::Due;
use super::records::Records;
use super::whole::Whole;
use crate::probe::Whole as Message;

impl Records {
    /// What has arrived and is no message yet was copied: before anything but an event is asked for, and before the end is
    /// told. Its receives are free.
    #[inline(always)]
    pub(super) fn absorb(&mut self, v: &mut Verdicts) {
        // Nothing is handed up before the connection is announced.
        if self.whole.is_endpoint && !self.whole.in_pieces && self.told.established && !self.whole.paused {
            self.absorb_all(v);
        }
    }

    fn absorb_all(&mut self, v: &mut Verdicts) {
        let mut complete = false;
        while let Some(due) = self.receiving.take_due() {
            complete |= due.remaining == 0;
            self.copy(&due);
        }
        v.check(Law::Messages, !complete, || "a message has come in full, and was not handed up".to_owned());
    }

    /// A receive is posted again, so the fragment that was in it is copied. While paused, that is one which the endpoint had taken
    /// from the connection's events before the event at which it was told to pause; only the receive shows it.
    pub(super) fn absorb_before_pause(&mut self, recv: RecvId, v: &mut Verdicts) {
        if !self.whole.paused || self.whole.in_pieces {
            return;
        }
        while self.receiving.may_be_taken(recv.slot())
            && let Some(due) = self.receiving.take_due()
        {
            v.check(Law::Messages, due.remaining > 0, move || {
                format!("the message that ended in {:?} was taken, and not handed up", due.recv)
            });
            self.copy(&due);
        }
    }

    fn copy(&mut self, due: &Due) {
        self.whole.copied += due.len;
        self.free(due.recv);
    }

    fn free(&mut self, recv: RecvId) {
        self.recvs.close(recv.slot(), recv);
    }

    pub(super) fn on_whole(&mut self, message: &Message<'_>, v: &mut Verdicts) {
        self.waiting = false;
        v.check(Law::Events, self.told.established && !self.told.end, || {
            "a message before Established, or after the end was told".to_owned()
        });
        if self.whole.in_pieces {
            v.check(Law::Messages, message.borrowed.is_some(), || "a fragment was copied".to_owned());
            self.whole.borrowed += 1;
            return message.borrowed.map_or((), |fragment| self.receiving.on_event(fragment, v));
        }
        let single = self.receiving.peek_due().is_some_and(|due| due.first && due.remaining == 0);
        let borrow = single && self.whole.borrowed < self.config.borrowed_max;
        v.check(Law::Messages, message.borrowed.is_some() == borrow, || {
            let Whole { borrowed, .. } = self.whole;
            format!(
                "borrowed: {}; in one piece: {single}, {borrowed} borrowed of {}",
                message.borrowed.is_some(),
                self.config.borrowed_max
            )
        });
        if let Some(fragment) = message.borrowed {
            self.whole.borrowed += 1;
            return self.receiving.on_event(fragment, v);
        }
        let mut ended = false;
        while let Some(due) = self.receiving.take_due() {
            ended = due.remaining == 0;
            self.copy(&due);
            if ended {
                break;
            }
        }
        let len = std::mem::take(&mut self.whole.copied);
        v.check(Law::Messages, ended && len == message.len, move || {
            format!("a message of {} bytes; {len} have come, in full: {ended}", message.len)
        });
    }
}
