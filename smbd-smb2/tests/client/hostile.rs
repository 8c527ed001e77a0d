//! Messages that somebody has changed, on their way or before they were signed: nothing panics, every operation has its result, and what
//! is signed or encrypted never brings a wrong byte.

use proptest::prelude::*;
use smbd_smb2::client::*;
use smbd_smb2::wire::*;

use crate::flows::{content, read};
use crate::server::{Change, Setup};
use crate::world::{Got, World, fresh, initiator, rdma};

/// Changes of the messages with these numbers: a byte in them, or their length.
#[derive(Clone, Debug)]
struct Changes(Vec<(usize, usize, u8)>);

impl Changes {
    fn apply(&self, number: usize, bytes: &mut Vec<u8>) {
        for (_, at, with) in self.0.iter().filter(|(which, ..)| *which == number) {
            if *with == 0 {
                bytes.truncate(at % (bytes.len() + 1));
            } else if !bytes.is_empty() {
                // Headers more often than data.
                let at = if at % 3 == 0 { at / 3 % bytes.len() } else { at / 3 % bytes.len().min(150) };
                bytes[at] ^= with;
            }
        }
    }

    fn changer(self) -> Change {
        let mut number = 0;
        Box::new(move |bytes| {
            self.apply(number, bytes);
            number += 1;
        })
    }
}

fn changes() -> impl Strategy<Value = Changes> {
    prop::collection::vec((0..14_usize, any::<usize>(), any::<u8>()), 1..4).prop_map(Changes)
}

/// All of a connection, whatever comes. Gives what was read, if something was.
fn play(setup: Setup, way: Changes, signing: Changes, params: Params) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut world = World::new(setup, params);
    world.server.file = content(70_000);
    world.server.is_lenient = true;
    world.on_the_way = Some(way.changer());
    world.server.before_signing = Some(signing.changer());
    let mut begun = Vec::new();
    let mut wait = |world: &mut World, id: Result<OperationId, Refused>| {
        let id = id.ok()?;
        begun.push(id);
        world.run();
        for _ in 0..4 {
            if !world.results.contains_key(&id) {
                world.pass(std::time::Duration::from_secs(61));
            }
        }
        let got = world.results.get(&id).cloned();
        assert!(got.is_some(), "no result: {:?} {:?}", world.ended, world.server.log);
        got
    };
    world.run();
    let login = world.client.login(world.now, initiator("secret"), fresh(), SessionId::NONE);
    let Some(Got::Session(session)) = wait(&mut world, login) else { return None };
    let tree = world.client.connect(world.now, session, "share");
    let Some(Got::Tree(tree)) = wait(&mut world, tree) else { return None };
    world.memory.buffers.insert(BufferId(1), vec![0; 70_000]);
    let id = world.client.submit(world.now, tree, &read(0, 70_000, Some(BufferId(1))));
    let Some(Got::Read(count)) = wait(&mut world, id) else { return None };
    let came = world.data.get(&id.ok()?).unwrap_or(&world.memory.buffers[&BufferId(1)]);
    Some((came.get(..count as usize).unwrap_or_default().to_vec(), world.server.file.clone()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_message_that_is_changed_on_its_way_never_brings_a_wrong_byte_to_a_protected_session(
        changes in changes(), encrypts: bool, gmac: bool,
    ) {
        let signing = if gmac { SigningAlgorithm::AES_GMAC } else { SigningAlgorithm::AES_CMAC };
        let setup = Setup { require_signing: !encrypts, encrypt_session: encrypts, signing, ..Setup::default() };
        // An answer to NEGOTIATE that asks for no protection changes the keys, so nothing goes on with it.
        if let Some((came, file)) = play(setup, changes, Changes(Vec::new()), Params::default()) {
            prop_assert!(came == file[..came.len()]);
        }
    }

    #[test]
    fn a_server_that_says_anything_makes_nothing_panic_and_leaves_no_operation_without_a_result(
        changes in changes(), before in changes(), by_rdma: bool, encrypts: bool, old: bool,
    ) {
        let dialect = if old { Dialect::SMB_3_0 } else { Dialect::SMB_3_1_1 };
        let cipher = Some(Cipher::AES_128_CCM);
        let setup = Setup { encrypt_session: encrypts, dialect, cipher, ..Setup::default() };
        let params = if by_rdma { Params { transport: rdma(), ..Params::default() } } else { Params::default() };
        play(setup, changes, before, params);
    }
}
