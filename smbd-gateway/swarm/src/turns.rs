//! How the two who are no gateway go on: one with a device, one at the stream.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use smbd_core::Instant;
use smbd_core::backend::{Handler, drive};
use smbd_link::Messages;
use smbd_link::handles::PollReady;
use smbd_sim::loops::{LoopEnd, Timer};

use crate::notes::Notes;
use smbd_testkit::swarm::Memory;
use smbd_testkit::swarm::pipe;

/// Bytes of the stream that are read at once.
const ROOM: usize = 64 << 10;

/// Somebody with a device.
pub trait AtDevice<C: Messages>: Handler<LoopEnd<Memory>, C> {
    /// Who it is.
    const NAME: &'static str;

    fn notes(&self) -> &Notes;

    /// Does what is due. When it wants to do something else.
    fn act(&mut self, machine: &mut C, now: Instant) -> Option<Instant>;

    /// Whether something has happened since this was asked.
    fn take_news(&mut self) -> bool;
}

/// Drives the connection of one with a device until it is drained.
pub async fn drive_to_end<C: Messages>(mut who: impl AtDevice<C>, mut machine: C, mut end: LoopEnd<Memory>) {
    poll_fn(|cx| poll_device(&mut who, &mut machine, &mut end, cx)).await;
    over(who.notes(), name_of(&who));
}

fn name_of<C: Messages, T: AtDevice<C>>(_: &T) -> &'static str {
    T::NAME
}

fn over(notes: &Notes, name: &str) {
    notes.step(|| format!("{name}: over"));
}

fn poll_device<C: Messages>(
    who: &mut impl AtDevice<C>,
    machine: &mut C,
    end: &mut LoopEnd<Memory>,
    cx: &mut Context<'_>,
) -> Poll<()> {
    loop {
        let now = who.notes().stage().now();
        let wake = who.act(machine, now);
        let deadline = match drive(machine, end, who) {
            Ok(deadline) => deadline,
            Err(error) => {
                let name = name_of(who);
                who.notes().judge(Err(format!("driven: the {name}'s loop: {error}")));
                return Poll::Ready(());
            }
        };
        if machine.is_drained() {
            return Poll::Ready(());
        }
        if who.take_news() {
            continue;
        }
        match end.poll_ready(cx, deadline.into_iter().chain(wake).min()) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Pending => return Poll::Pending,
        }
    }
}

/// What came of a try.
pub enum Tried {
    Something,
    Nothing,
    /// The stream is over.
    Over,
}

/// Writes what the stream takes of `out`.
pub fn write(end: &mut pipe::End, out: &mut Vec<u8>, cx: &mut Context<'_>) -> Tried {
    if out.is_empty() {
        return Tried::Nothing;
    }
    match end.poll_write(cx, &[out]) {
        Poll::Pending => Tried::Nothing,
        Poll::Ready(Ok(taken)) => {
            out.drain(..taken);
            Tried::Something
        }
        Poll::Ready(Err(_)) => Tried::Over,
    }
}

/// Reads what has come; without anything, what the try has come to.
pub fn read(end: &mut pipe::End, cx: &mut Context<'_>) -> Result<Vec<u8>, Tried> {
    let mut bytes = Vec::new();
    match end.poll_read(cx, ROOM, |piece| bytes.extend_from_slice(piece)) {
        Poll::Pending => Err(Tried::Nothing),
        Poll::Ready(Ok(0) | Err(_)) => Err(Tried::Over),
        Poll::Ready(Ok(_)) => Ok(bytes),
    }
}

/// Somebody at the other end of the stream.
pub trait AtStream {
    /// Who it is.
    const NAME: &'static str;

    fn notes(&self) -> &Notes;

    /// Whether it leaves now.
    fn leaves(&mut self) -> bool;

    /// Does what it can.
    fn act(&mut self, cx: &mut Context<'_>) -> [Tried; 3];

    /// The next time after `now` at which it has something to do by itself.
    fn next_time(&self, now: Instant) -> Option<Instant>;
}

/// Goes on until the stream is over, or whoever is at it leaves.
pub async fn stay(mut who: impl AtStream) {
    let mut timer = None;
    poll_fn(|cx| poll_stream(&mut who, &mut timer, cx)).await;
    over(who.notes(), stream_name_of(&who));
}

fn stream_name_of<T: AtStream>(_: &T) -> &'static str {
    T::NAME
}

fn poll_stream(who: &mut impl AtStream, timer: &mut Option<Timer>, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        if who.notes().seen().breach.is_some() || who.leaves() {
            return Poll::Ready(());
        }
        let mut has_moved = false;
        for tried in who.act(cx) {
            match tried {
                Tried::Over => return Poll::Ready(()),
                Tried::Something => has_moved = true,
                Tried::Nothing => {}
            }
        }
        if has_moved {
            continue;
        }
        // It comes back when it has something to do.
        let stage = who.notes().stage();
        *timer = who.next_time(stage.now()).map(|at| stage.sleep_until(at));
        if !timer.as_mut().is_some_and(|timer| Pin::new(timer).poll(cx).is_ready()) {
            return Poll::Pending;
        }
    }
}
