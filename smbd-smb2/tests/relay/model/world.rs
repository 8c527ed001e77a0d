//! A run: what happens next is drawn; then everything is let go on, and nothing may be left.

use smbd_smb2::relay::*;
use smbd_testkit::relay::{CANCEL, Client, Limits, Server};
use smbd_testkit::{Breach, Chance, law};

use super::driver::Driver;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything is answered.
    Quiet,
    /// One side goes in the middle.
    Gone(Side),
    /// An RDMA operation fails.
    RdmaFails,
    /// A signed READ has a channel.
    SignedChannel,
}

pub struct World {
    pub relay: Relay,
    pub client: Client,
    pub server: Server,
    pub ending: Ending,
    driver: Driver,
    chance: Chance,
    is_loud: bool,
}

/// How often each thing happens; it changes, so that each side is slow at times.
type Mood = [usize; 7];

impl World {
    pub fn new(seed: u64, is_loud: bool) -> Self {
        let mut chance = Chance::new(seed);
        let held_max = chance.pick(&[256, 1024, 2048, 4096]);
        let buffer_len = chance.pick(&[64, 500, 1024, 4096]);
        let params = Params {
            budget: held_max * 3 + buffer_len * chance.size(1, 6) as u32,
            buffer_len,
            held_max,
            max_read_write_size: chance.pick(&[700, 6000]),
            max_fragmented_size: chance.pick(&[512, 1024, 4096]),
            descriptors_max: chance.pick(&[8, 40, 16_384]),
            requests_max: 64,
        };
        let config = Config::new(&params).expect("possible");
        let limits = Limits {
            held: held_max as usize,
            fragmented: params.max_fragmented_size as usize,
            read_write: params.max_read_write_size as usize,
            descriptors: params.descriptors_max as usize,
        };
        let ending = match chance.below(16) {
            0 => Ending::Gone(Side::Client),
            1 => Ending::Gone(Side::Server),
            2 => Ending::RdmaFails,
            3 => Ending::SignedChannel,
            _ => Ending::Quiet,
        };
        let requests = chance.size(4, 40);
        let mut driver = Driver::new(&config, is_loud);
        Self {
            relay: driver.heap.count(|| Relay::new(&config)),
            client: Client::new(limits, requests),
            server: Server::default(),
            ending,
            driver,
            chance,
            is_loud,
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
            Ending::Quiet => self.quiet(),
            Ending::Gone(side) => {
                self.relay.handle(Event::Ended(side)).map_err(|error| format!("ends: {error}"))?;
                self.poll()?;
                self.closed()
            }
            Ending::RdmaFails => {
                if self.driver.tell(&mut self.relay, false, &mut self.chance)? {
                    self.poll()?;
                    return self.closed();
                }
                self.ending = Ending::Quiet;
                self.quiet()
            }
            Ending::SignedChannel => {
                let message = self.client.signed_channel(&mut self.chance);
                self.driver.send(&message, &mut self.chance);
                self.let_go(false)?;
                law!("signed channel", self.driver.closed.is_some(), "it is still open");
                self.closed()
            }
        }
    }

    fn step(&mut self, mood: &Mood) -> Result<(), Breach> {
        match self.chance.weighted(mood) {
            Some(0) => self.request(),
            Some(1) => {
                self.driver.deliver(&mut self.relay, &mut self.server, &self.client, &mut self.chance)?
            }
            Some(2) => self.server.answer(&self.client, &mut self.chance),
            Some(3) => self.driver.transmit(&mut self.client, &self.server)?,
            Some(4) => self.driver.read(&mut self.client, &mut self.chance)?,
            Some(5) => _ = self.driver.tell(&mut self.relay, true, &mut self.chance)?,
            _ if self.chance.one_in(6) => {
                let cut = self.chance.size(1, 5000);
                self.driver.place(&mut self.relay, &mut self.server, cut)?;
            }
            _ => self.poll()?,
        }
        Ok(())
    }

    fn request(&mut self) {
        if let Some(message) = self.client.next(&mut self.chance) {
            if self.is_loud {
                eprintln!("request: {} bytes, {:?}", message.len(), self.client.sent.last());
            }
            self.driver.send(&message, &mut self.chance);
        }
    }

    fn poll(&mut self) -> Result<(), Breach> {
        let mut room = || if self.chance.one_in(4) { 0 } else { self.chance.size(1, 5000) };
        let room = Room { client: room(), server: room() };
        let cut = self.chance.size(1, 5000);
        self.driver.poll(&mut self.relay, &mut self.server, room, cut).map(drop)
    }

    /// Lets everything go on until nothing changes.
    fn let_go(&mut self, has_more: bool) -> Result<(), Breach> {
        let room = Room { client: 1 << 20, server: 1 << 20 };
        for _ in 0..20_000 {
            let mut is_busy = self.driver.has_work() || self.server.has_answers();
            while self.driver.poll(&mut self.relay, &mut self.server, room, usize::MAX)? {
                is_busy = true;
                if self.driver.closed.is_some() {
                    return Ok(());
                }
            }
            self.driver.deliver(&mut self.relay, &mut self.server, &self.client, &mut self.chance)?;
            self.driver.read(&mut self.client, &mut self.chance)?;
            self.driver.transmit(&mut self.client, &self.server)?;
            self.driver.tell(&mut self.relay, true, &mut self.chance)?;
            self.server.answer(&self.client, &mut self.chance);
            if has_more && self.client.has_more() && !self.driver.has_pieces() {
                self.request();
                is_busy |= self.driver.has_pieces();
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
        law!("stall", self.driver.is_empty() && self.server.out.is_empty(), "{}", self.driver);
        law!("stall", !self.client.has_more(), "requests are left");
        law!("stall", self.server.is_between_messages(), "a message is not complete");
        law!("answers", self.client.open.is_empty(), "without an answer: {:?}", self.client.open);
        law!(
            "order",
            self.client.sent == self.server.received,
            "{:?} {:?}",
            self.client.sent,
            self.server.received
        );
        law!("window", self.client.charges == self.server.charges, "other charges");
        law!("window", self.server.has_no_hole(), "a hole");
        law!("bytes", self.client.written == self.server.files[1], "file 1 is another");
        let sent = self.client.sent.iter().filter(|id| *id & CANCEL == 0).count() as u64;
        law!("answers", self.client.finished == sent, "{} of {sent}", self.client.finished);
        self.statistics()
    }

    /// What the relay counts is what the models know.
    fn statistics(&self) -> Result<(), Breach> {
        use smbd_smb2::wire::Command;
        let statistics = self.relay.statistics();
        let echoes = |count: u64| count <= self.client.finished;
        law!("statistics", echoes(statistics.requests.of(Command::ECHO)), "{statistics:?}");
        let cancels = self.client.sent.iter().filter(|id| *id & CANCEL != 0).count() as u64;
        law!("statistics", statistics.requests.of(Command::CANCEL) == cancels, "{statistics:?}");
        law!("statistics", statistics.outstanding() == 0, "{statistics:?}");
        Ok(())
    }

    /// The relay has closed: for the reason that there was, and for good.
    fn closed(&mut self) -> Result<(), Breach> {
        let Some(reason) = self.driver.closed else { return Err("ends: not closed".into()) };
        let is_due = match self.ending {
            Ending::Quiet => false,
            Ending::Gone(Side::Client) => reason == Reason::ClientEnded,
            Ending::Gone(Side::Server) => reason == Reason::ServerEnded,
            Ending::RdmaFails => reason == Reason::RdmaFailed,
            Ending::SignedChannel => {
                matches!(reason, Reason::SignedChannel { .. } | Reason::SignedInCompound { .. })
            }
        };
        law!("ends", is_due, "{:?}: {reason}", self.ending);
        let last = self.client.sent.last();
        let was_forwarded = self.ending == Ending::SignedChannel && self.server.received.last() == last;
        law!("signed channel", !was_forwarded, "the server has got it");
        let room = Room { client: 1 << 20, server: 1 << 20 };
        let goes_on = self.driver.poll(&mut self.relay, &mut self.server, room, usize::MAX)?;
        law!("ends", !goes_on, "something comes after the end");
        Ok(())
    }
}
