//! Registered buffers and RDMA: a client opens a text to a server, which reads it, puts it into capitals, writes it
//! back and says so, all without the client's processor.
//!
//! The order is that of an SMB2 server. Descriptors travel in an ordinary message. The answer is queued right behind
//! the RDMA Write: the connection keeps their order, so nobody waits for the write. With the answer the server invalidates
//! the first token it was given; the client deregisters, which ends what is left. Both run in the simulator, whose
//! device checks every access and whose clock is virtual.
//!
//!     cargo run --locked -p smbd-examples --example rdma -- --help

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use smbd_core::wire::{BufferDescriptors, encode_all};
use smbd_core::{Access, BufferDescriptorV1, Close, Config, Event, OpId, Params, RdmaVerb, RegId};
use smbd_sim::fault::NoFaults;
use smbd_sim::host::{Context, HostConfig, Upper};
use smbd_sim::memory::{Buffer, Range};
use smbd_sim::nic::{NicConfig, Personality};
use smbd_sim::trace::Trace;
use smbd_sim::world::{World, WorldConfig};
use smbd_sim::{CommandRefused, Side};

/// A server reads and writes a client's memory by RDMA.
///
/// Exit status: 0 if the text came back in capitals and all access has ended, 1 if not.
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// Length of the text in bytes (1 to 1048576).
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    bytes: u32,
    /// Longest piece of memory under one token, in bytes; longer buffers get several descriptors.
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(16_384..))]
    segment: u32,
    /// A device like those of iWARP instead of RoCE.
    #[arg(long)]
    iwarp: bool,
    /// Show what passes the interface of both connections.
    #[arg(long)]
    trace: bool,
}

/// Most segments of a buffer here: 1 MiB in pieces of 16 KiB.
const SEGMENTS_MAX: u16 = 64;

/// What went wrong, in words.
type Trouble = Result<(), CommandRefused>;

/// The client: has a text, wants it in capitals.
#[derive(Debug, Default)]
struct Client {
    text: Vec<u8>,
    /// Source, open for reading, and destination, open for writing.
    buffers: Vec<(RegId, Buffer)>,
    registered: usize,
    deregistered: usize,
    capitals: Vec<u8>,
}

impl Client {
    fn open(&mut self, context: &mut Context<'_>) -> Trouble {
        let source = context.memory().alloc_with(&self.text);
        let len = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        let destination = context.memory().alloc(len);
        // Exactly the rights needed: the server may not write the source nor read the destination.
        for (buffer, access) in [(source, Access::Read), (destination, Access::Write)] {
            let range = Range { buffer, offset: 0, len };
            self.buffers.push((context.register(access, range, SEGMENTS_MAX)?, buffer));
        }
        Ok(())
    }

    /// The request: how many descriptors the source has, then those of source and destination.
    fn ask(&self, context: &mut Context<'_>) -> Trouble {
        let descriptors: Vec<_> = self.buffers.iter().flat_map(|(id, _)| context.descriptors(*id)).collect();
        println!("client: opens its buffers (segments: {}):", descriptors.len());
        for BufferDescriptorV1 { offset, token, length } in &descriptors {
            println!("          0x{offset:x}, token {token}, {length} bytes");
        }
        let mut request = vec![0; 1 + descriptors.len() * BufferDescriptorV1::LEN];
        request[0] = u8::try_from(descriptors.len() / 2).unwrap_or(u8::MAX);
        let encoded = encode_all(&descriptors, &mut request[1..]);
        debug_assert!(encoded.is_ok(), "there is room for all");
        context.send_bytes(&request, None).map(drop)
    }

    fn event(&mut self, event: Event, context: &mut Context<'_>) -> Trouble {
        match event {
            Event::Established(_) => self.open(context)?,
            Event::Registered { result: Ok(()), .. } => {
                self.registered += 1;
                if self.registered == self.buffers.len() {
                    self.ask(context)?;
                }
            }
            Event::Invalidated { token, .. } => {
                println!("client: token {token} was invalidated by the server")
            }
            Event::Data(fragment) => {
                // One short message: the answer. Everything written before it is in memory.
                context.release(fragment);
                for (id, _) in &self.buffers {
                    let left = context.descriptors(*id).len();
                    println!("client: was answered, deregisters; tokens left to invalidate: {left}");
                    context.deregister(*id)?;
                }
            }
            Event::Deregistered { result: Ok(()), .. } => {
                self.deregistered += 1;
                if self.deregistered == self.buffers.len() {
                    // Only now is the memory the client's alone.
                    self.capitals = context.memory().bytes(self.buffers[1].1).to_vec();
                    context.close(Close::Abort);
                }
            }
            Event::Registered { result: Err(error), .. } | Event::Deregistered { result: Err(error), .. } => {
                println!("client: {error}");
                context.close(Close::Abort);
            }
            Event::ConnectFailed(reason) => println!("client: {reason}"),
            Event::Closed(reason) => println!("client: {reason}"),
            Event::Sent { .. }
            | Event::RdmaDone { .. }
            | Event::Probed(_)
            | Event::Writable
            | Event::Drained => {}
        }
        Ok(())
    }
}

/// The server: reads, works, writes, answers.
#[derive(Debug, Default)]
struct Server {
    request: Vec<u8>,
    work: Option<Work>,
}

#[derive(Debug)]
struct Work {
    read: OpId,
    buffer: Buffer,
    destination: Arc<[BufferDescriptorV1]>,
}

impl Server {
    /// The text is the client's until the RDMA Read is done.
    fn read(&mut self, context: &mut Context<'_>) -> Trouble {
        // A peer may send anything: what is no request is not answered.
        let Some((&count, rest)) = self.request.split_first() else { return Ok(()) };
        let Ok(descriptors) = BufferDescriptors::new(rest) else { return Ok(()) };
        let source: Arc<[_]> = descriptors.iter().take(count.into()).collect();
        let destination = descriptors.iter().skip(count.into()).collect();
        let total: u64 = source.iter().map(|descriptor| u64::from(descriptor.length)).sum();
        let Some(len) = u32::try_from(total).ok().filter(|len| *len <= 1 << 20) else { return Ok(()) };
        let buffer = context.memory().alloc(len);
        println!("server: reads {len} bytes (segments: {})", source.len());
        let read = context.rdma(RdmaVerb::Read, Range { buffer, offset: 0, len }, &source, 0)?;
        self.work = Some(Work { read, buffer, destination });
        Ok(())
    }

    fn write(work: &Work, context: &mut Context<'_>) -> Trouble {
        let text = context.memory().bytes_mut(work.buffer);
        text.make_ascii_uppercase();
        let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let segments = work.destination.len();
        println!("server: writes {len} bytes (segments: {segments}), the answer right behind");
        let local = Range { buffer: work.buffer, offset: 0, len };
        context.rdma(RdmaVerb::Write, local, &work.destination, 0)?;
        let first = work.destination.first().map(|descriptor| descriptor.token);
        context.send_bytes(b"done", first).map(drop)
    }

    fn event(&mut self, event: Event, context: &mut Context<'_>) -> Trouble {
        match event {
            Event::Data(fragment) => {
                self.request.extend_from_slice(context.fragment(&fragment));
                let last = fragment.is_last();
                context.release(fragment);
                if last {
                    self.read(context)?;
                }
            }
            Event::RdmaDone { op, result: Ok(()) } => {
                if let Some(work) = self.work.as_ref().filter(|work| work.read == op) {
                    Self::write(work, context)?;
                }
            }
            Event::RdmaDone { result: Err(error), .. } => println!("server: {error}"),
            Event::ConnectFailed(reason) => println!("server: {reason}"),
            Event::Closed(reason) => println!("server: {reason}"),
            Event::Established(_)
            | Event::Invalidated { .. }
            | Event::Sent { .. }
            | Event::Registered { .. }
            | Event::Deregistered { .. }
            | Event::Probed(_)
            | Event::Writable
            | Event::Drained => {}
        }
        Ok(())
    }
}

/// Either; a world has two upper layers of one type.
#[derive(Debug)]
enum Peer {
    Client(Client),
    Server(Server),
}

impl Upper for Peer {
    fn event(&mut self, event: Event, context: &mut Context<'_>) {
        let result = match self {
            Self::Client(client) => client.event(event, context),
            Self::Server(server) => server.event(event, context),
        };
        if let Err(refused) = result {
            println!("{:?}: {refused}", context.side());
            context.close(Close::Abort);
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let both = SEGMENTS_MAX * 2;
    let config = Config::try_from(Params {
        segments_max: both,
        // Binding a window and invalidating it takes a place on the send queue.
        registration_slots: both,
        ..Params::example()
    })?;
    let personality = if options.iwarp { Personality::Iwarp } else { Personality::Roce };
    let nic = NicConfig { segment_len_max: options.segment, ..NicConfig::of(personality, &config.budget()) };
    let host = |upper| HostConfig { config: config.clone(), nic: nic.clone(), upper };
    let text: Vec<u8> =
        b"Direct data placement. ".iter().copied().cycle().take(options.bytes as usize).collect();
    let expected = text.to_ascii_uppercase();
    let client = Client { text, ..Client::default() };
    let hosts = [host(Peer::Client(client)), host(Peer::Server(Server::default()))];

    let mut world = World::new(&WorldConfig::new(0, personality), hosts, NoFaults, Trace::kept());
    world.run_for(Duration::from_secs(60));

    if options.trace {
        print!("{}", world.probe().text());
    }
    let Peer::Client(client) = &world.host(Side::Initiator).upper else { return Err("no client".into()) };
    if let Some((side, breach)) = world.breaches().next() {
        return Err(format!("{side:?} broke a rule of its device: {breach:?}").into());
    }
    if client.capitals != expected {
        return Err("the text did not come back in capitals".into());
    }
    if !world.is_drained() {
        return Err("something is still outstanding".into());
    }
    println!("{} bytes came back in capitals after {:?} of virtual time", expected.len(), world.now());
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    run(&Options::parse())
}
