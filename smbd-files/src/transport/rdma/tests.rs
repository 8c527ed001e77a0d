//! A connection that its user drives, over a device that does what a test says.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::mem;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use smbd_core::backend::{Backend, BackendOp, ReceiveMemory};
use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::wire::{DataTransfer, Flags, NegotiateResponse, status};
use smbd_core::{Config, Head, Input, Instant, Limits, Params, RecvId, Role, WrId};

use smbd_link::link::Options;

use super::super::MemoryError;
use super::*;

const LIMITS: Limits = Limits {
    read_depth: 4,
    send_queue: 256,
    rdma_len_max: u32::MAX,
    registration_requests: 0,
    send_with_invalidate: true,
    reads_in_order: true,
};

/// Memory of nobody.
#[derive(Clone, Debug)]
struct Nowhere;

impl Memory for Nowhere {
    fn allocate(_: u32) -> Result<Self, MemoryError> {
        Ok(Self)
    }

    fn fill(&self, _: u32, _: &[u8]) -> Result<(), MemoryError> {
        Ok(())
    }

    fn read(&self, _: u32, _: &mut [u8]) -> Result<(), MemoryError> {
        Ok(())
    }
}

/// A device, of which a test has a clone.
#[derive(Clone, Default)]
struct Device(Rc<State>);

#[derive(Default)]
struct State {
    inputs: RefCell<VecDeque<Input<'static>>>,
    posted: RefCell<VecDeque<RecvId>>,
    /// How often somebody has looked for an input.
    looks: Cell<u32>,
    waker: RefCell<Option<Waker>>,
    has_ended: Cell<bool>,
}

const BYTES: [u8; 64] = [7; 64];

impl ReceiveMemory for Device {
    fn received(&self, _: RecvId) -> &[u8] {
        &BYTES
    }
}

impl Backend for Device {
    type Buffer = Nowhere;

    fn now(&self) -> Instant {
        Instant::ORIGIN
    }

    fn execute(&mut self, step: BackendOp<'_, Nowhere>) {
        let mut inputs = self.0.inputs.borrow_mut();
        match step {
            BackendOp::Connect => inputs.push_back(Input::Connected { limits: LIMITS }),
            BackendOp::PostRecv { id, .. } => self.0.posted.borrow_mut().push_back(id),
            BackendOp::PostSend { id, .. } => inputs.push_back(Input::Sent { id }),
            BackendOp::Disconnect => {
                let posted = mem::take(&mut *self.0.posted.borrow_mut());
                let flushed = |id| Input::Failed { id: WrId::Recv(id), error: WorkError::Flushed };
                inputs.extend(posted.into_iter().map(flushed));
                if !self.0.has_ended.replace(true) {
                    inputs.push_back(Input::Disconnected { reason: DisconnectReason::Local });
                }
            }
            _ => {}
        }
    }

    fn ring_doorbell(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        self.0.looks.set(self.0.looks.get() + 1);
        self.0.inputs.borrow_mut().pop_front()
    }
}

impl PollReady for Device {
    type Error = Infallible;

    fn poll_ready(&mut self, cx: &mut Context<'_>, _: Option<Instant>) -> Poll<Result<(), Infallible>> {
        *self.0.waker.borrow_mut() = Some(cx.waker().clone());
        if self.0.inputs.borrow().is_empty() { Poll::Pending } else { Poll::Ready(Ok(())) }
    }
}

impl Device {
    /// Something comes, and nobody is woken yet.
    fn receive(&self, head: &[u8], len: u32) {
        let id = self.0.posted.borrow_mut().pop_front().expect("a posted receive");
        self.0.inputs.borrow_mut().push_back(Input::Received {
            id,
            head: Head::of(head),
            len,
            invalidated: None,
        });
    }

    fn message(&self) {
        let header = DataTransfer {
            credits_requested: 10,
            credits_granted: 1,
            flags: Flags::NONE,
            remaining_data_length: 0,
            data_offset: 24,
            data_length: 40,
        };
        let mut bytes = [7; 64];
        header.encode(&mut bytes).expect("room for a header");
        self.receive(&bytes[..32], 64);
    }

    fn end(&self) {
        self.0.has_ended.set(true);
        let ended = Input::Disconnected { reason: DisconnectReason::PeerClosed };
        self.0.inputs.borrow_mut().push_back(ended);
    }

    fn wake(&self) {
        let waker = self.0.waker.borrow().clone();
        waker.expect("somebody waits").wake();
    }
}

#[derive(Default)]
struct Task(AtomicUsize);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A connection that is established, its device, and the task that has it.
fn established() -> (Rdma<Device>, Device, Arc<Task>) {
    let device = Device::default();
    let config = Config::try_from(Params { max_send_size: 1364, ..Params::linux_client() }).expect("valid");
    let machine = Endpoint::new(Role::Initiator, &config, Instant::ORIGIN);
    let task = Arc::new(Task::default());
    let waker = Waker::from(Arc::clone(&task));
    let mut cx = Context::from_waker(&waker);
    let rdma = {
        let establishing = Link::new(machine, device.clone(), Options::default()).established(drop);
        let mut establishing = pin!(establishing);
        assert!(establishing.as_mut().poll(&mut cx).is_pending());
        let response = NegotiateResponse {
            min_version: 0x0100,
            max_version: 0x0100,
            negotiated_version: 0x0100,
            credits_requested: 10,
            credits_granted: 10,
            status: status::SUCCESS,
            max_read_write_size: 1 << 20,
            preferred_send_size: 1364,
            max_receive_size: 8192,
            max_fragmented_size: 1 << 20,
        };
        let mut bytes = [0; 32];
        response.encode(&mut bytes).expect("room for it");
        device.receive(&bytes, 32);
        device.wake();
        match establishing.poll(&mut cx) {
            Poll::Ready(Ok((link, negotiated))) => {
                let max_send = negotiated.max_fragmented_send_size;
                Rdma::new(link, client::Transport { max_send, max_receive: 1 << 20, rdma: None })
            }
            other => panic!("{other:?}"),
        }
    };
    (rdma, device, task)
}

#[test]
fn a_device_that_says_nothing_is_not_looked_at_however_often_the_task_is_woken() {
    let (mut rdma, device, task) = established();
    let waker = Waker::from(Arc::clone(&task));
    let mut cx = Context::from_waker(&waker);
    assert!(rdma.poll_receive(&mut cx).is_pending());
    let (looks, woken) = (device.0.looks.get(), task.0.load(Ordering::Relaxed));
    device.message();
    for _ in 0..10 {
        assert!(rdma.poll_registered(&mut cx).is_pending());
        assert!(rdma.poll_receive(&mut cx).is_pending());
        assert!(rdma.poll_ready(&mut cx).is_ready());
    }
    assert_eq!(device.0.looks.get(), looks);
    device.wake();
    assert_eq!(task.0.load(Ordering::Relaxed), woken + 1);
    let Poll::Ready(Ok(received)) = rdma.poll_receive(&mut cx) else { panic!("a message has come") };
    assert_eq!(received.message.len(), 40);
    assert!(device.0.looks.get() > looks);
}

#[test]
fn all_messages_that_came_are_told_before_the_end() {
    let (mut rdma, device, task) = established();
    let waker = Waker::from(task);
    let mut cx = Context::from_waker(&waker);
    (0..3).for_each(|_| device.message());
    device.end();
    device.wake();
    for _ in 0..3 {
        assert!(matches!(rdma.poll_receive(&mut cx), Poll::Ready(Ok(_))));
        rdma.send([&[1], &[2]]);
    }
    let Poll::Ready(Err(lost)) = rdma.poll_receive(&mut cx) else { panic!("it has ended") };
    assert!(lost.to_string().starts_with("connection ended"), "{lost}");
    assert!(matches!(rdma.poll_ready(&mut cx), Poll::Ready(Err(_))));
    assert!(rdma.poll_close(&mut cx).is_ready());
}

#[test]
fn memory_is_refused_on_a_connection_that_goes_on_and_not_by_its_end() {
    let refused = |error| Failure::<Infallible>::Register(error);
    assert!(ends(&refused(CommandError::Closing.into())));
    assert!(!ends(&refused(CommandError::NoRoom { what: "registrations" }.into())));
    assert!(!ends(&refused(RegisterError::Segments { segments: 300, max: 256 })));
}

#[test]
fn what_waits_is_sent_before_a_connection_is_closed_and_it_is_over_when_all_is_back() {
    let (mut rdma, device, task) = established();
    let waker = Waker::from(task);
    let mut cx = Context::from_waker(&waker);
    rdma.send([&[1; 100], &[]]);
    let mut polls = 0;
    while rdma.poll_close(&mut cx).is_pending() {
        polls += 1;
        assert!(polls < 10);
    }
    assert!(device.0.posted.borrow().is_empty(), "all receives came back");
    assert_eq!(Rc::strong_count(&device.0), 1, "the device has gone");
}
