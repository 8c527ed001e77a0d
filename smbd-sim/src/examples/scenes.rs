//! The five examples.

use std::time::Duration;

use smbd_core::{Close, ConfigError, RdmaVerb, Token};

use super::actor::{ANSWER_LEN, Actor, BULK_LEN, REQUEST_LEN, pattern};
use super::check::{Checks, data_of};
use super::draw::Drawing;
use super::record::{Recorder, Seen, What};
use super::{Options, Report};
use crate::Side;
use crate::fault::NoFaults;
use crate::host::HostConfig;
use crate::nic::NicConfig;
use crate::probe::Probe;
use crate::world::{World, WorldConfig};

/// Length of the message the initiator has ready (4.1 leaves it open).
const HELLO_LEN: u32 = 100;
/// Long enough for everything but a timer.
const A_WHILE: Duration = Duration::from_millis(10);

/// Two hosts in the middle of the examples.
pub(super) struct Stage<'a, P> {
    options: &'a Options,
    world: World<Actor, NoFaults, (Recorder, P)>,
    drawing: Drawing,
    passed: u32,
    failed: u32,
}

fn world<P: Probe>(
    options: &Options,
    hello: Option<usize>,
    probe: P,
) -> Result<World<Actor, NoFaults, P>, ConfigError> {
    let config = options.config()?;
    let nic =
        NicConfig { first_token: options.token, ..NicConfig::of(options.personality, &config.budget()) };
    let host = |hello| HostConfig {
        config: config.clone(),
        nic: nic.clone(),
        upper: Actor { hello, ..Actor::default() },
    };
    let world_config = WorldConfig::new(0, options.personality);
    Ok(World::new(&world_config, [host(hello), host(None)], NoFaults, probe))
}

impl<'a, P: Probe> Stage<'a, P> {
    pub(super) fn new(options: &'a Options, probe: P) -> Result<Self, ConfigError> {
        let world = world(options, Some(HELLO_LEN as usize), (Recorder::default(), probe))?;
        Ok(Self { options, world, drawing: Drawing::default(), passed: 0, failed: 0 })
    }

    fn title(&mut self, title: &str) {
        self.drawing.title(title, self.world.now());
    }

    /// Runs until nothing moves, and takes out what was seen.
    fn watch(&mut self) -> Vec<Seen> {
        let until = self.world.now().saturating_add(A_WHILE);
        self.world.run_until(until, |_| false);
        std::mem::take(&mut self.world.probe_mut().0.seen)
    }

    fn verdict(&mut self, section: &str, mut checks: Checks, seen: &[Seen]) {
        for side in Side::BOTH {
            for trouble in std::mem::take(&mut self.world.host_mut(side).upper.trouble) {
                checks.wrong.push(trouble);
            }
        }
        for (side, breach) in self.world.breaches() {
            checks.wrong.push(format!("{}: {breach}", side.short()));
        }
        if section != "4.1" {
            checks.explain_grants(seen);
        }
        let counter = if checks.wrong.is_empty() { &mut self.passed } else { &mut self.failed };
        *counter += 1;
        self.drawing.verdict(section, &checks);
    }

    /// The last message a side received, whole.
    fn got(&self, side: Side) -> &[u8] {
        self.world.host(side).upper.messages.last().map_or(&[], Vec::as_slice)
    }

    pub(super) fn establish(&mut self) -> Result<(), ConfigError> {
        let options = self.options;
        self.title("4.1  Establishing a Connection");
        let seen = self.watch();
        self.drawing.sequence(&seen);
        let mut checks = Checks::default();
        checks.negotiation(&seen, options);
        checks.message(&seen, Side::Initiator, options, HELLO_LEN);
        let first = data_of(&seen, Side::Initiator).next();
        let granted = first.map_or(0, |(data, _)| data.header.credits_granted);
        checks.same("CreditsGranted of the first message", options.credits, granted);
        checks.holds(
            "the message arrived whole",
            self.got(Side::Acceptor) == pattern(HELLO_LEN as usize, b'H'),
        );

        // The same once more, with an upper layer that is silent.
        let mut silent = world(options, None, Recorder::default())?;
        silent.run_for(A_WHILE);
        let silent = std::mem::take(&mut silent.probe_mut().seen);
        self.drawing
            .title("4.1  the same, with an upper layer that has nothing to say", smbd_core::Instant::ORIGIN);
        self.drawing.sequence(&silent);
        let grants: Vec<_> = data_of(&silent, Side::Initiator).map(|(data, _)| &data.header).collect();
        checks.same("messages that grant", 1, grants.len());
        for header in grants {
            checks.same("CreditsGranted of the empty message", options.credits, header.credits_granted);
            checks.same("DataLength of the empty message", 0, header.data_length);
            checks.same("DataOffset of the empty message", 0, header.data_offset);
        }
        self.verdict("4.1", checks, &seen);
        Ok(())
    }

    /// 4.2: the answer to the first message, so that it replaces the credit of it.
    pub(super) fn small(&mut self) {
        self.title("4.2  Peer Transmits 500 Bytes of Data");
        let message = pattern(REQUEST_LEN, 2);
        let seen = self.send(Side::Acceptor, &message);
        let mut checks = Checks::default();
        let len = u32::try_from(REQUEST_LEN).unwrap_or(u32::MAX);
        checks.message(&seen, Side::Acceptor, self.options, len);
        let first = data_of(&seen, Side::Acceptor).next();
        checks.same("CreditsGranted", 1, first.map_or(0, |(data, _)| data.header.credits_granted));
        checks.holds("the message arrived whole", self.got(Side::Initiator) == message);
        self.verdict("4.2", checks, &seen);
    }

    fn send(&mut self, side: Side, message: &[u8]) -> Vec<Seen> {
        self.world.command(side, |actor, context| {
            if let Err(error) = context.send_bytes(message, None) {
                actor.trouble.push(error.to_string());
            }
        });
        let seen = self.watch();
        self.drawing.sequence(&seen);
        seen
    }

    pub(super) fn fragmented(&mut self) {
        let options = self.options;
        self.title(&format!("4.3  Peer Transmits {} Bytes of Data", options.bytes));
        let message = pattern(options.bytes as usize, 3);
        let seen = self.send(Side::Initiator, &message);
        let mut checks = Checks::default();
        let fragments = checks.message(&seen, Side::Initiator, options, options.bytes);
        checks.grants_only(&seen, Side::Acceptor, options);
        checks.holds("the message arrived whole", self.got(Side::Acceptor) == message);
        let waits = seen.iter().filter(|s| matches!(s.what, What::Waits(_))).count();
        let empty = data_of(&seen, Side::Acceptor).count();
        checks.remarks.push(format!(
            "{fragments} fragments, {waits} waits for credits, {empty} messages of the acceptor that only grant (the text says 65 \
             fragments of 64 KiB; with 1000 bytes in each there are 66)"
        ));
        self.verdict("4.3", checks, &seen);
    }

    pub(super) fn write(&mut self) {
        self.title("4.4  Peer Transmits 1 MiB of Data Via Upper Layer");
        let token = self.options.token;
        self.bulk("4.4", RdmaVerb::Read, self.options.offset, token, 4);
    }

    pub(super) fn read(&mut self) {
        self.title("4.5  Peer Receives 1 MiB of Data Via Upper Layer");
        let [key, index @ ..] = self.options.token.0.to_le_bytes();
        let token = Token(u32::from_le_bytes([key.wrapping_add(1), index[0], index[1], index[2]]));
        self.bulk("4.5", RdmaVerb::Write, self.options.read_offset, token, 5);
    }

    /// `verb` is what the acceptor does with the buffer at `address`.
    fn bulk(&mut self, section: &str, verb: RdmaVerb, address: u64, token: Token, start: u8) {
        let options = self.options;
        self.world.command(Side::Initiator, |actor, context| actor.begin(verb, address, context));
        let seen = self.watch();
        self.drawing.sequence(&seen);
        let mut checks = Checks::default();
        let len = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        checks.message(&seen, Side::Initiator, options, len(REQUEST_LEN));
        checks.message(&seen, Side::Acceptor, options, len(ANSWER_LEN));
        let remotes = seen.iter().filter_map(|s| match &s.what {
            What::ReadRequest(d) if verb == RdmaVerb::Read => Some(*d),
            What::Write { remote } if verb == RdmaVerb::Write => Some(*remote),
            What::ReadRequest(_)
            | What::Write { .. }
            | What::Message { .. }
            | What::ReadData { .. }
            | What::Note(_)
            | What::Waits(_) => None,
        });
        let remotes: Vec<_> = remotes.collect();
        checks.same("RDMA requests", 1, remotes.len());
        for remote in remotes {
            checks.same("Offset", address, remote.offset);
            checks.same("Length", BULK_LEN, remote.length);
            checks.same("Token", token, remote.token);
        }
        self.moved(&mut checks, verb, start);
        self.verdict(section, checks, &seen);
    }

    fn moved(&mut self, checks: &mut Checks, verb: RdmaVerb, start: u8) {
        let (reader, place) = match verb {
            RdmaVerb::Read => (Side::Acceptor, self.world.host(Side::Acceptor).upper.bulk.map(|b| b.0)),
            RdmaVerb::Write => {
                (Side::Initiator, self.world.host(Side::Initiator).upper.borrowed.map(|b| b.0))
            }
        };
        let got = place.map_or(&[][..], |buffer| self.world.host(reader).device.nic.buffers.bytes(buffer));
        checks.holds("all bytes are where they should be", got == pattern(BULK_LEN as usize, start));
        let host = self.world.host_mut(Side::Initiator);
        checks.same("registrations ended", 1, std::mem::take(&mut host.upper.deregistered));
        let live = host.device.nic.tokens.live(host.device.nic.domain()).count();
        checks.same("tokens valid", 0, live);
        if let Some((buffer, _, _)) = host.upper.borrowed.take() {
            host.device.nic.buffers.free(buffer);
        }
        let host = self.world.host_mut(Side::Acceptor);
        if let Some((buffer, _, _)) = host.upper.bulk.take() {
            host.device.nic.buffers.free(buffer);
        }
    }

    pub(super) fn finish(mut self) -> (Report, P) {
        self.world.command(Side::Initiator, |_, context| context.close(Close::Abort));
        self.world.run_for(Duration::from_secs(10));
        let (passed, failed) = (self.passed, self.failed);
        let report = Report { text: self.drawing.text, passed, failed };
        let (_, probe) = self.world.into_probe();
        (report, probe)
    }
}
