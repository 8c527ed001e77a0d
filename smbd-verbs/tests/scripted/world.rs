//! What the scripted libraries know, and the script.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

use crate::sys::{ibv_send_flags, ibv_wr_opcode};

/// A call of smbd-verbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// `ibv_post_recv`, with the number of receives that the device took.
    PostRecv(usize),
    /// `ibv_post_send`, with the requests that the device took.
    PostSend(Vec<Sent>),
    /// Any other that changes something, by its name.
    Named(&'static str),
}

/// A work request of the send queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Its `wr_id`.
    pub(crate) ticket: u64,
    pub(crate) opcode: u32,
    pub(crate) flags: u32,
    /// The token that it names, of either side.
    pub(crate) key: u32,
    /// The bytes of its elements at the time of the post.
    pub(crate) bytes: Vec<u8>,
    /// The local keys of its elements.
    pub(crate) keys: Vec<u32>,
}

impl Sent {
    pub(crate) const fn is_signalled(&self) -> bool {
        self.flags & ibv_send_flags::IBV_SEND_SIGNALED.0 != 0
    }

    /// An empty message of `wr_id` 0 at smbd-verbs: the end of a queue.
    pub(crate) const fn is_marker(&self) -> bool {
        self.opcode == ibv_wr_opcode::IBV_WR_SEND && self.keys.is_empty()
    }
}

/// A receive that the device has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) ticket: u64,
    pub(crate) addr: u64,
    pub(crate) len: u32,
    pub(crate) key: u32,
}

/// A completion of the script.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Completed {
    pub(crate) ticket: u64,
    pub(crate) status: u32,
    pub(crate) len: u32,
    pub(crate) flags: u32,
    pub(crate) key: u32,
}

/// An event of the connection manager in the script.
#[derive(Clone, Debug)]
pub(crate) struct Happened {
    pub(crate) kind: u32,
    pub(crate) status: i32,
    pub(crate) private_data: Vec<u8>,
    /// The id that it is about.
    pub(crate) id: usize,
}

/// Attributes of the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) vendor_id: u32,
    pub(crate) windows: bool,
}

/// Something that is taken one at a time, and makes a file descriptor readable.
pub(crate) struct Queue<T> {
    bell: OwnedFd,
    waiting: VecDeque<T>,
    /// Taken and not acknowledged.
    pub(crate) taken: usize,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        let flags = EventfdFlags::SEMAPHORE | EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Self { bell: eventfd(0, flags).unwrap(), waiting: VecDeque::new(), taken: 0 }
    }

    pub(crate) fn fd(&self) -> i32 {
        self.bell.as_raw_fd()
    }

    pub(crate) fn push(&mut self, one: T) {
        rustix::io::write(&self.bell, &1_u64.to_ne_bytes()).unwrap();
        self.waiting.push_back(one);
    }

    pub(crate) fn take(&mut self) -> Option<T> {
        let one = self.waiting.pop_front()?;
        rustix::io::read(&self.bell, &mut [0; 8]).unwrap();
        self.taken += 1;
        Some(one)
    }
}

/// A completion queue.
#[derive(Default)]
pub(crate) struct Completions {
    pub(crate) waiting: VecDeque<Completed>,
    /// The next completion raises an event.
    pub(crate) is_armed: bool,
    pub(crate) channel: usize,
}

/// Everything, by the addresses of the libraries' structures.
pub(crate) struct World {
    /// The device, once somebody has asked for it.
    pub(crate) context: Option<usize>,
    pub(crate) attributes: Attributes,
    /// What exists, by its kind.
    pub(crate) objects: BTreeMap<usize, &'static str>,
    /// Event channels of the connection manager.
    pub(crate) channels: BTreeMap<usize, Queue<Happened>>,
    /// The event channel of each id.
    pub(crate) ids: BTreeMap<usize, usize>,
    pub(crate) newest_id: usize,
    /// Completion channels.
    pub(crate) bells: BTreeMap<usize, Queue<()>>,
    pub(crate) completions: BTreeMap<usize, Completions>,
    pub(crate) newest_completions: usize,
    pub(crate) async_events: Queue<u32>,
    /// Registrations by local key: address and length.
    pub(crate) regions: BTreeMap<u32, (u64, u64)>,
    pub(crate) next_key: u32,
    /// Windows that are bound, by address, and their tokens.
    pub(crate) bound: BTreeMap<usize, u32>,
    pub(crate) receives: VecDeque<Posted>,
    pub(crate) sends: VecDeque<Sent>,
    /// How many more work requests the device takes.
    pub(crate) room: usize,
    /// The call that fails next, and its error number.
    pub(crate) failing: Option<(&'static str, i32)>,
    pub(crate) calls: Vec<Call>,
    /// Calls that the libraries forbid.
    pub(crate) wrong: Vec<String>,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Looks at this test's world, or changes it.
pub(crate) fn world<R>(look: impl FnOnce(&mut World) -> R) -> R {
    WORLD.with_borrow_mut(|world| look(world.get_or_insert_with(World::new)))
}

impl World {
    fn new() -> Self {
        Self {
            context: None,
            attributes: Attributes { vendor_id: 0x02C9, windows: false },
            objects: BTreeMap::new(),
            channels: BTreeMap::new(),
            ids: BTreeMap::new(),
            newest_id: 0,
            bells: BTreeMap::new(),
            completions: BTreeMap::new(),
            newest_completions: 0,
            async_events: Queue::new(),
            regions: BTreeMap::new(),
            next_key: 0x100,
            bound: BTreeMap::new(),
            receives: VecDeque::new(),
            sends: VecDeque::new(),
            room: usize::MAX,
            failing: None,
            calls: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Notes a call; its error number if the script has it fail.
    pub(crate) fn called(&mut self, name: &'static str) -> Option<i32> {
        self.calls.push(Call::Named(name));
        self.failing.take_if(|(failing, _)| *failing == name).map(|(_, errno)| errno)
    }

    pub(crate) fn wrong(&mut self, what: impl Into<String>) {
        self.wrong.push(what.into());
    }

    pub(crate) fn has(&self, kind: &str) -> bool {
        self.objects.values().any(|known| *known == kind)
    }

    /// Whether the device may use these bytes with this key.
    pub(crate) fn check(&mut self, key: u32, addr: u64, len: u32) {
        let known = self.regions.get(&key);
        let inside = known.is_some_and(|(start, size)| {
            addr.checked_sub(*start).is_some_and(|offset| offset + u64::from(len) <= *size)
        });
        if !inside {
            self.wrong(format!("the device uses {len} bytes that are not registered with key {key:#x}"));
        }
    }

    /// Whether the device has work that needs a registration.
    pub(crate) fn uses(&self, key: u32) -> bool {
        self.has("queue pair")
            && (self.receives.iter().any(|posted| posted.key == key)
                || self.sends.iter().any(|sent| sent.keys.contains(&key)))
    }

    /// The device has completed a request.
    pub(crate) fn complete(&mut self, completed: Completed) {
        let newest = self.newest_completions;
        let Some(queue) = self.completions.get_mut(&newest) else { return };
        queue.waiting.push_back(completed);
        if std::mem::take(&mut queue.is_armed) {
            let channel = queue.channel;
            self.bells.get_mut(&channel).unwrap().push(());
        }
    }
}
