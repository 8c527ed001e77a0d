//! The wait of a task, over a scripted device.

use std::future::poll_fn;
use std::time::Duration;

use smbd_core::Instant;
use smbd_core::backend::Backend;
use smbd_link::handles::PollReady;

use super::{AsyncEnd, Connecting, Connection, Driver, Listener, Receiver, Sender, Told};
use crate::Clock;
use crate::scripted::Device;

// It has one descriptor for everything.
impl Told for Device {}

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
        let mut end = AsyncEnd::new(Device::new(Clock::start(), false)).unwrap();
        let bell = end.get_ref().bell.try_clone().unwrap();
        for _ in 0..100 {
            let heard = async {
                while end.next_input().is_none() {
                    wait(&mut end, None).await;
                }
            };
            // When the task waits already.
            let ring = async {
                tokio::task::yield_now().await;
                rustix::io::write(&bell, &1_u64.to_ne_bytes()).unwrap();
            };
            tokio::join!(heard, ring);
            assert!(end.next_input().is_none(), "it is taken");
        }
    });
}

#[test]
fn a_task_is_woken_at_the_deadline_also_when_that_moves() {
    block_on(async {
        let mut end = AsyncEnd::new(Device::new(Clock::start(), false)).unwrap();
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
        let mut end = AsyncEnd::new(Device::new(Clock::start(), true)).unwrap();
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
