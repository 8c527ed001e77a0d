//! A broker that does what a test says, and clients whose connections it has.

use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use smbd_broker::socket::{self, PacketBuffer, PacketSocket, UnixListener, UnixPackets};
use smbd_broker::wire::{
    Age, Answer, Call, Command, Event, Limits, Memory, Messages, Newcomer, Notice, PIECE_MAX, Packet,
    Refusal, Reply, Request, Rule, VERSION, Welcome,
};
use smbd_link::tcp::Tcp;
use smbd_smb2::wire::{Command as Smb2, Header};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::{Notify, mpsc};

const LIMITS: Limits = Limits {
    slot_len: 65_536,
    slots_max: 32,
    sends_max: 64,
    send_bytes_max: 4 << 20,
    receive_bytes_max: 4 << 20,
    transfers_max: 4,
};

pub fn newcomer(connection: u64, rule: Rule) -> Newcomer {
    Newcomer {
        connection,
        rule,
        is_negotiated: false,
        max_send_size: 1 << 20,
        max_read_write_size: 1 << 20,
        peer: format!("10.9.0.2:{}", 50_000 + connection),
    }
}

/// Where owners come to.
pub struct Place {
    listener: UnixListener,
    path: PathBuf,
}

impl Place {
    pub fn new(folder: &Path) -> Self {
        // The path of a socket is short, and that of the folder may not be.
        let name = folder.file_name().unwrap().to_str().unwrap();
        let path = std::env::temp_dir().join(format!("smbd-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self { listener: UnixListener::bind(&path).unwrap(), path }
    }

    pub fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// The next owner, and what it is called. It gets the slots that it wants.
    pub async fn welcome(&self) -> (Owner, String) {
        let socket = self.listener.accept().await.unwrap();
        let mut owner = Owner { socket, packet: PacketBuffer::new() };
        let (tag, call, _) = owner.call().await.unwrap();
        let Call::Hello { name, .. } = call else { panic!("{call:?}") };
        let welcome = Welcome { version: VERSION, instance: 42, limits: LIMITS };
        owner.answer(tag, Reply::Welcome(welcome), None).await;
        let (tag, call, _) = owner.call().await.unwrap();
        let Call::GetMemParams { slots: count } = call else { panic!("{call:?}") };
        let file = socket::memory(u64::from(count) * u64::from(LIMITS.slot_len)).unwrap();
        let memory = Reply::Memory(Memory { first: 0, count, total: count });
        owner.answer(tag, memory, Some(&file)).await;
        (owner, name)
    }
}

impl Place {
    /// An owner that is nobody.
    pub fn none(&self) -> Owner {
        let (socket, _) = socket::pair().unwrap();
        Owner { socket: UnixPackets::new(socket).unwrap(), packet: PacketBuffer::new() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// An owner that is attached.
pub struct Owner {
    socket: UnixPackets,
    packet: PacketBuffer,
}

impl Owner {
    /// Its process.
    pub fn pid(&self) -> i32 {
        socket::credentials(&self.socket).unwrap().pid
    }

    /// Its next call; `None` when it is gone.
    pub async fn call(&mut self) -> Option<(u64, Call, Vec<OwnedFd>)> {
        let Self { socket, packet } = self;
        let descriptors = poll_fn(|cx| socket.poll_receive(cx, packet)).await.ok()?;
        let message = Messages::of(packet.bytes()).next().unwrap().unwrap();
        let Request { tag, call } = Request::parse(&message).unwrap();
        Some((tag, call, descriptors))
    }

    async fn answer(&mut self, tag: u64, reply: Reply, descriptor: Option<&OwnedFd>) {
        let mut packet = Packet::new();
        Answer { tag, result: Ok(reply) }.write(&mut packet);
        // It may be gone.
        let _ = poll_fn(|cx| self.socket.poll_send(cx, packet.bytes(), descriptor)).await;
    }

    /// Answers a call with DONE.
    pub async fn done(&mut self, tag: u64) {
        self.answer(tag, Reply::Done, None).await;
    }

    /// Refuses a call.
    pub async fn refuse(&mut self, tag: u64, refusal: Refusal) {
        let mut packet = Packet::new();
        Answer { tag, result: Err(refusal) }.write(&mut packet);
        poll_fn(|cx| self.socket.poll_send(cx, packet.bytes(), None)).await.unwrap();
    }

    /// A connection comes to it. Returns the broker's end, and what the owner's is known by.
    pub async fn connection(&mut self, newcomer: Newcomer) -> (UnixPackets, u64) {
        let (own, theirs) = socket::pair().unwrap();
        let mut packet = Packet::new();
        Notice::New(newcomer).write(&mut packet);
        poll_fn(|cx| self.socket.poll_send(cx, packet.bytes(), Some(&theirs))).await.unwrap();
        (UnixPackets::new(own).unwrap(), socket::cookie(&theirs).unwrap())
    }

    /// Attaches the connection whose socket is known by `cookie`, which its next call names. Returns the broker's new end.
    pub async fn attaches(&mut self, cookie: u64) -> UnixPackets {
        let (tag, call, descriptors) = self.call().await.unwrap();
        assert_eq!((call, descriptors.len()), (Call::Attach, 1));
        assert_eq!(socket::cookie(&descriptors[0]).unwrap(), cookie);
        let (own, theirs) = socket::pair().unwrap();
        self.answer(tag, Reply::Attached { connection: 1 }, Some(&theirs)).await;
        UnixPackets::new(own).unwrap()
    }
}

/// A client's side of a connection that a broker has: it speaks as over TCP, and the test says where its messages go.
pub struct Line {
    stream: DuplexStream,
    /// Answers to SESSION_SETUP that the owner has sent.
    setups: Arc<AtomicUsize>,
}

impl Line {
    pub fn new() -> (Tcp<DuplexStream>, Self) {
        let (here, stream) = duplex(1 << 18);
        (Tcp::over(here), Self { stream, setups: Arc::default() })
    }

    /// The next message of the client; `None` when it has left.
    pub async fn message(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).await.ok()?;
        let mut message = vec![0; u32::from_be_bytes(header) as usize];
        self.stream.read_exact(&mut message).await.ok()?;
        Some(message)
    }

    pub fn setups(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.setups)
    }

    /// Carries messages between the client and the owner, until one of them ends the connection.
    pub async fn carry(self, end: UnixPackets) {
        let at_once = Arc::new(Notify::new());
        at_once.notify_one();
        self.carry_and_tell(end, at_once).await;
    }

    /// The same. That messages were sent, and that the connection has ended as it was ordered to, is told from `told` on.
    pub async fn carry_and_tell(mut self, mut end: UnixPackets, told: Arc<Notify>) {
        let (mut packet, mut begun) = (PacketBuffer::new(), Vec::new());
        let (mut is_telling, mut sent) = (false, 0);
        let mut header = [0_u8; 4];
        loop {
            if is_telling && sent > 0 {
                tell(&mut end, &[Event::Sent { count: std::mem::take(&mut sent) }]).await;
            }
            tokio::select! {
                biased;
                () = told.notified() => is_telling = true,
                received = poll_fn(|cx| end.poll_receive(cx, &mut packet)) => {
                    if received.is_err() {
                        return;
                    }
                    for message in Messages::of(packet.bytes()) {
                        match Command::parse(&message.unwrap()).unwrap() {
                            Command::Send { remaining, bytes, .. } => {
                                begun.extend_from_slice(bytes);
                                if remaining == 0 {
                                    let message = std::mem::take(&mut begun);
                                    let is_setup = Header::parse(&message).unwrap().command == Smb2::SESSION_SETUP;
                                    self.setups.fetch_add(usize::from(is_setup), Ordering::SeqCst);
                                    let len = u32::try_from(message.len()).unwrap().to_be_bytes();
                                    // It may have left.
                                    let _ = self.stream.write_all(&[&len, &message[..]].concat()).await;
                                    sent += 1;
                                }
                            }
                            Command::Taken { .. } => {}
                            Command::Disconnect { .. } => {
                                if !is_telling {
                                    told.notified().await;
                                }
                                return tell(&mut end, &[Event::Lost { why: "as ordered".into() }]).await;
                            }
                            other @ Command::Rdma { .. } => panic!("{other:?}"),
                        }
                    }
                }
                read = self.stream.read_exact(&mut header) => {
                    let is_there = read.is_ok();
                    let mut message = vec![0; u32::from_be_bytes(header) as usize];
                    if !is_there || self.stream.read_exact(&mut message).await.is_err() {
                        return tell(&mut end, &[Event::Lost { why: "the client has left".into() }]).await;
                    }
                    has_come(&mut end, &message).await;
                }
            }
        }
    }
}

/// A client whose messages the test itself carries.
pub struct Hand {
    coming: mpsc::UnboundedReceiver<Vec<u8>>,
    stream: WriteHalf<DuplexStream>,
}

impl Hand {
    pub fn new() -> (Tcp<DuplexStream>, Self) {
        let (transport, Line { stream, .. }) = Line::new();
        let (read, stream) = split(stream);
        let (tell, coming) = mpsc::unbounded_channel();
        tokio::spawn(read_all(read, tell));
        (transport, Self { coming, stream })
    }

    /// The next message of the client. None is lost if this is dropped.
    pub async fn message(&mut self) -> Vec<u8> {
        self.coming.recv().await.unwrap()
    }

    /// Gives the client an answer.
    pub async fn answer(&mut self, message: &[u8]) {
        let len = u32::try_from(message.len()).unwrap().to_be_bytes();
        self.stream.write_all(&[&len, message].concat()).await.unwrap();
    }

    /// Carries on until the client leaves.
    pub async fn carry(mut self, mut end: UnixPackets) {
        loop {
            tokio::select! {
                message = self.coming.recv() => match message {
                    Some(message) => has_come(&mut end, &message).await,
                    None => return tell(&mut end, &[Event::Lost { why: "the client has left".into() }]).await,
                },
                sent = sent(&mut end) => match sent {
                    Some(message) => self.answer(&message).await,
                    None => return,
                },
            }
        }
    }
}

async fn read_all(mut stream: ReadHalf<DuplexStream>, tell: mpsc::UnboundedSender<Vec<u8>>) {
    let mut header = [0; 4];
    while stream.read_exact(&mut header).await.is_ok() {
        let mut message = vec![0; u32::from_be_bytes(header) as usize];
        if stream.read_exact(&mut message).await.is_err() || tell.send(message).is_err() {
            return;
        }
    }
}

/// The next message of an owner, which comes in one piece; `None` at the end. None is lost if this is dropped.
pub async fn sent(end: &mut UnixPackets) -> Option<Vec<u8>> {
    let mut packet = PacketBuffer::new();
    loop {
        poll_fn(|cx| end.poll_receive(cx, &mut packet)).await.ok()?;
        for message in Messages::of(packet.bytes()) {
            match Command::parse(&message.unwrap()).unwrap() {
                Command::Send { remaining: 0, bytes, .. } => {
                    let bytes = bytes.to_vec();
                    tell(end, &[Event::Sent { count: 1 }]).await;
                    return Some(bytes);
                }
                Command::Taken { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Tells an owner of what another one has had.
pub async fn has_been(end: &mut UnixPackets, past: &[(Age, Vec<u8>)]) {
    for (age, bytes) in past {
        tell(end, &[Event::Received { age: *age, remaining: 0, bytes }]).await;
    }
}

/// Tells an owner of a message of the client.
pub async fn has_come(end: &mut UnixPackets, message: &[u8]) {
    let mut left = message.len();
    for bytes in message.chunks(PIECE_MAX) {
        left -= bytes.len();
        let remaining = u32::try_from(left).unwrap();
        tell(end, &[Event::Received { age: Age::New, remaining, bytes }]).await;
    }
}

async fn tell(end: &mut UnixPackets, events: &[Event<'_>]) {
    let mut packet = Packet::new();
    for event in events {
        event.write(&mut packet);
    }
    // It may be gone.
    let _ = poll_fn(|cx| end.poll_send(cx, packet.bytes(), None)).await;
}

/// Whether nothing has come from the owner so far.
pub async fn is_silent(end: &mut UnixPackets) -> bool {
    let mut packet = PacketBuffer::new();
    poll_fn(|cx| Poll::Ready(end.poll_receive(cx, &mut packet).is_pending())).await
}

/// Whether the owner has ended the connection.
pub async fn has_ended(end: &mut UnixPackets) -> bool {
    let mut packet = PacketBuffer::new();
    poll_fn(|cx| end.poll_receive(cx, &mut packet)).await.is_err()
}
