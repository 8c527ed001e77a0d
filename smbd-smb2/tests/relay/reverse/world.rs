//! A run: what happens next is drawn; then everything is let go on, and nothing may be left.

use smbd_smb2::relay::reverse::{Config, Event, Params, Reverse};
use smbd_smb2::relay::{Reason, Room, Side};
use smbd_smb2::wire::Dialect;

use super::device::Device;
use super::driver::Driver;
use smbd_testkit::relay::CANCEL;
use smbd_testkit::relay::reverse::{Client, Lie, Limits, Server};
use smbd_testkit::{Breach, Chance, law};

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything is answered.
    Quiet,
    /// One side goes in the middle.
    Gone(Side),
    /// A registration, or its end, fails.
    RegistrationFails,
    /// The server says what it cannot.
    Lie(Lie),
    /// A READ came with a channel, signed or not.
    Channel(bool),
    /// A signed WRITE is too long.
    TooLong,
    /// The client's next message has no length.
    Framing,
}

pub struct World {
    pub reverse: Reverse,
    pub client: Client,
    pub server: Server,
    pub ending: Ending,
    driver: Driver,
    chance: Chance,
}

/// How often each thing happens; it changes, so that each side is slow at times.
type Mood = [usize; 7];

const WIDE: Room = Room { client: 1 << 20, server: 1 << 20 };

fn limits(params: &Params, config: &Config, dialect: Dialect) -> Limits {
    let buffers = usize::from(config.buffers()).min((params.max_fragmented_send_size as usize - 112) / 16);
    Limits {
        sends: params.max_fragmented_send_size as usize,
        receives: params.max_fragmented_recv_size as usize,
        held: params.held_max as usize,
        threshold: params.threshold as usize,
        rdma: (buffers * params.buffer_len as usize).min(params.max_read_write_size as usize),
        dialect,
        remote_invalidation: params.remote_invalidation,
    }
}

impl World {
    pub fn new(seed: u64, is_loud: bool) -> Self {
        let mut chance = Chance::new(seed);
        let held_max = chance.pick(&[256, 1024]);
        let buffer_len = chance.pick(&[64, 500, 1024, 4096]);
        let params = Params {
            budget: held_max + buffer_len * chance.size(1, 40) as u32,
            buffer_len,
            held_max,
            threshold: chance.pick(&[1, 50, 200]),
            max_read_write_size: chance.pick(&[700, 6000]),
            max_fragmented_send_size: chance.pick(&[512, 1024, 4096]),
            max_fragmented_recv_size: chance.pick(&[512, 1024, 4096]),
            remote_invalidation: chance.one_in(2),
        };
        let config = Config::new(&params).expect("possible");
        let old = [Dialect::SMB_2_1, Dialect::SMB_3_0];
        let dialect = if chance.one_in(4) { chance.pick(&old) } else { Dialect::SMB_3_1_1 };
        let ending = match chance.below(24) {
            0 => Ending::Gone(Side::Client),
            1 => Ending::Gone(Side::Server),
            2 => Ending::RegistrationFails,
            3 => Ending::Lie(chance.pick(&[Lie::TooMuch, Lie::Twice, Lie::Signed])),
            4 => Ending::Channel(chance.one_in(2)),
            5 => Ending::TooLong,
            6 => Ending::Framing,
            _ => Ending::Quiet,
        };
        let requests = chance.size(4, 40);
        let is_honest = !chance.one_in(3);
        Self {
            reverse: Reverse::new(&config),
            client: Client::new(limits(&params, &config, dialect), requests),
            server: Server::new(is_honest),
            ending,
            driver: Driver::new(Device::new(config.buffers(), buffer_len), is_loud),
            chance,
        }
    }

    pub fn run(&mut self) -> Result<(), Breach> {
        let mut mood: Mood = self.chance.mood();
        let steps = self.chance.size(100, 3000);
        for step in 0..steps {
            if step % 150 == 0 {
                mood = self.chance.mood();
            }
            self.step(&mood)?;
            if self.driver.closed.is_some() {
                return self.closed();
            }
        }
        match self.ending {
            Ending::Quiet => return self.quiet(),
            Ending::Gone(side) => {
                self.reverse.handle(Event::Ended(side)).map_err(|error| format!("ends: {error}"))?;
            }
            Ending::RegistrationFails => {
                let Some(buffer) = self.driver.device.fail(&mut self.chance) else {
                    self.ending = Ending::Quiet;
                    return self.quiet();
                };
                self.reverse.handle(Event::Failed { buffer }).map_err(|error| format!("ends: {error}"))?;
            }
            Ending::Lie(lie) => {
                self.server.lie = Some(lie);
                self.let_go(true)?;
                if self.server.lie.take().is_some() {
                    self.ending = Ending::Quiet;
                    return self.quiet();
                }
            }
            Ending::Channel(is_signed) => {
                self.client.with_channel(is_signed);
                self.let_go(false)?;
            }
            Ending::TooLong => {
                self.client.too_long();
                self.let_go(false)?;
            }
            Ending::Framing => {
                let header = if self.chance.one_in(2) { [0; 4] } else { [0x81, 0, 0, 4] };
                self.client.out.extend_from_slice(&header);
                self.let_go(false)?;
            }
        }
        self.poll()?;
        self.closed()
    }

    fn step(&mut self, mood: &Mood) -> Result<(), Breach> {
        let Self { reverse, client, server, driver, chance, .. } = self;
        match chance.weighted(mood) {
            Some(0) => client.next(chance),
            Some(1) => driver.deliver(server, client)?,
            Some(2) => server.answer(client, &mut driver.device, chance)?,
            Some(3) => driver.transmit(reverse, client, server, chance)?,
            Some(4) => driver.arrive(server, chance)?,
            Some(5) => driver.tell(reverse, chance)?,
            _ if chance.one_in(6) => {
                let cut = chance.size(1, 5000);
                driver.place(reverse, client, cut)?;
            }
            _ => self.poll()?,
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<(), Breach> {
        let mut room = || if self.chance.one_in(4) { 0 } else { self.chance.size(1, 5000) };
        let room = Room { client: room(), server: room() };
        let cut = self.chance.size(1, 5000);
        self.driver.poll(&mut self.reverse, &mut self.client, room, cut).map(drop)
    }

    /// Lets everything go on until nothing changes.
    fn let_go(&mut self, has_more: bool) -> Result<(), Breach> {
        for _ in 0..30_000 {
            let Self { reverse, client, server, driver, chance, .. } = self;
            let mut is_busy = driver.has_work() || server.has_answers() || !server.out.is_empty();
            while driver.poll(reverse, client, WIDE, usize::MAX)? {
                is_busy = true;
                if driver.closed.is_some() {
                    return Ok(());
                }
            }
            driver.deliver(server, client)?;
            driver.transmit(reverse, client, server, chance)?;
            driver.tell(reverse, chance)?;
            server.answer(client, &mut driver.device, chance)?;
            driver.arrive(server, chance)?;
            if has_more && client.has_more() && client.out.is_empty() {
                client.next(chance);
                is_busy |= !client.out.is_empty();
            }
            if !is_busy {
                return Ok(());
            }
        }
        Err("stall: it never ends".into())
    }

    /// Nothing is left, and all is as it has to be.
    fn quiet(&mut self) -> Result<(), Breach> {
        self.let_go(true)?;
        if self.driver.closed.is_some() {
            return self.closed();
        }
        let Self { client, server, driver, .. } = self;
        law!("stall", driver.is_empty() && client.out.is_empty(), "{driver}");
        law!("stall", !client.has_more(), "requests are left");
        law!("stall", client.is_between_messages(), "a message is not complete");
        law!("answers", client.open.is_empty(), "without an answer: {:?}", client.open.keys());
        law!("order", client.sent == server.received, "{:?} {:?}", client.sent, server.received);
        law!("window", server.has_no_hole(), "a hole");
        law!("bytes", client.written == server.files[1], "file 1 is another");
        let sent = client.sent.iter().filter(|id| *id & CANCEL == 0).count() as u64;
        law!("answers", client.finished == sent, "{} of {sent}", client.finished);
        self.statistics()
    }

    /// What is counted is what the models know.
    fn statistics(&self) -> Result<(), Breach> {
        use smbd_smb2::wire::Command;
        let statistics = self.reverse.statistics();
        let written = statistics.bytes.rdma_write;
        law!("statistics", written == self.server.bytes_written, "{written} {}", self.server.bytes_written);
        // Of WRITEs that failed the server may have read nothing.
        law!("statistics", statistics.bytes.rdma_read >= self.server.bytes_read, "{statistics:?}");
        let cancels = self.client.sent.iter().filter(|id| *id & CANCEL != 0).count() as u64;
        law!("statistics", statistics.requests.of(Command::CANCEL) == cancels, "{statistics:?}");
        law!("statistics", self.reverse.dialect() == Some(self.client.limits.dialect), "the dialect");
        Ok(())
    }

    /// It has closed: for the reason that there was, and for good.
    fn closed(&mut self) -> Result<(), Breach> {
        let Some(reason) = self.driver.closed else { return Err("ends: not closed".into()) };
        let is_due = match self.ending {
            Ending::Quiet => false,
            Ending::Gone(Side::Client) => reason == Reason::ClientEnded,
            Ending::Gone(Side::Server) => reason == Reason::ServerEnded,
            Ending::RegistrationFails => reason == Reason::RegistrationFailed,
            Ending::Lie(Lie::TooMuch) => matches!(reason, Reason::TooMuchData { .. }),
            Ending::Lie(Lie::Twice) => matches!(reason, Reason::DataTwice { .. }),
            Ending::Lie(Lie::Signed) => {
                matches!(reason, Reason::SignedAnswer { .. } | Reason::SignedInCompound { .. })
            }
            Ending::Channel(_) => matches!(reason, Reason::ChannelOverTcp { .. }),
            Ending::TooLong => matches!(reason, Reason::AboveMaxFragmentedSize { .. }),
            Ending::Framing => matches!(reason, Reason::ClientFraming { .. }),
        };
        law!("ends", is_due, "{:?}: {reason}", self.ending);
        let last = self.client.sent.last();
        let is_refused = matches!(self.ending, Ending::Channel(_) | Ending::TooLong);
        law!("ends", !is_refused || self.server.received.last() != last, "the server has got it");
        let goes_on = self.driver.poll(&mut self.reverse, &mut self.client, WIDE, usize::MAX)?;
        law!("ends", !goes_on, "something comes after the end");
        Ok(())
    }
}
