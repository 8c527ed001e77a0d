//! The wait of a task, over a scripted device.

use std::future::poll_fn;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use smbd_core::backend::{Backend, BackendOp, ReceiveMemory};
use smbd_core::error::DisconnectReason;
use smbd_core::runtime::Waitable;
use smbd_core::runtime::tokio::PollReady;
use smbd_core::{Input, Instant, RecvId};

use super::{AsyncEnd, Connecting, Connection, Driver, Listener, Receiver, Sender};
use crate::{Clock, Error};

/// Says something when its bell was rung.
struct Device {
    clock: Clock,
    bell: OwnedFd,
    has_news: bool,
}

impl Device {
    fn new() -> Self {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
        Self { clock: Clock::start(), bell, has_news: false }
    }

    fn ring_bell(&self) {
        rustix::io::write(&self.bell, &1_u64.to_ne_bytes()).unwrap();
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl ReceiveMemory for Device {
    fn received(&self, _: RecvId) -> &[u8] {
        &[]
    }
}

impl Backend for Device {
    type Buffer = ();

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn execute(&mut self, _: BackendOp<'_, ()>) {}

    fn ring_doorbell(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        rustix::io::read(&self.bell, &mut [0; 8])
            .is_ok()
            .then_some(Input::Disconnected { reason: DisconnectReason::Unknown })
    }
}

impl Waitable for Device {
    type Error = Error;

    fn arm(&mut self) -> Result<bool, Error> {
        Ok(self.has_news)
    }

    fn is_ready(&mut self) -> bool {
        self.has_news
    }

    fn busy_poll_micros_max(&self) -> u64 {
        0
    }
}

fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await }).unwrap();
}

async fn wait(end: &mut AsyncEnd<Device>, until: Option<Instant>) {
    poll_fn(|cx| end.poll_ready(cx, until)).await.unwrap();
}

#[test]
fn a_task_is_woken_each_time_the_device_says_something() {
    block_on(async {
        let mut end = AsyncEnd::new(Device::new()).unwrap();
        for _ in 0..100 {
            end.get_ref().ring_bell();
            while end.next_input().is_none() {
                wait(&mut end, None).await;
            }
            assert!(end.next_input().is_none(), "it is taken");
        }
    });
}

#[test]
fn a_task_is_woken_at_the_deadline_also_when_that_moves() {
    block_on(async {
        let mut end = AsyncEnd::new(Device::new()).unwrap();
        let far = end.now().saturating_add(Duration::from_secs(100_000));
        let near = end.now().saturating_add(Duration::from_millis(2));
        for until in [far, near] {
            poll_fn(|cx| {
                assert!(until == near || end.poll_ready(cx, Some(until)).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
        }
        while end.now() < near {
            wait(&mut end, Some(near)).await;
        }
        wait(&mut end, Some(Instant::ORIGIN)).await;
    });
}

#[test]
fn a_device_that_has_something_already_is_not_slept_on() {
    block_on(async {
        let mut end = AsyncEnd::new(Device { has_news: true, ..Device::new() }).unwrap();
        wait(&mut end, None).await;
    });
}

#[test]
fn all_parts_may_move_between_threads() {
    const fn is_send<T: Send>() {}
    is_send::<Connection>();
    is_send::<Sender>();
    is_send::<Receiver>();
    is_send::<Connecting>();
    is_send::<Driver>();
    is_send::<Listener>();
    const fn is_sync<T: Sync>() {}
    is_sync::<Sender>();
}
