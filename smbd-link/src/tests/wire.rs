//! A pair of reference backends in virtual time, owned by the tasks that drive them, and an executor that polls only who was
//! woken.

use std::boxed::Box;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::vec::Vec;

use crate::PollReady;
use smbd_core::backend::kit::reference::{Reference, ReferenceBuffer, ReferenceFixture};
use smbd_core::backend::kit::{Fixture, Lab, Peer, Situation};
use smbd_core::backend::{Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, ReceiveMemory};
use smbd_core::{BufferDescriptorV1, Config, Input, Instant, RecvId};

/// Time that passes when nobody has anything to do.
const STEP: Duration = Duration::from_millis(1);

pub(crate) struct Net {
    fixture: ReferenceFixture,
    sleepers: Vec<Sleeper>,
    /// RDMA requests that ask for a completion of their own.
    pub(crate) signalled: u32,
}

struct Sleeper {
    end: Peer,
    news: Rc<RefCell<VecDeque<Owned>>>,
    until: Option<Instant>,
    waker: Waker,
}

/// An input that borrows nothing, and the message of a `Received`.
struct Owned {
    input: Input<'static>,
    segments: Vec<BufferDescriptorV1>,
    message: Option<(RecvId, Vec<u8>)>,
}

pub(crate) struct WireEnd {
    net: Rc<RefCell<Net>>,
    end: Peer,
    news: Rc<RefCell<VecDeque<Owned>>>,
    messages: Vec<(u16, Vec<u8>)>,
    segments: Vec<BufferDescriptorV1>,
}

impl Net {
    pub(crate) fn new(situation: Situation, config: &Config) -> Rc<RefCell<Self>> {
        let fixture = Reference::default().fixture(situation, config).unwrap();
        Rc::new(RefCell::new(Self { fixture, sleepers: Vec::new(), signalled: 0 }))
    }

    /// Lets a moment pass, and wakes those for whom there is something.
    fn pass(&mut self) {
        self.fixture.pass(STEP);
        let Self { fixture, sleepers, .. } = self;
        sleepers.retain(|sleeper| {
            let mut end = fixture.backend(sleeper.end);
            let now = end.now();
            let mut news = sleeper.news.borrow_mut();
            if news.is_empty() {
                news.extend(next(&mut end));
            }
            let stays = news.is_empty() && sleeper.until.is_none_or(|until| until > now);
            if !stays {
                sleeper.waker.wake_by_ref();
            }
            stays
        });
    }
}

fn next(end: &mut impl Backend) -> Option<Owned> {
    let input = end.next_input()?;
    let (mut owned, received) = match input {
        Input::Registered { id, segments, bind_complete } => {
            let segments = segments.to_vec();
            let input = Input::Registered { id, segments: &[], bind_complete };
            (Owned { input, segments, message: None }, None)
        }
        Input::Received { id, head, len, invalidated } => {
            let input = Input::Received { id, head, len, invalidated };
            (Owned { input, segments: Vec::new(), message: None }, Some(id))
        }
        Input::Connected { limits } => (plain(Input::Connected { limits }), None),
        Input::ConnectFailed { reason } => (plain(Input::ConnectFailed { reason }), None),
        Input::Disconnected { reason } => (plain(Input::Disconnected { reason }), None),
        Input::Timeout => (plain(Input::Timeout), None),
        Input::Sent { id } => (plain(Input::Sent { id }), None),
        Input::RdmaDone { id } => (plain(Input::RdmaDone { id }), None),
        Input::BindComplete { id } => (plain(Input::BindComplete { id }), None),
        Input::Deregistered { id } => (plain(Input::Deregistered { id }), None),
        Input::Failed { id, error } => (plain(Input::Failed { id, error }), None),
    };
    owned.message = received.map(|id| (id, end.received(id).to_vec()));
    Some(owned)
}

const fn plain(input: Input<'static>) -> Owned {
    Owned { input, segments: Vec::new(), message: None }
}

impl WireEnd {
    pub(crate) fn new(net: &Rc<RefCell<Net>>, end: Peer) -> Self {
        Self { net: Rc::clone(net), end, news: Rc::default(), messages: Vec::new(), segments: Vec::new() }
    }
}

impl ReceiveMemory for WireEnd {
    fn received(&self, id: RecvId) -> &[u8] {
        self.messages.iter().find(|(slot, _)| *slot == id.slot()).map_or(&[], |(_, message)| message)
    }
}

impl Backend for WireEnd {
    type Buffer = ReferenceBuffer;

    fn now(&self) -> Instant {
        self.net.borrow_mut().fixture.backend(self.end).now()
    }

    fn execute(&mut self, step: BackendOp<'_, ReferenceBuffer>) {
        let mut net = self.net.borrow_mut();
        net.signalled += u32::from(matches!(step, BackendOp::PostRdma { signal: true, .. }));
        net.fixture.backend(self.end).execute(step);
    }

    fn ring_doorbell(&mut self) {
        self.net.borrow_mut().fixture.backend(self.end).ring_doorbell();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        let waiting = self.news.borrow_mut().pop_front();
        let Owned { input, segments, message } =
            waiting.or_else(|| next(&mut self.net.borrow_mut().fixture.backend(self.end)))?;
        if let Some((id, message)) = message {
            self.messages.retain(|(slot, _)| *slot != id.slot());
            self.messages.push((id.slot(), message));
        }
        let Input::Registered { id, bind_complete, .. } = input else { return Some(input) };
        self.segments = segments;
        Some(Input::Registered { id, segments: &self.segments, bind_complete })
    }
}

impl HostMemory for WireEnd {
    fn allocate(&mut self, len: u32) -> Result<ReferenceBuffer, OutOfMemory> {
        self.net.borrow_mut().fixture.backend(self.end).allocate(len)
    }

    fn fill(&mut self, buffer: &ReferenceBuffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.net.borrow_mut().fixture.backend(self.end).fill(buffer, offset, bytes)
    }

    fn read(&self, buffer: &ReferenceBuffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.net.borrow_mut().fixture.backend(self.end).read(buffer, offset, out)
    }
}

impl PollReady for WireEnd {
    type Error = Infallible;

    fn poll_ready(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<Result<(), Infallible>> {
        if !self.news.borrow().is_empty() || until.is_some_and(|until| until <= self.now()) {
            return Poll::Ready(Ok(()));
        }
        let (end, news, waker) = (self.end, Rc::clone(&self.news), cx.waker().clone());
        let sleepers = &mut self.net.borrow_mut().sleepers;
        sleepers.retain(|sleeper| sleeper.end != end);
        sleepers.push(Sleeper { end, news, until, waker });
        Poll::Pending
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Polls those that were woken; time passes when nobody was.
pub(crate) struct Executor {
    net: Rc<RefCell<Net>>,
    tasks: Vec<(Arc<Flag>, Task)>,
}

impl Executor {
    pub(crate) fn new(net: &Rc<RefCell<Net>>) -> Self {
        Self { net: Rc::clone(net), tasks: Vec::new() }
    }

    pub(crate) fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        self.tasks.push((Arc::new(Flag(AtomicBool::new(true))), Box::pin(task)));
    }

    /// Until all tasks are over, within so much time. How many are not.
    pub(crate) fn run(&mut self, within: Duration) -> usize {
        let steps = within.as_micros() / STEP.as_micros();
        for _ in 0..steps {
            while self.poll_woken() {}
            if self.tasks.is_empty() {
                break;
            }
            self.net.borrow_mut().pass();
        }
        self.tasks.len()
    }

    fn poll_woken(&mut self) -> bool {
        let mut any = false;
        self.tasks.retain_mut(|(flag, task)| {
            if !flag.0.swap(false, Ordering::Relaxed) {
                return true;
            }
            any = true;
            let waker = Waker::from(Arc::clone(flag));
            task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
        });
        any
    }
}
