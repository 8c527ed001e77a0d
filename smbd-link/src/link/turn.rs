//! A turn: orders go in, the endpoint and the backend are driven, and the task sleeps if that is all.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_core::backend::{Backend, drive_at};
use smbd_core::endpoint::NotSent;
use smbd_core::error::{CloseReason, CommandError, RdmaError, SendError};
use smbd_core::{Close, Instant, MsgId, Token};

use super::orders::{Order, Transfer};
use super::{Closing, Link};
use crate::{Failure, Messages, PollReady};

/// Turns of one poll. After them the task yields to other tasks.
const TURNS_MAX: u32 = 4;

/// What is to be done after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Another turn: there is more to do.
    Again,
    /// To wait for the backend, or until this time.
    Asleep(Option<Instant>),
    /// Nothing: the connection is over.
    Over,
}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> Link<B, N, C> {
    /// Drives the connection if the backend has woken the task, or if something was asked for. Then the task is woken later.
    pub(super) fn drive(&mut self, cx: &Context<'_>) {
        let has_rung = self.alarm.has_rung(cx);
        if !has_rung && !self.is_asked || self.is_over() {
            return;
        }
        let waker = self.alarm.waker().clone();
        let mut cx = Context::from_waker(&waker);
        for _ in 0..TURNS_MAX {
            match self.turn() {
                Turn::Again => {}
                Turn::Asleep(until) => match self.backend.poll_ready(&mut cx, until) {
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(error)) => return self.end(Some(Failure::Backend(error))),
                    Poll::Pending => return,
                },
                Turn::Over => return,
            }
        }
        waker.wake_by_ref();
    }
}

impl<B: Backend, N: Copy + PartialEq, C: Messages, E> Link<B, N, C, E> {
    /// Drives the connection once.
    pub(crate) fn turn(&mut self) -> Turn {
        if self.is_over() {
            return Turn::Over;
        }
        self.is_asked = false;
        match self.try_turn() {
            Ok(Turn::Over) => self.end(None),
            Ok(turn) => return turn,
            Err(failure) => self.end(Some(failure)),
        }
        Turn::Over
    }

    fn try_turn(&mut self) -> Result<Turn, Failure<E>> {
        let now = self.backend.now();
        self.give(now);
        self.close_if_due(now);
        if self.may_resume() {
            self.machine.resume();
        }
        if let Some(failure) = self.upper.refused.take() {
            return Err(failure);
        }
        let deadline = drive_at(now, &mut self.machine, &mut self.backend, &mut self.upper)?;
        if self.machine.is_drained() {
            return Ok(Turn::Over);
        }
        if self.upper.closed.is_some() {
            self.drop_orders();
        }
        let waited = self.orders.len();
        self.give(now);
        let is_closed = self.close_if_due(now);
        if is_closed || self.orders.len() < waited || self.may_resume() {
            return Ok(Turn::Again);
        }
        let close_at = match self.closing {
            Closing::Asked(until) => Some(until),
            Closing::No | Closing::Wanted(_) | Closing::Told => None,
        };
        Ok(Turn::Asleep(deadline.into_iter().chain(close_at).min()))
    }

    /// Whether a paused endpoint may deliver a message: there is room, or both sides are without credits. A side that
    /// waits to send keeps its last credit for a message that grants, and has no receive to grant. A peer without
    /// credits cannot grant any either. One more message frees a receive.
    pub(super) fn may_resume(&self) -> bool {
        let endpoint = self.machine.endpoint();
        if !endpoint.is_paused() {
            return false;
        }
        let credits = endpoint.connection().credits();
        let stands_still = self.upper.is_sending() && credits.send() <= 1 && credits.outstanding() == 0;
        let inbox = &self.upper.inbox;
        !inbox.is_full() || stands_still && !inbox.is_overfull()
    }

    /// Gives the endpoint what waits, as far as it has room.
    #[inline]
    pub(crate) fn give(&mut self, now: Instant) {
        if !self.orders.is_empty() {
            self.give_orders(now);
        }
    }

    fn give_orders(&mut self, now: Instant) {
        while let Some(order) = self.orders.pop() {
            match order {
                Order::Send { payload, invalidate, is_signalled } => {
                    let taken = self.try_send(now, payload, invalidate, is_signalled);
                    match taken.map_err(|refused| (refused.error, refused.payload)) {
                        Ok(_) => {}
                        Err((SendError::Command(error), payload)) if is_early(error) => {
                            return self.orders.put_back(Order::Send { payload, invalidate, is_signalled });
                        }
                        // The connection is ending: what is queued may be lost then.
                        Err((SendError::Command(_), _)) => {}
                        Err((error, _)) => self.upper.refused = Some(error.into()),
                    }
                }
                Order::Rdma(transfer) => {
                    let Transfer { name, verb, ref remote, offset, len, is_signalled, .. } = transfer;
                    let rdma = if is_signalled { C::rdma } else { C::rdma_unsignalled };
                    match rdma(&mut self.machine, now, verb, len, Arc::clone(remote), offset) {
                        Ok(op) => self.upper.started(op, name, transfer.buffer),
                        Err(RdmaError::Command(error)) if is_early(error) => {
                            return self.orders.put_back(Order::Rdma(transfer));
                        }
                        Err(error) => self.upper.rdma_done(name, Err(error.into())),
                    }
                }
            }
        }
    }

    /// Gives the endpoint a message at once.
    pub(crate) fn try_send(
        &mut self,
        now: Instant,
        payload: Bytes,
        invalidate: Option<Token>,
        is_signalled: bool,
    ) -> Result<MsgId, NotSent> {
        let id = if is_signalled {
            self.machine.send(now, payload, invalidate)
        } else {
            self.machine.send_unsignalled(now, payload, invalidate)
        }?;
        self.upper.queued = self.upper.queued.saturating_add(1);
        Ok(id)
    }

    /// Begins to close if that was requested, and no order is before it or its time limit has come.
    #[inline]
    fn close_if_due(&mut self, now: Instant) -> bool {
        self.closing != Closing::No && self.begin_to_close(now)
    }

    #[cold]
    fn begin_to_close(&mut self, now: Instant) -> bool {
        if let Closing::Wanted(within) = self.closing {
            self.closing = Closing::Asked(now.saturating_add(within));
        }
        let Closing::Asked(until) = self.closing else { return false };
        let is_due = self.orders.is_empty() || until <= now;
        if is_due {
            self.drop_orders();
            self.closing = Closing::Told;
            self.machine.close(now, Close::Flush { until });
        }
        is_due
    }

    fn end(&mut self, cut_off: Option<Failure<E>>) {
        self.drop_orders();
        self.upper.end();
        let closed = self.upper.closed.take().unwrap_or(Ok(CloseReason::Local));
        self.ending = Some(cut_off.map_or(closed, Err));
    }
}

/// Whether there may be room for an order later.
const fn is_early(error: CommandError) -> bool {
    matches!(error, CommandError::NoRoom { .. } | CommandError::NotEstablished)
}
