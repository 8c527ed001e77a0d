//! A client of SMB2 and a server that says anything: the models of its tests, whose answers are changed, and messages from nowhere.

use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use smbd_smb2::client::{
    BufferId, Operation, OperationId, Params, Read, Refused, SessionHandle, TreeHandle, Write, WriteData,
};
use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::{
    ChangeNotifyRequest, Cipher, CloseRequest, Command, CreateRequest, Dialect, FlushRequest, NtStatus,
    SessionFlags, SessionId, SetInfoRequest, SigningAlgorithm, WriteFlags,
};

use crate::replay::trace;
use smbd_testkit::client::bindable::Says;
use smbd_testkit::client::server::{Answer, FILE, Setup};
use smbd_testkit::client::tape::Tape;
use smbd_testkit::client::world::{Got, World, fresh, initiator, rdma};

/// Every operation has one result, memory is back before it, and nothing follows the end: the world looks at that.
pub fn smb2_client(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Ok(setting) = Setting::arbitrary(&mut data) else { return };
    trace(format_args!("{setting:?}"));
    let mut play = Play::new(&setting);
    while !data.is_empty() {
        let Ok(step) = Step::arbitrary(&mut data) else { break };
        trace(format_args!("{step:?}"));
        play.step(step);
    }
    play.end();
}

#[derive(Debug, Arbitrary)]
struct Setting {
    /// Dialect, cipher and signing algorithm.
    dialect: u8,
    flags: u8,
    credits: u8,
    /// How far the client comes before anything is changed.
    phase: u8,
    tapes: [[u8; 4]; 2],
}

#[derive(Debug, Arbitrary)]
enum Step {
    Operation {
        kind: u8,
        length: u16,
    },
    /// Changes of the next answers: before they are signed, or on their way.
    Change {
        is_late: bool,
        skip: u8,
        at: u8,
        with: u8,
    },
    /// A message of nobody.
    Message {
        bytes: Vec<u8>,
    },
    Status {
        command: u8,
        status: u32,
    },
    Deaf {
        command: u8,
    },
    Cancel {
        which: u8,
    },
    Again {
        is_right: bool,
    },
    Time {
        seconds: u8,
    },
    Run,
    /// An operation once more that was under way on a connection that is lost.
    Replay {
        kind: u8,
        length: u16,
    },
    /// ChannelSequence.
    Sequence {
        sequence: u16,
    },
    /// Another connection, to which the session is bound.
    Bind {
        is_right: bool,
        says: u8,
    },
    /// What follows is about the other connection.
    Other,
}

/// A connection of the client.
struct Link {
    world: World,
    session: Option<SessionHandle>,
    tree: Option<TreeHandle>,
    begun: Vec<OperationId>,
}

struct Play {
    setup: Setup,
    params: Params,
    links: Vec<Link>,
    /// The one that is used.
    at: usize,
}

/// How a binding is answered: mostly right.
fn says(bits: u8) -> Says {
    let bit = |bit: u8| bits & 1 << bit == 0;
    let flags = if bit(0) { Says::default().flags } else { SessionFlags::IS_GUEST };
    Says { flags, signs_first: bit(1), signs_last: bit(2), shows_flag: bit(3) }
}

impl Play {
    fn new(setting: &Setting) -> Self {
        const CIPHERS: [Cipher; 4] =
            [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];
        const SIGNINGS: [SigningAlgorithm; 3] =
            [SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC, SigningAlgorithm::HMAC_SHA256];
        let dialects = [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
        let flag = |bit: u8| setting.flags & 1 << bit != 0;
        let draw = usize::from(setting.dialect);
        let dialect = dialects[draw % 3];
        let (cipher, signing) = match dialect {
            Dialect::SMB_3_1_1 => (CIPHERS[draw / 3 % 4], SIGNINGS[draw / 12 % 3]),
            _ => (Cipher::AES_128_CCM, SigningAlgorithm::AES_CMAC),
        };
        let setup = Setup {
            dialect,
            cipher: Some(cipher),
            signing,
            require_signing: flag(0),
            encrypt_session: flag(1),
            encrypt_share: flag(2),
            multi_credit: !flag(3),
            multi_channel: flag(6),
            transforms: flag(5).then(|| RdmaTransforms::ALL.ids().to_vec()),
            ..Setup::default()
        };
        let params = Params {
            transport: if flag(4) { rdma() } else { Params::default().transport },
            rdma_transforms: if flag(5) { RdmaTransforms::ALL } else { RdmaTransforms::NONE },
            credits: u16::from(setting.credits).max(1),
            signing: SIGNINGS.to_vec(),
            bindings: u16::from(flag(6)),
            ..Params::default()
        };
        let mut first = Link::new(setup.clone(), params.clone());
        first.world.has_own_place = flag(7);
        if setting.phase % 4 > 1 {
            let session = first.world.login();
            first.session = Some(session);
            first.tree = (setting.phase % 4 > 2).then(|| first.world.connect(session));
        }
        first.world.server.tape = Tape::new(setting.tapes[0].to_vec());
        first.world.tape = Tape::new(setting.tapes[1].to_vec());
        Self { setup, params, links: vec![first], at: 0 }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Bind { is_right, says: bits } => self.bind(is_right, says(bits)),
            Step::Other => self.at = self.links.len() - 1 - self.at,
            other => self.links[self.at].step(other),
        }
    }

    /// Opens a second connection, and binds the session to it.
    fn bind(&mut self, is_right: bool, says: Says) {
        let [first] = &mut self.links[..] else { return };
        let Some(session) = first.session.filter(|_| first.world.server.keys.is_some()) else { return };
        let Ok(export) = first.world.client.export(session) else { return };
        let tree = first.tree.and_then(|tree| first.world.client.export_tree(tree).ok());
        let on_binding = first.world.server.bindable(says).on_binding();
        let mut second = Link::new(self.setup.clone(), self.params.clone());
        second.world.server.on_binding = Some(on_binding);
        second.world.run();
        let initiator = initiator(if is_right { "secret" } else { "wrong" });
        let world = &mut second.world;
        if let Ok(id) = world.client.bind(world.now, export, initiator, fresh()) {
            second.begun.push(id);
            world.run();
            second.found();
        }
        second.world.server.on_binding = None;
        if let (Some(session), Some(tree)) = (second.session, tree) {
            second.tree = second.world.client.share_tree(session, &tree).ok();
        }
        self.links.push(second);
    }

    /// The transports end: nothing is left without a result.
    fn end(self) {
        self.links.into_iter().for_each(Link::end);
    }
}

impl Link {
    fn new(setup: Setup, params: Params) -> Self {
        let mut world = World::new(setup, params);
        world.server.is_lenient = true;
        world.server.file = vec![7; 20_000];
        Self { world, session: None, tree: None, begun: Vec::new() }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Operation { kind, length } => {
                let begun = self.begin(kind, length);
                self.begun.extend(begun.ok());
            }
            Step::Change { is_late, mut skip, at, with } => {
                let change = move |bytes: &mut Vec<u8>| match skip.checked_sub(1) {
                    Some(left) => skip = left,
                    None if with == 0 => bytes.truncate(at.into()),
                    None => bytes.get_mut(usize::from(at)).into_iter().for_each(|byte| *byte ^= with),
                };
                let place =
                    if is_late { &mut self.world.on_the_way } else { &mut self.world.server.before_signing };
                *place = Some(Box::new(change));
            }
            Step::Message { bytes } if self.world.ended.is_none() => {
                self.world.deliver(Answer { bytes, invalidate: None });
            }
            Step::Status { command, status } => {
                let fails = self.world.server.fail.entry(Command(u16::from(command % 19))).or_default();
                fails.push(NtStatus(status));
            }
            Step::Deaf { command } => self.world.server.deaf.push(Command(u16::from(command % 19))),
            Step::Cancel { which } => {
                if let Some(id) = self.begun.get(usize::from(which)) {
                    let _ = self.world.client.cancel(self.world.now, *id);
                }
            }
            Step::Again { is_right } => {
                if let Some(session) = self.session {
                    let initiator = initiator(if is_right { "secret" } else { "wrong" });
                    let world = &mut self.world;
                    let begun = world.client.reauthenticate(world.now, session, initiator, fresh());
                    self.begun.extend(begun.ok());
                }
            }
            Step::Time { seconds } if self.world.ended.is_none() => {
                self.world.pass(Duration::from_secs(seconds.into()));
            }
            Step::Replay { kind, length } => {
                if let Some(tree) = self.tree {
                    let replayed = self.with_operation(kind, length, |world, operation| {
                        let id = world.client.replay(world.now, tree, operation)?;
                        Ok(id)
                    });
                    self.begun.extend(replayed.ok());
                }
            }
            Step::Sequence { sequence } => {
                if let Some(session) = self.session {
                    let _ = self.world.client.set_channel_sequence(session, sequence);
                }
            }
            Step::Message { .. } | Step::Time { .. } | Step::Run | Step::Bind { .. } | Step::Other => {}
        }
        if self.world.ended.is_none() {
            self.world.run();
        }
        self.found();
    }

    fn begin(&mut self, kind: u8, length: u16) -> Result<OperationId, Refused> {
        let world = &mut self.world;
        let Some(session) = self.session else {
            return world.client.login(world.now, initiator("secret"), fresh(), SessionId::NONE);
        };
        let Some(tree) = self.tree else { return world.client.connect(world.now, session, "share") };
        match kind % 8 {
            6 => return world.client.logoff(world.now, session),
            7 => return world.client.disconnect(world.now, tree),
            _ => {}
        }
        self.with_operation(kind, length, |world, operation| world.try_submit(tree, operation))
    }

    /// Gives an operation, with its buffer.
    fn with_operation(
        &mut self,
        kind: u8,
        length: u16,
        submit: impl FnOnce(&mut World, &Operation<'_>) -> Result<OperationId, Refused>,
    ) -> Result<OperationId, Refused> {
        let (world, length) = (&mut self.world, u64::from(length));
        let buffer = BufferId(self.begun.len() as u64);
        world.memory.buffers.insert(buffer, vec![3; length as usize]);
        let operation = match kind % 8 {
            0 => Operation::Create(CreateRequest::default()),
            1 => Operation::Close(CloseRequest::default()),
            2 => Operation::ChangeNotify(ChangeNotifyRequest::default()),
            3 | 4 => Operation::Read(Read { length, buffer: Some(buffer), ..Read::default() }),
            5 => {
                let data = WriteData::Bytes(vec![3; length as usize].into(), Some(buffer));
                Operation::Write(Write { file_id: FILE, offset: 0, flags: WriteFlags::NONE, data })
            }
            6 => Operation::SetInfo(SetInfoRequest { input: &[0; 8], ..SetInfoRequest::default() }),
            _ => Operation::Flush(FlushRequest::default()),
        };
        let id = submit(world, &operation)?;
        if matches!(operation, Operation::Read(_) | Operation::Write(_)) {
            world.uses.insert(id, buffer);
        }
        Ok(id)
    }

    /// Sessions and tree connects that there are now.
    fn found(&mut self) {
        for id in &self.begun {
            match self.world.results.get(id) {
                Some(Got::Session(session)) => self.session = Some(*session),
                Some(Got::Tree(tree)) => self.tree = Some(*tree),
                _ => {}
            }
        }
    }

    /// The transport ends: nothing is left without a result.
    fn end(mut self) {
        for id in &self.begun {
            trace(format_args!("{id:?}: {:?}", self.world.results.get(id)));
        }
        trace(format_args!("{:?}", self.world.ended));
        if self.world.ended.is_none() {
            self.world.close();
            self.world.run();
        }
        for id in &self.begun {
            assert!(self.world.results.contains_key(id), "no result");
        }
    }
}
