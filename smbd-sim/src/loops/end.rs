//! One end of a connection: a device of the world, owned by the loop that drives it.

use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_core::backend::{Backend, BackendOp, ReceiveMemory};
use smbd_core::{BufferDescriptorV1, Head, Input, Instant, RecvId, RegId, Token};
use smbd_link::Waitable;
use smbd_link::blocking::Blocking;
use smbd_link::handles::PollReady;

use super::hub::{Flag, Hub};
use super::notes::Stuck;
use crate::Side;
use crate::device::Placed;
use crate::memory::Range;
use crate::swarm::Plan;

/// One host's device, owned by whoever drives it.
pub struct LoopEnd<M = Range> {
    hub: Rc<Hub>,
    side: Side,
    received: Vec<Vec<u8>>,
    segments: Vec<BufferDescriptorV1>,
    /// How often it was armed.
    armed: u32,
    memory: PhantomData<M>,
}

/// What has to be copied of an input before the world is let go.
enum Rest {
    Message(RecvId, Head, u32, Option<Token>),
    Segments(RegId, bool),
}

impl<M> LoopEnd<M> {
    pub(super) fn new(hub: &Rc<Hub>, side: Side, plan: &Plan) -> Self {
        let slots = plan.configs[side.index()].budget().recv_slots as usize;
        let received = vec![Vec::new(); slots];
        Self { hub: Rc::clone(hub), side, received, segments: Vec::new(), armed: 0, memory: PhantomData }
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// How long its connection may take to end, if it is to end now.
    pub(super) fn take_ending(&self) -> Option<Duration> {
        self.hub.take_ending(self.side)
    }
}

impl<M> fmt::Debug for LoopEnd<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopEnd").field("side", &self.side).finish_non_exhaustive()
    }
}

/// Its protection domain goes with it, and all access with that.
impl<M> Drop for LoopEnd<M> {
    fn drop(&mut self) {
        if let Ok(mut world) = self.hub.world.try_borrow_mut() {
            world.host_mut(self.side).device.close_all_registrations();
        }
    }
}

impl<M> ReceiveMemory for LoopEnd<M> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.received.get(usize::from(id.slot())).map_or(&[], Vec::as_slice)
    }
}

impl<M: Placed> Backend for LoopEnd<M> {
    type Buffer = M;

    fn now(&self) -> Instant {
        self.hub.now()
    }

    fn execute(&mut self, step: BackendOp<'_, M>) {
        self.hub.world.borrow_mut().end(self.side).execute(step);
    }

    fn ring_doorbell(&mut self) {
        self.hub.world.borrow_mut().end::<M>(self.side).ring_doorbell();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        let mut world = self.hub.world.borrow_mut();
        let rest = match world.next_input(self.side)? {
            Input::Received { id, head, len, invalidated } => Rest::Message(id, head, len, invalidated),
            Input::Registered { id, segments, bind_complete } => {
                self.segments = segments.to_vec();
                Rest::Segments(id, bind_complete)
            }
            Input::Connected { limits } => return Some(Input::Connected { limits }),
            Input::ConnectFailed { reason } => return Some(Input::ConnectFailed { reason }),
            Input::Disconnected { reason } => return Some(Input::Disconnected { reason }),
            Input::Timeout => return Some(Input::Timeout),
            Input::Sent { id } => return Some(Input::Sent { id }),
            Input::RdmaDone { id } => return Some(Input::RdmaDone { id }),
            Input::BindComplete { id } => return Some(Input::BindComplete { id }),
            Input::Deregistered { id } => return Some(Input::Deregistered { id }),
            Input::Failed { id, error } => return Some(Input::Failed { id, error }),
        };
        match rest {
            Rest::Message(id, head, len, invalidated) => {
                let message = world.host(self.side).device.nic.message(id);
                message.clone_into(&mut self.received[usize::from(id.slot())]);
                Some(Input::Received { id, head, len, invalidated })
            }
            Rest::Segments(id, bind_complete) => {
                drop(world);
                Some(Input::Registered { id, segments: &self.segments, bind_complete })
            }
        }
    }
}

impl<M: Placed> Waitable for LoopEnd<M> {
    type Error = Stuck;

    fn arm(&mut self) -> Result<bool, Stuck> {
        self.armed += 1;
        self.hub.arm(self.side, self.armed)
    }

    fn is_ready(&mut self) -> bool {
        self.hub.world.borrow().host(self.side).device.has_more()
    }

    fn busy_poll_micros_max(&self) -> u64 {
        0
    }
}

impl<M: Placed> PollReady for LoopEnd<M> {
    type Error = Stuck;

    fn poll_ready(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<Result<(), Stuck>> {
        match self.arm() {
            Ok(false) if until.is_none_or(|until| until > self.now()) => {}
            armed => return Poll::Ready(armed.map(drop)),
        }
        self.hub.sleep(self.side, cx.waker().clone(), until);
        Poll::Pending
    }
}

impl<M: Placed> Blocking for LoopEnd<M> {
    type Error = Stuck;

    fn wait(&mut self, until: Option<Instant>) -> Result<(), Stuck> {
        if self.arm()? || until.is_some_and(|until| until <= self.now()) {
            return Ok(());
        }
        let flag = Flag::new(false);
        self.hub.sleep(self.side, Waker::from(Arc::clone(&flag)), until);
        while !flag.take() {
            self.hub.turn_or_stop()?;
        }
        Ok(())
    }
}
