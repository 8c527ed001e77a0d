//! A client with a file of a share, over a link.

use std::cell::RefCell;
use std::future::{Future, Pending, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_client::drive::Clock;
use smbd_client::{Buffer, Error, File, Remote, Settings, Surroundings};
use smbd_core::{Config, Instant, Params};
use smbd_link::link::Link;
use smbd_smb2::client::RegistrationId;

use super::device::Device;
use super::host::NOW;
use super::world::{Task, World};
use crate::tester::{PASSWORD, login};

/// The longest data of an operation.
pub const LONGEST: u32 = 1 << 20;

/// A clock that stands still.
#[derive(Clone, Copy)]
pub struct Still;

/// As large as a timer, which is allocated.
pub struct Sleep {
    never: Pending<()>,
    _rest: [u64; 14],
}

impl Future for Sleep {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.never).poll(cx)
    }
}

impl Clock for Still {
    type Sleep = Sleep;

    #[inline]
    fn now(&self) -> Instant {
        Instant::ORIGIN
    }

    #[inline]
    fn sleep_until(&self, at: Instant) -> Sleep {
        Sleep { never: pending(), _rest: [at.as_nanos(); 14] }
    }
}

impl Surroundings for Still {
    #[inline]
    fn random(&self, into: &mut [u8]) -> Result<(), Error> {
        into.fill(7);
        Ok(())
    }

    #[inline]
    fn date(&self) -> u64 {
        NOW
    }
}

/// As of `smbd_client::Connector`.
pub fn config() -> Config {
    let params = Params {
        max_fragmented_recv_size: 1 << 20,
        registrations: 32,
        segments_max: 32,
        registration_slots: 32,
        rdma_ops: 0,
        rdma_slots: 0,
        ..Params::linux_client()
    };
    Config::try_from(params).expect("valid parameters")
}

/// An open file, and memory for as many bytes as it has.
#[derive(Clone)]
pub struct Opened {
    pub file: Rc<File>,
    pub buffer: Buffer,
    pub data: Bytes,
}

/// Connects, logs in, and opens a file of [`LONGEST`] bytes. `threshold` is that of the [`Settings`]; what the driver does is measured if
/// it `is_measured`. The other tasks of `world` serve it.
pub fn open(
    world: &mut World,
    link: Link<Device, RegistrationId>,
    threshold: u32,
    is_measured: bool,
) -> Opened {
    open_file(world, link, threshold, is_measured, ("file".to_owned(), LONGEST))
}

/// The same with a file of this name and length.
pub fn open_file(
    world: &mut World,
    link: Link<Device, RegistrationId>,
    threshold: u32,
    is_measured: bool,
    (name, len): (String, u32),
) -> Opened {
    let remote: Rc<RefCell<Option<Remote>>> = Rc::default();
    let place = Rc::clone(&remote);
    let settings = Settings { rdma_threshold: Some(threshold), ..Settings::new("server") };
    world.tasks.insert(
        0,
        Task::new(is_measured, async move {
            let (link, _) = link.established(drop).await.expect("established");
            let link = link.with_remote_invalidation(true);
            let (remote, driver) = Remote::over_in(link, &settings, Still).expect("valid settings");
            *place.borrow_mut() = Some(remote);
            driver.await;
        }),
    );
    world.run(Task::new(false, async {}));
    let remote = remote.take().expect("a connection");
    let opened: Rc<RefCell<Option<Opened>>> = Rc::default();
    let place = Rc::clone(&opened);
    world.run(Task::new(false, async move {
        let session = login(&remote, PASSWORD).await.expect("a session");
        let share = session.connect("data").await.expect("a share");
        let (file, buffer) = (share.create(&name).await, share.buffer(len).await);
        let (file, buffer) = (Rc::new(file.expect("a file")), buffer.expect("memory"));
        let data = Bytes::from(vec![7; len as usize]);
        file.write_at(0, data.clone()).await.expect("written");
        *place.borrow_mut() = Some(Opened { file, buffer, data });
    }));
    opened.take().expect("an open file")
}

/// What is done with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Read,
    Write,
    ReadInto,
    WriteFrom,
}

impl Opened {
    /// One operation on the first `len` bytes, from the call to its result.
    pub fn operation(&self, what: What, len: u32, is_measured: bool) -> Task {
        let Self { file, buffer, data, .. } = self.clone();
        let data = data.slice(..len as usize);
        match what {
            What::Read => Task::new(is_measured, async move {
                assert_eq!(file.read_at(0, len).await.map(|data| data.len()), Ok(len as usize));
            }),
            What::Write => Task::new(is_measured, async move {
                assert_eq!(file.write_at(0, data).await, Ok(()));
            }),
            What::ReadInto => Task::new(is_measured, async move {
                assert_eq!(file.read_into(0, &buffer, len).await, Ok(len));
            }),
            What::WriteFrom => Task::new(is_measured, async move {
                assert_eq!(file.write_from(0, &buffer, len).await, Ok(len.into()));
            }),
        }
    }
}
