//! A broker that does what a test says: the other end of an owner's sockets.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rustix::net::{SocketFlags, accept_with};
use smbd_broker::socket::{self, Deadline, PacketBuffer, PacketSocket, Packets, Wanted};
use smbd_broker::wire::{
    Answer, Call, Command, Event, Limits, Memory, Messages, Newcomer, Notice, Packet, Reply, Request, Rule,
    Welcome,
};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub const LIMITS: Limits = Limits {
    slot_len: 65_536,
    slots_max: 32,
    sends_max: 4,
    send_bytes_max: 1 << 20,
    receive_bytes_max: 1 << 20,
    transfers_max: 4,
};

pub fn newcomer(connection: u64) -> Newcomer {
    Newcomer {
        connection,
        rule: Rule::Default,
        is_negotiated: false,
        max_send_size: 100_000,
        max_read_write_size: 1 << 20,
        peer: "10.9.0.2:50000".into(),
    }
}

/// Where it listens, in a folder that goes with it.
pub struct Place {
    folder: PathBuf,
    listener: OwnedFd,
}

impl Place {
    pub fn listening() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("smbd-script-{}-{nth}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let listener = socket::listen(&folder.join("socket")).unwrap();
        Self { folder, listener }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// The next owner, before it has said anything.
    pub fn accept(&self) -> Owner {
        let deadline = Deadline::after(Some(PATIENCE));
        assert!(deadline.wait(self.listener.as_fd(), Wanted::Readable).unwrap(), "no owner has come");
        let socket = accept_with(&self.listener, SocketFlags::CLOEXEC).unwrap();
        Owner { end: End::new(socket), memory: Vec::new(), slots: 0 }
    }

    /// The next owner, with the slots that it wants at first.
    pub fn welcome(&self) -> Owner {
        let mut owner = self.accept();
        let (tag, call, _) = owner.call();
        assert!(matches!(call, Call::Hello { version: 1, .. }), "{call:?}");
        let welcome = Welcome { version: 1, instance: 42, limits: LIMITS };
        owner.answer(tag, Reply::Welcome(welcome), None);
        owner.gives_memory();
        owner
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// One end of a socket.
pub struct End {
    socket: Packets,
    packet: PacketBuffer,
}

impl End {
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket: Packets::new(socket).unwrap(), packet: PacketBuffer::new() }
    }

    /// Writes a packet. Nothing happens if the other side is gone.
    pub fn write(&mut self, packet: &Packet, descriptor: Option<OwnedFd>) {
        let mut cx = Context::from_waker(Waker::noop());
        while self.socket.poll_send(&mut cx, packet.bytes(), descriptor.as_ref()).is_pending() {
            self.wait(Wanted::Writable);
        }
    }

    /// The next packet; `None` when the other side is gone.
    pub fn read(&mut self) -> Option<(&[u8], Vec<OwnedFd>)> {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match self.socket.poll_receive(&mut cx, &mut self.packet) {
                Poll::Ready(Ok(descriptors)) => return Some((self.packet.bytes(), descriptors)),
                Poll::Ready(Err(error)) => {
                    assert!(matches!(
                        error.kind(),
                        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
                    ));
                    return None;
                }
                Poll::Pending => self.wait(Wanted::Readable),
            }
        }
    }

    fn wait(&self, wanted: Wanted) {
        let is_in_time = Deadline::after(Some(PATIENCE)).wait(self.socket.as_fd(), wanted).unwrap();
        assert!(is_in_time, "nothing has come");
    }

    /// Tells a connection what has happened.
    pub fn tell(&mut self, events: &[Event<'_>]) {
        let mut packet = Packet::new();
        for event in events {
            event.write(&mut packet);
        }
        self.write(&packet, None);
    }

    /// What the next packet of a connection orders, as it is written for people; nothing when it is closed.
    pub fn orders(&mut self, each: &mut dyn FnMut(Command<'_>)) -> bool {
        let Some((bytes, _)) = self.read() else { return false };
        for message in Messages::of(bytes) {
            each(Command::parse(&message.unwrap()).unwrap());
        }
        true
    }
}

/// An owner that is attached.
pub struct Owner {
    end: End,
    /// Its memory: the first slot of each file, and the file.
    memory: Vec<(u16, OwnedFd)>,
    slots: u16,
}

impl Owner {
    /// Its next call.
    pub fn call(&mut self) -> (u64, Call, Vec<OwnedFd>) {
        let (bytes, descriptors) = self.end.read().expect("a call");
        let message = Messages::of(bytes).next().unwrap().unwrap();
        let Request { tag, call } = Request::parse(&message).unwrap();
        (tag, call, descriptors)
    }

    pub fn answer(&mut self, tag: u64, reply: Reply, descriptor: Option<OwnedFd>) {
        let mut packet = Packet::new();
        Answer { tag, result: Ok(reply) }.write(&mut packet);
        self.end.write(&packet, descriptor);
    }

    /// Answers its next call with DONE.
    pub fn done(&mut self) -> Call {
        let (tag, call, _) = self.call();
        self.answer(tag, Reply::Done, None);
        call
    }

    /// Gives it as many slots as its next call wants.
    pub fn gives_memory(&mut self) {
        let (tag, call, _) = self.call();
        let Call::GetMemParams { slots } = call else { panic!("{call:?}") };
        let (first, count) = (self.slots, slots.saturating_sub(self.slots));
        let file = socket::memory(u64::from(count) * u64::from(LIMITS.slot_len)).unwrap();
        self.memory.push((first, file.try_clone().unwrap()));
        self.slots += count;
        self.answer(tag, Reply::Memory(Memory { first, count, total: self.slots }), Some(file));
    }

    /// A connection comes to it. Returns the broker's end.
    pub fn connection(&mut self, newcomer: Newcomer) -> End {
        let (own, theirs) = socket::pair().unwrap();
        let mut packet = Packet::new();
        Notice::New(newcomer).write(&mut packet);
        self.end.write(&packet, Some(theirs));
        End::new(own)
    }

    /// The file of a slot, and where it begins there.
    pub fn place(&self, slot: u16) -> (&OwnedFd, u64) {
        let (first, file) = self.memory.iter().rfind(|(first, _)| *first <= slot).unwrap();
        (file, u64::from(slot - first) * u64::from(LIMITS.slot_len))
    }

    /// Whether it is gone.
    pub fn is_gone(&mut self) -> bool {
        self.end.read().is_none()
    }
}
