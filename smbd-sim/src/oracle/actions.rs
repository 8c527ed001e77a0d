//! Checks and records actions.

use smbd_core::{Action, Instant, RecvId, Role};

use super::law::{Law, Verdicts};
use super::operations::Slice;
use super::records::{Records, Slot};
use super::sending::Leaving;

impl Records {
    pub(super) fn on_action(&mut self, now: Instant, action: &Action, v: &mut Verdicts) {
        if let Action::Notify(event) = action {
            return self.on_event(now, event, v);
        }
        self.began.get_or_insert(now);
        self.count_action(matches!(action, Action::Wait(_)), action, v);
        self.absorb(v);
        self.link.touched |= !matches!(action, Action::Wait(_));
        if !matches!(action, Action::Wait(_) | Action::Disconnect) {
            v.check(Law::Actions, !self.link.disconnect && !self.told.end, move || {
                format!("{action:?} after the end")
            });
        }
        match action {
            Action::PostRecv { id, len } => self.on_post_recv(*id, *len, v),
            Action::Connect | Action::Accept => {
                let role = if matches!(action, Action::Connect) { Role::Initiator } else { Role::Acceptor };
                let right = self.role == role && !self.link.started;
                v.check(Law::Order, self.recvs.used() == 1, || {
                    format!("{action:?} with {} receives posted, one is needed", self.recvs.used())
                });
                v.check(Law::Actions, right, move || format!("{action:?} out of place"));
                self.link.started = true;
            }
            Action::Disconnect => {
                v.check(Law::Actions, !self.link.disconnect && self.told.end, || {
                    "Disconnect twice, or before the end was told".to_owned()
                });
                self.link.disconnect = true;
            }
            Action::PostSend { id, head, body, invalidate, solicit, signal } => {
                let (invalidate, signal, solicit) = (*invalidate, *signal, *solicit);
                let leaving = Leaving { head, body: *body, invalidate, signal, solicit };
                self.on_send(*id, &leaving, v);
            }
            Action::PostRdma { id, op, verb, local_offset, remote, signal } => {
                let before = self.queue_used();
                let limits = (self.limits.read_depth, self.limits.rdma_len_max);
                let slice = Slice { verb: *verb, local_offset: *local_offset, remote: *remote };
                self.ops.on_post(*op, &slice, limits, v);
                self.ops.on_signal(*op, *verb, *signal, &self.limits, v);
                // One that does not come back may have the place that something else waits for.
                let all = [self.config.send_slots, self.config.rdma_slots, self.config.registration_slots];
                let is_shared = u32::from(self.limits.send_queue) < all.map(u32::from).iter().sum();
                v.check(Law::Rdma, *signal || !is_shared, move || {
                    format!("{id:?} without a signal in a short send queue")
                });
                if let Err(wrong) = self.rdma.open(id.slot(), *id, *op) {
                    v.fail(Law::Ledger, format!("{id:?} handed out: {wrong}"));
                }
                self.check_queue(before, v);
            }
            Action::Register { id, access, segments_max } => {
                let before = self.queue_used();
                self.registrations.on_action(*id, Some((*access, *segments_max)), v);
                self.check_queue(before, v);
            }
            Action::Deregister { id } => {
                let before = self.queue_used();
                self.registrations.on_action(*id, None, v);
                self.check_queue(before, v);
            }
            // Dealt with above.
            Action::Notify(_) => {}
            Action::Wait(deadline) => self.on_wait(now, *deadline, v),
        }
    }

    /// Whatever an RDMA request or a registration puts on the send queue leaves one place for a send.
    fn check_queue(&self, before: u32, v: &mut Verdicts) {
        let (used, queue) = (self.queue_used(), u32::from(self.limits.send_queue));
        v.check(Law::Memory, used == before || used < queue, move || {
            format!("{used} places of a send queue of {queue} in use")
        });
    }

    fn on_post_recv(&mut self, id: RecvId, len: u32, v: &mut Verdicts) {
        self.absorb_before_pause(id, v);
        let data = self.link.started;
        let wanted = if data { self.receiving.max_receive_size } else { super::negotiation::RECEIVE };
        v.check(Law::Actions, len == wanted && (!data || self.negotiated.is_some()), move || {
            format!("{id:?} of {len} bytes posted, should be {wanted}")
        });
        if data {
            self.credit.on_post(v);
        }
        if let Err(wrong) = self.recvs.open(id.slot(), id, Slot::Posted { data }) {
            v.fail(Law::Ledger, format!("{id:?} handed out: {wrong}"));
        }
    }

    fn on_wait(&mut self, now: Instant, deadline: Option<Instant>, v: &mut Verdicts) {
        let told = self.timeout.take();
        self.waiting = true;
        self.actions = 0;
        let passed = told.is_some_and(|told| deadline.is_some_and(|at| at <= told));
        v.check(Law::Timers, !passed, move || {
            format!("the deadline {deadline:?} has passed, and nothing came of it")
        });
        if self.told.drained {
            return v.check(Law::Drained, deadline.is_none(), || "a timer after Drained".to_owned());
        }
        if self.told.end {
            let due = self.is_empty() && (self.link.over || !self.link.touched);
            return v.check(Law::Drained, !due, || "nothing is outstanding, and no Drained".to_owned());
        }
        v.check(Law::Reasons, self.cause.is_none(), || format!("{:?}, and the end was not told", self.cause));
        self.check_deadline(now, deadline, v);
        if self.is_flowing() && self.greeted {
            self.check_progress(v);
        }
    }

    fn check_deadline(&self, now: Instant, deadline: Option<Instant>, v: &mut Verdicts) {
        let mut latest: Option<Instant> = None;
        let mut bound = |at: Option<Instant>| {
            if let Some(at) = at {
                latest = Some(latest.map_or(at, |l| l.min(at)));
            }
        };
        if self.told.established {
            bound(self.keepalive.deadline().filter(|_| self.credit.lets_peer_speak()));
            bound(self.flush);
            let stalled = self.credit.left() == 0 && self.sending.is_ready(self.ops.writes_posted);
            if stalled && let Some(timeout) = self.config.send_credit_timeout {
                bound(Some(now.saturating_add(timeout)));
            }
        } else {
            bound(self.negotiation_deadline());
        }
        let Some(latest) = latest else { return };
        v.check(Law::Timers, deadline.is_some_and(|at| at <= latest), move || {
            format!("waits until {deadline:?}, must come back at {latest:?}")
        });
    }

    /// What can leave has left.
    fn check_progress(&self, v: &mut Verdicts) {
        let missing = self.credit.wants_receive() || self.credit.wants_reserve();
        let wants_receive = missing && self.recvs.free() > 0;
        v.check(Law::Progress, !wants_receive, || "a receive could be posted".to_owned());
        let queue = u32::from(self.limits.send_queue);
        let used = self.queue_used();
        let room = used < queue && self.sends.used() < u32::from(self.config.send_slots);
        let reserve = self.recvs.free() > 0 && self.credit.may_post_reserve();
        let credit = self.credit.left() > 0 && (!self.credit.waits_for_reserve() || reserve);
        let wants_rdma = self.told.established && self.ops.wants_to_post(self.limits.read_depth);
        let binds = self.registrations.wants_places();
        // The last two places are for one RDMA request and one send.
        let yields = wants_rdma && self.rdma.used() == 0 && used + 1 >= queue;
        if room && credit && !binds && !yields {
            let ready = self.sending.is_ready(self.ops.writes_posted);
            v.check(Law::Progress, !ready, || "a message could leave".to_owned());
            let ends_silence = self.told.established && self.ends_silence();
            let owed = self.answer_owed
                || self.keepalive.wants_flag()
                || self.credit.may_only_grant()
                || ends_silence;
            v.check(Law::Progress, !owed || self.sending.is_open(), || {
                "an answer, a grant or the end of a silence could leave".to_owned()
            });
        }
        v.check(Law::Progress, !self.sending.owes_signal() || self.sends.used() == 0, || {
            "a message is waited for, and no completion was asked for".to_owned()
        });
        v.check(Law::Progress, !self.ops.owes_signal() || self.rdma.used() == 0, || {
            "an RDMA request is waited for, and no completion was asked for".to_owned()
        });
        // A place of the send queue comes back with what else has taken them.
        v.check(Law::Progress, !self.ops.owes_more() || self.rdma.free() > 0, || {
            "no place is left for an RDMA request, and no completion was asked for".to_owned()
        });
        if used + 1 < queue && self.rdma.free() > 0 && !binds {
            v.check(Law::Progress, !wants_rdma, || "an RDMA request could leave".to_owned());
        }
        v.check(Law::Progress, self.writable() == [false; 2], || "there is room, and no Writable".to_owned());
        if self.told.established && self.flush.is_some() {
            v.check(Law::Progress, !self.is_flushed(), || {
                "all is flushed, and the end was not told".to_owned()
            });
        }
    }
}
