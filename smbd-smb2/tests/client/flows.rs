//! Whole flows, over all dialects and ways of protection.

use bytes::Bytes;
use smbd_smb2::client::*;
use smbd_smb2::wire::*;
use smbd_testkit::steps;

use crate::server::{FILE, Setup};
use crate::world::{Got, World, rdma};

pub fn content(len: usize) -> Vec<u8> {
    steps(len, 0)
}

pub fn write(data: &[u8], buffer: Option<BufferId>) -> Operation<'static> {
    let data = WriteData::Bytes(Bytes::copy_from_slice(data), buffer);
    Operation::Write(Write { file_id: FILE, offset: 0, flags: WriteFlags::NONE, data })
}

pub fn read(offset: u64, length: u64, buffer: Option<BufferId>) -> Operation<'static> {
    Operation::Read(Read { file_id: FILE, offset, length, buffer, ..Read::default() })
}

/// All of it, from login to logoff; gives what the server has seen.
fn everything(setup: Setup, params: Params) -> Vec<String> {
    let (mut world, session, tree) = World::connected(setup, params);
    let name = Text::from("file");
    let create = Operation::Create(CreateRequest { name, ..CreateRequest::default() });
    assert_eq!(world.act(tree, &create), Got::Answer(NtStatus::SUCCESS, Some(FILE), Vec::new()));
    let data = content(300_000);
    world.memory.buffers.insert(BufferId(1), data.clone());
    assert_eq!(world.act(tree, &write(&data, Some(BufferId(1)))), Got::Written(300_000));
    assert!(world.server.file == data);
    world.memory.buffers.insert(BufferId(2), vec![0; 350_000]);
    let id = world.submit(tree, &read(100, 350_000, Some(BufferId(2))));
    assert_eq!(world.wait(id), Got::Read(299_900));
    let came = world.data.get(&id).unwrap_or(&world.memory.buffers[&BufferId(2)]);
    assert!(came[..299_900] == data[100..]);
    let query = QueryInfoRequest { output_buffer_length: 8, ..QueryInfoRequest::default() };
    let len = 300_000_u64.to_le_bytes().to_vec();
    assert_eq!(world.act(tree, &Operation::QueryInfo(query)), Got::Answer(NtStatus::SUCCESS, None, len));
    let others = [
        Operation::Flush(FlushRequest { file_id: FILE }),
        Operation::SetInfo(SetInfoRequest { input: &[1; 8], ..SetInfoRequest::default() }),
        Operation::QueryDirectory(QueryDirectoryRequest { output_buffer_length: 100, ..Default::default() }),
        Operation::Ioctl(IoctlRequest::default()),
        Operation::Lock(LockRequest::default()),
        Operation::OplockBreak(OplockBreakAcknowledgment::default()),
        Operation::LeaseBreak(LeaseBreakAcknowledgment::default()),
        Operation::Close(CloseRequest { file_id: FILE, ..CloseRequest::default() }),
    ];
    for operation in others {
        assert_eq!(
            world.act(tree, &operation),
            Got::Answer(NtStatus::SUCCESS, None, Vec::new()),
            "{operation:?}"
        );
    }
    let disconnect = world.client.disconnect(world.now, tree).unwrap();
    assert_eq!(world.wait(disconnect), Got::Other("Disconnected".into()));
    let logoff = world.client.logoff(world.now, session).unwrap();
    assert_eq!(world.wait(logoff), Got::Other("LoggedOff".into()));
    assert_eq!(world.client.logoff(world.now, session), Err(Refused::Unknown("the session")));
    assert_eq!(world.server.next_id, world.server.charges, "each credit is an id");
    assert_eq!(world.said.len(), 1, "{:?}", world.said);
    world.server.log
}

fn dialects() -> impl Iterator<Item = Setup> {
    let cipher = Some(Cipher::AES_128_CCM);
    let signing = SigningAlgorithm::AES_CMAC;
    let old = [Dialect::SMB_3_0, Dialect::SMB_3_0_2].map(|dialect| Setup {
        dialect,
        cipher,
        signing,
        ..Setup::default()
    });
    let ciphers = [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];
    let new = ciphers.map(|cipher| Setup { cipher: Some(cipher), ..Setup::default() });
    let cmac = Setup { signing, cipher: None, ..Setup::default() };
    old.into_iter().chain(new).chain([cmac])
}

#[test]
fn a_file_comes_back_as_it_was_written_in_every_dialect() {
    for setup in dialects() {
        let log = everything(setup.clone(), Params::default());
        let validates = log.iter().any(|line| line.contains("IOCTL signed"));
        assert_eq!(
            validates,
            setup.dialect != Dialect::SMB_3_1_1,
            "VALIDATE_NEGOTIATE_INFO, {}",
            setup.dialect
        );
    }
}

#[test]
fn a_signed_session_signs_every_request() {
    for setup in dialects() {
        let log = everything(Setup { require_signing: true, ..setup }, Params::default());
        let rest = log.iter().filter(|line| !line.contains("NEGOTIATE") && !line.contains("SESSION_SETUP"));
        assert!(rest.clone().count() > 15 && rest.clone().all(|line| line.contains(" signed ")), "{log:#?}");
    }
}

#[test]
fn an_encrypted_session_or_share_encrypts_every_request_and_signs_none() {
    for setup in dialects().filter(|setup| setup.cipher.is_some()) {
        let log = everything(Setup { encrypt_session: true, ..setup.clone() }, Params::default());
        assert!(log[3..].iter().all(|line| line.contains(" encrypted ")), "{log:#?}");
        let require_signing = setup.dialect == Dialect::SMB_3_0;
        let log = everything(Setup { encrypt_share: true, require_signing, ..setup }, Params::default());
        let in_share = log.iter().skip_while(|line| !line.contains("CREATE"));
        assert!(in_share.filter(|line| !line.contains("LOGOFF")).all(|line| line.contains(" encrypted ")));
    }
}

#[test]
fn what_is_left_of_a_write_is_encrypted_when_its_encrypted_share_was_disconnected_before() {
    let transport = Transport { max_send: 8192, ..rdma() };
    let setup = Setup { encrypt_share: true, ..Setup::default() };
    let (mut world, _, tree) = World::connected(setup, Params { transport, pieces: 2, ..Params::default() });
    world.server.is_lenient = true;
    let write = world.submit(tree, &write(&content(100_000), None));
    let disconnect = world.client.disconnect(world.now, tree).unwrap();
    assert_eq!(world.wait(disconnect), Got::Other("Disconnected".into()));
    world.wait(write);
    let writes: Vec<_> = world.server.log.iter().filter(|line| line.contains("WRITE")).collect();
    assert!(writes.len() > 10 && writes.iter().all(|line| line.contains(" encrypted ")), "{writes:#?}");
}

#[test]
fn a_tree_connect_tells_whether_its_requests_are_signed_or_encrypted() {
    let signed = Setup { require_signing: true, ..Setup::default() };
    let session = Setup { encrypt_session: true, ..signed.clone() };
    let share = Setup { encrypt_share: true, ..Setup::default() };
    for (setup, expected, word) in [
        (Setup::default(), Protection::None, " plain "),
        (signed, Protection::Signed, " signed "),
        (session, Protection::Encrypted, " encrypted "),
        (share, Protection::Encrypted, " encrypted "),
    ] {
        let (mut world, session, tree) = World::connected(setup, Params::default());
        assert_eq!(world.client.protection(tree), Some(expected));
        world.act(tree, &read(0, 10, None));
        let last = world.server.log.last().unwrap();
        assert!(expected == Protection::None || last.contains(word), "{last}");
        let logoff = world.client.logoff(world.now, session).unwrap();
        world.wait(logoff);
        assert_eq!(world.client.protection(tree), None);
    }
}

#[test]
fn data_go_by_rdma_only_where_nothing_is_signed_or_encrypted() {
    let params = || Params { transport: rdma(), ..Params::default() };
    for setup in dialects() {
        let log = everything(setup.clone(), params());
        let channel = if setup.dialect == Dialect::SMB_3_0 {
            "channel RDMA_V1 "
        } else {
            "channel RDMA_V1_INVALIDATE "
        };
        let transfers: Vec<_> = log.iter().filter(|line| line.contains("channel")).collect();
        assert!(
            transfers.len() == 6 && transfers.iter().all(|line| line.contains(channel)),
            "{transfers:#?}"
        );
        let signed = everything(Setup { require_signing: true, ..setup.clone() }, params());
        let encrypted = setup.cipher.map(|_| everything(Setup { encrypt_share: true, ..setup }, params()));
        for line in signed.iter().chain(encrypted.iter().flatten()) {
            assert!(!line.contains("RDMA"), "{line}");
        }
    }
}

#[test]
fn a_transfer_at_the_threshold_goes_in_messages_and_one_byte_more_by_rdma() {
    let (mut world, _, tree) =
        World::connected(Setup::default(), Params { transport: rdma(), ..Params::default() });
    for (len, channel) in [(4096, "channel none"), (4097, "channel RDMA_V1_INVALIDATE")] {
        world.memory.buffers.insert(BufferId(1), vec![1; len]);
        assert_eq!(world.client.uses_channel(tree, len as u64), len > 4096);
        assert_eq!(world.act(tree, &write(&vec![1; len], Some(BufferId(1)))), Got::Written(len as u64));
        assert!(world.server.log.last().unwrap().contains(channel), "{:?}", world.server.log.last());
    }
    let data = WriteData::Buffer(BufferId(1), 4096);
    let write = Operation::Write(Write { file_id: FILE, offset: 0, flags: WriteFlags::NONE, data });
    assert_eq!(world.client.submit(world.now, tree, &write), Err(Refused::NoChannel));
}

#[test]
fn without_large_mtu_pieces_have_64_kib_and_a_charge_of_zero() {
    let setup = Setup { multi_credit: false, ..Setup::default() };
    let (mut world, _, tree) = World::connected(setup, Params::default());
    assert_eq!(world.act(tree, &write(&content(200_000), None)), Got::Written(200_000));
    let sizes: Vec<_> = world.server.log.iter().filter(|line| line.contains("WRITE")).collect();
    assert_eq!(sizes.len(), 4);
    assert!(sizes.iter().all(|line| line.contains("charge 0 ")), "{sizes:#?}");
    let query = QueryInfoRequest { output_buffer_length: 65537, ..QueryInfoRequest::default() };
    let refused = world.client.submit(world.now, tree, &Operation::QueryInfo(query));
    assert!(matches!(refused, Err(Refused::TooLong { value: 65537, max: 65536, .. })), "{refused:?}");
}

#[test]
fn a_read_of_nothing_and_a_write_of_nothing_are_one_request_each() {
    let (mut world, _, tree) = World::connected(Setup::default(), Params::default());
    assert_eq!(world.act(tree, &read(0, 0, None)), Got::Read(0));
    assert_eq!(world.act(tree, &write(&[], None)), Got::Written(0));
    assert_eq!(world.act(tree, &read(0, 10, None)), Got::Failed(Failure::Status(NtStatus::END_OF_FILE)));
}

#[test]
fn a_compound_goes_in_one_message_and_each_of_its_operations_has_a_result() {
    for (require_signing, encrypt_session) in [(false, false), (true, false), (false, true)] {
        let setup = Setup { require_signing, encrypt_session, ..Setup::default() };
        let (mut world, _, tree) = World::connected(setup, Params::default());
        world.server.file = content(500);
        let file_id = FileId::RELATED;
        let parts = [
            Operation::Create(CreateRequest { name: Text::from("odd"), ..CreateRequest::default() }),
            Operation::Write(Write {
                file_id,
                offset: 3,
                flags: WriteFlags::NONE,
                data: WriteData::Bytes(Bytes::from_static(b"abc"), None),
            }),
            Operation::Read(Read { file_id, length: 10, ..Read::default() }),
            Operation::Close(CloseRequest { file_id, ..CloseRequest::default() }),
        ];
        let ids = world.client.submit_related(world.now, tree, &parts).unwrap();
        world.run();
        let results: Vec<_> = ids.iter().map(|id| world.results[id].clone()).collect();
        let closed = Got::Answer(NtStatus::SUCCESS, None, Vec::new());
        let opened = Got::Answer(NtStatus::SUCCESS, Some(FILE), Vec::new());
        assert_eq!(results, [opened, Got::Written(3), Got::Read(10), closed]);
        assert_eq!(&world.data[&ids[2]][3..6], b"abc");
    }
}
