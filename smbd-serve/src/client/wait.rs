//! A client's task waits for what happens next.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};

use smbd_core::Instant;
use smbd_smb2::server::LinkId;

use super::group::{Group, Happened};
use super::member::Member;
use super::surroundings::Surroundings;
use crate::served::Served;

/// So much later than its deadline is the server told of the time, in 100 ns: a clock may be early.
const LATE: u64 = 10_000;

impl<F: Served, A: Surroundings> Group<F, A> {
    /// Waits until something has happened.
    pub(super) async fn wait(&mut self, wants_messages: bool) -> Happened<A> {
        let (around, until) = (self.times.around.clone(), self.deadline());
        let mut time = pin!(async move {
            match until {
                Some(until) => around.sleep_until(until).await,
                None => std::future::pending().await,
            }
        });
        poll_fn(|cx| {
            if let Poll::Ready(Some(told)) = self.inbox.poll_recv(cx) {
                return Poll::Ready(Happened::Told(told));
            }
            if let Poll::Ready(happened) = self.poll_members(cx, wants_messages) {
                return Poll::Ready(happened);
            }
            time.as_mut().poll(cx).map(|()| Happened::Time)
        })
        .await
    }

    /// When something is to be done even if nothing happens.
    fn deadline(&self) -> Option<Instant> {
        let patience = self.host.patience();
        let interim = self.running.oldest().zip(patience).map(|(began, time)| began.saturating_add(time));
        let of_client = self.client.deadline().map(|until| until.saturating_add(LATE));
        interim.into_iter().chain(of_client).min().map(|until| self.times.at(until))
    }

    /// What has come on one of the connections, each of which has its turn.
    fn poll_members(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Happened<A>> {
        let last = self.last;
        // Those behind the one that was listened to last come first. One that is lost says so for ever.
        for is_behind in [true, false] {
            let is_next =
                |(on, member): &(&LinkId, &mut Member<A>)| member.why.is_none() && (**on > last) == is_behind;
            for (on, member) in self.members.iter_mut().filter(is_next) {
                if member.ended.poll_closed(cx).is_ready() {
                    return Poll::Ready(Happened::Lost(*on, "nobody serves it any more".to_owned()));
                }
                if let Poll::Ready(event) = member.link.poll_event(cx, wants_messages) {
                    self.last = *on;
                    return Poll::Ready(match event {
                        Ok(event) => Happened::Link(*on, event),
                        Err(lost) => Happened::Lost(*on, lost),
                    });
                }
            }
        }
        Poll::Pending
    }

    /// Tells the client of operations that take long.
    pub(super) fn announce_slow(&mut self, now: u64) {
        let Some(patience) = self.host.patience() else { return };
        let then = now.saturating_sub(patience);
        while let Some(id) = self.running.take_slow(then) {
            let told = self.client.prolong(now, id);
            self.expected(told);
        }
    }
}
