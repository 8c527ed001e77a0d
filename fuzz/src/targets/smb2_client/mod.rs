//! A client of SMB2 and a server that says anything: the models of its tests, whose answers are changed, and messages from nowhere.

#[path = "../../../../smbd-smb2/tests/client/memory.rs"]
mod memory;
#[path = "../../../../smbd-smb2/tests/client/server.rs"]
mod server;
#[path = "../../../../smbd-smb2/tests/client/tape.rs"]
mod tape;
#[path = "../../../../smbd-smb2/tests/client/words.rs"]
mod words;
#[path = "../../../../smbd-smb2/tests/client/world.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod world;

use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use smbd_smb2::client::{
    BufferId, Operation, OperationId, Params, Read, Refused, SessionHandle, TreeHandle, Write, WriteData,
};
use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::{
    ChangeNotifyRequest, Cipher, CloseRequest, Command, CreateRequest, Dialect, NtStatus, SessionId,
    WriteFlags,
};

use self::server::{Answer, FILE, Setup};
use self::tape::Tape;
use self::world::{Got, World, fresh, initiator, rdma};
use crate::replay::trace;

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
}

struct Play {
    world: World,
    session: Option<SessionHandle>,
    tree: Option<TreeHandle>,
    begun: Vec<OperationId>,
}

impl Play {
    fn new(setting: &Setting) -> Self {
        let dialects = [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
        let flag = |bit: u8| setting.flags & 1 << bit != 0;
        let setup = Setup {
            dialect: dialects[usize::from(setting.dialect % 3)],
            cipher: Some(Cipher::AES_128_CCM),
            require_signing: flag(0),
            encrypt_session: flag(1),
            encrypt_share: flag(2),
            multi_credit: !flag(3),
            transforms: flag(5).then(|| RdmaTransforms::ALL.ids().to_vec()),
            ..Setup::default()
        };
        let transport = if flag(4) { rdma() } else { Params::default().transport };
        let rdma_transforms = if flag(5) { RdmaTransforms::ALL } else { RdmaTransforms::NONE };
        let params =
            Params { transport, credits: setting.credits.into(), rdma_transforms, ..Params::default() };
        let mut world = World::new(setup, Params { credits: params.credits.max(1), ..params });
        world.server.is_lenient = true;
        world.server.file = vec![7; 20_000];
        let (mut session, mut tree) = (None, None);
        if setting.phase % 4 > 1 {
            session = Some(world.login());
            tree = (setting.phase % 4 > 2).then(|| session.map(|session| world.connect(session))).flatten();
        }
        world.server.tape = Tape::new(setting.tapes[0].to_vec());
        world.tape = Tape::new(setting.tapes[1].to_vec());
        Self { world, session, tree, begun: Vec::new() }
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
            Step::Message { .. } | Step::Time { .. } | Step::Run => {}
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
        let length = u64::from(length);
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
            6 => return world.client.logoff(world.now, session),
            _ => return world.client.disconnect(world.now, tree),
        };
        world.try_submit(tree, &operation)
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
        if self.world.ended.is_none() {
            self.world.close();
            self.world.run();
        }
        for id in &self.begun {
            assert!(self.world.results.contains_key(id), "no result");
        }
    }
}
