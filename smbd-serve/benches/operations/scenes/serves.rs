//! What serves a client, as it ships: `smbd_serve::serve_in` with a file system that has all in memory, so that the client's task carries
//! out all operations. What the file system does costs next to nothing.

use std::future::{Future, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use smbd_core::Instant;
use smbd_link::link::Link;
use smbd_link::time::Clock;
use smbd_link::transport::Memory;
use smbd_serve::{Host, Served, Surroundings, serve_in};
use smbd_smb2::server::{Attributes, Entry, FileResult, FileSystem, OpenParameters, OperationId, Volume};
use smbd_smb2::wire::{CreateAction, FileAttributes, NtStatus};
use tokio::sync::watch;

use smbd_testkit::scenes::client::{Sleep, Still};
use smbd_testkit::scenes::device::Device;
use smbd_testkit::scenes::host::{NOW, server};
use smbd_testkit::scenes::world::Task;

/// Files whose bytes are neither kept nor made: a READ has what was in the memory before.
#[derive(Clone, Debug)]
pub struct Void;

impl FileSystem for Void {
    /// Its length.
    type File = Arc<AtomicU64>;

    fn open(&mut self, _: &OpenParameters, _: u64) -> FileResult<(Self::File, CreateAction)> {
        Ok((Arc::default(), CreateAction::CREATED))
    }

    fn attributes(&self, file: &Self::File) -> FileResult<Attributes> {
        let end_of_file = file.load(Ordering::Relaxed);
        Ok(Attributes {
            id: 1,
            creation_time: NOW,
            last_access_time: NOW,
            last_write_time: NOW,
            change_time: NOW,
            allocation_size: end_of_file,
            end_of_file,
            file_attributes: FileAttributes::NORMAL,
            links: 1,
            is_delete_pending: false,
        })
    }

    fn read(&mut self, file: &Self::File, offset: u64, into: &mut [u8]) -> FileResult<usize> {
        Ok(there(file, offset, into.len()))
    }

    fn write(&mut self, file: &Self::File, offset: u64, data: &[u8], _: bool, _: u64) -> FileResult<()> {
        file.fetch_max(offset + data.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn list(&mut self, _: &Self::File, _: u64, _: usize) -> FileResult<Vec<Entry>> {
        Err(NtStatus::NOT_A_DIRECTORY)
    }

    fn volume(&self) -> Volume {
        Volume {
            label: "void".to_owned(),
            serial: 0,
            creation_time: NOW,
            unit: 4096,
            total_units: 1,
            free_units: 0,
        }
    }
}

/// How many bytes there are.
fn there(file: &AtomicU64, offset: u64, len: usize) -> usize {
    let left = file.load(Ordering::Relaxed).saturating_sub(offset);
    usize::try_from(left).map_or(len, |left| left.min(len))
}

impl Served for Void {
    fn is_quick(&self) -> bool {
        true
    }

    fn read_to(&mut self, file: &Self::File, offset: u64, to: (&dyn Memory, u32)) -> FileResult<usize> {
        Ok(there(file, offset, to.1 as usize))
    }

    fn write_from(
        &mut self,
        file: &Self::File,
        offset: u64,
        from: (&dyn Memory, u32),
        _: bool,
        _: u64,
    ) -> FileResult<()> {
        file.fetch_max(offset + u64::from(from.1), Ordering::Relaxed);
        Ok(())
    }
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Time that stands still, and tasks that were begun for a connection.
#[derive(Clone, Default)]
pub struct Around(Arc<Mutex<Vec<Boxed>>>);

impl Clock for Around {
    type Sleep = Sleep;

    fn now(&self) -> Instant {
        Still.now()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        Still.sleep_until(at)
    }
}

impl Surroundings for Around {
    fn random(&self, into: &mut [u8]) -> Result<(), String> {
        into.fill(7);
        Ok(())
    }

    fn date(&self) -> u64 {
        NOW
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().expect("no panics").push(Box::pin(task));
    }

    /// Names are looked up by threads, before anything is measured.
    fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Option<T>> + Send + 'static {
        ready(Some(work()))
    }
}

/// What is served to all clients.
pub struct Serves {
    host: Arc<Host<Void, Around>>,
    stop: watch::Sender<bool>,
}

impl Serves {
    pub fn new() -> Self {
        Self { host: Arc::new(Host::new_in(server(), vec![Void], 1)), stop: watch::channel(false).0 }
    }

    /// Serves a connection, which never ends.
    pub fn serve(&self, link: Link<Device, OperationId>) -> Task {
        let (host, around, stops) = (Arc::clone(&self.host), Around::default(), self.stop.subscribe());
        let begun = around.clone();
        Task::new(true, async move {
            let (link, _) = link.established(drop).await.expect("established");
            let mut taking = pin!(serve_in(host, link, (stops, Duration::ZERO), |_| {}, around));
            let mut tasks = Vec::new();
            poll_fn(|cx| {
                // It only waits for the end when it has begun the client's task.
                if tasks.is_empty() && taking.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                loop {
                    tasks.append(&mut begun.0.lock().expect("no panics"));
                    tasks.retain_mut(|task: &mut Boxed| task.as_mut().poll(cx).is_pending());
                    if begun.0.lock().expect("no panics").is_empty() {
                        return Poll::Pending;
                    }
                }
            })
            .await;
        })
    }
}
