//! Orders of answers, cuts, credits and registrations, as they like: every operation has one result, whatever comes when.
//!
//! That MessageIds have no holes, that no credit is spent twice and that each charge is right is what the server looks at; that memory is
//! back before a result is told, and that there is one result, is what the world looks at.

use proptest::prelude::*;
use smbd_smb2::client::*;
use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::*;

use crate::flows::{content, read, write};
use crate::server::{FILE, Setup};
use crate::tape::Tape;
use crate::world::{Got, World, rdma};

/// Reads and writes at once, of a file of this length.
#[derive(Clone, Debug)]
struct Case {
    setup: Setup,
    params: Params,
    segment: u32,
    file: usize,
    reads: Vec<(u64, u64)>,
    writes: usize,
    fails: Vec<u8>,
    cancels: Vec<usize>,
    tapes: [Vec<u8>; 2],
}

fn setups() -> impl Strategy<Value = Setup> {
    let dialect = prop::sample::select(vec![Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1]);
    let credits = prop::option::of(0..20_u16);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (dialect, flags, credits).prop_map(
        |(dialect, (require_signing, encrypt_share, multi_credit, has_transforms), credits)| Setup {
            dialect,
            cipher: Some(Cipher::AES_128_CCM),
            // Debug builds encrypt slowly.
            encrypt_share: encrypt_share && require_signing,
            require_signing,
            transforms: has_transforms.then(|| RdmaTransforms::ALL.ids().to_vec()),
            multi_credit,
            max_size: 65536 * 3,
            credits,
            ..Setup::default()
        },
    )
}

fn cases() -> impl Strategy<Value = Case> {
    let params =
        (1..40_u16, 1..10_u16, 1..5_u16, any::<bool>()).prop_map(|(credits, requests, pieces, by_rdma)| {
            let transport = if by_rdma { rdma() } else { Params::default().transport };
            let requests = requests + 8;
            let rdma_transforms = RdmaTransforms::ALL;
            Params { credits, requests, pieces, transport, rdma_transforms, ..Params::default() }
        });
    let reads = prop::collection::vec((0..300_000_u64, 0..400_000_u64), 0..4);
    let tape = || prop::collection::vec(any::<u8>(), 1..40);
    let fails = prop::collection::vec(any::<u8>(), 0..4);
    let cancels = prop::collection::vec(0..6_usize, 0..3);
    let files = (1..400_000_usize, 0..200_000_usize);
    (setups(), params, 1000..200_000_u32, files, reads, fails, cancels, [tape(), tape()]).prop_map(
        |(setup, params, segment, (file, writes), reads, fails, cancels, tapes)| Case {
            setup,
            params,
            segment,
            file,
            reads,
            writes,
            fails,
            cancels,
            tapes,
        },
    )
}

fn run(case: Case) {
    let (mut world, _, tree) = World::connected(case.setup, case.params);
    world.server.file = content(case.file);
    world.segment = case.segment;
    let [first, second] = case.tapes;
    world.server.tape = Tape::new(first);
    world.tape = Tape::new(second);
    let statuses =
        [NtStatus::ACCESS_DENIED, NtStatus::NETWORK_SESSION_EXPIRED, NtStatus::INSUFFICIENT_RESOURCES];
    let status = |fail: &u8| statuses[usize::from(*fail) % 3];
    world.server.fail.insert(Command::READ, case.fails.iter().map(status).collect());
    let mut ids = Vec::new();
    // What finds the tables full goes away.
    let submit = |world: &mut World, operation: &Operation<'_>| match world.try_submit(tree, operation) {
        Err(Refused::Full("requests")) => None,
        other => Some(other.unwrap()),
    };
    for (number, (offset, length)) in (1..).zip(&case.reads) {
        let buffer = BufferId(number);
        world.memory.buffers.insert(buffer, vec![0; *length as usize]);
        let id = submit(&mut world, &read(*offset, *length, Some(buffer)));
        ids.extend(id.map(|id| (id, *offset, *length)));
    }
    // Behind the file, so that nothing that is read changes: the file grows, so a read may be longer than it was.
    let data = content(case.writes);
    let at = case.file as u64;
    world.memory.buffers.insert(BufferId(0), data.clone());
    let Operation::Write(whole) = write(&data, Some(BufferId(0))) else { panic!() };
    let writing = submit(&mut world, &Operation::Write(Write { offset: at, ..whole }));
    let query = QueryInfoRequest { output_buffer_length: 8, file_id: FILE, ..QueryInfoRequest::default() };
    let asking = submit(&mut world, &Operation::QueryInfo(query));
    // Login and connect are done.
    let count = ids.len() + [writing, asking].iter().flatten().count() + 2;
    for cancel in &case.cancels {
        if let Some((id, ..)) = ids.get(*cancel) {
            let _ = world.client.cancel(world.now, *id);
        }
    }
    world.run();
    // What waits for an expired session, or for credits that never come, ends by time.
    for _ in 0..100 {
        if world.results.len() < count && world.ended.is_none() {
            world.pass(std::time::Duration::from_secs(61));
        }
    }
    assert_eq!(world.results.len(), count, "{:?} {:#?}", world.ended, world.server.log);
    if let Some(writing) = writing
        && world.results[&writing] == Got::Written(data.len() as u64)
    {
        assert!(world.server.file[case.file..] == data);
    }
    if let Some(asking) = asking {
        assert!(matches!(world.results[&asking], Got::Answer(..) | Got::Failed(_)));
    }
    for (id, offset, length) in ids {
        match &world.results[&id] {
            Got::Read(count) => {
                let came = world.data.get(&id).or_else(|| world.memory.buffers.get(world.uses.get(&id)?));
                let file = &world.server.file;
                let end = (offset + count) as usize;
                assert!(*count <= length && end <= file.len());
                let came = came.map_or(&[][..], |came| &came[..*count as usize]);
                // Behind the file, what is being written may not be there yet.
                let old = came.len().min(case.file.saturating_sub(offset as usize));
                let (old, new) = came.split_at(old);
                assert!(*old == file[offset as usize..][..old.len()], "{count} bytes at {offset}");
                assert!(new.iter().zip(&file[end - new.len()..]).all(|(came, is)| came == is || *came == 0));
                assert!(*count == length || end >= case.file, "too few");
            }
            Got::Failed(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_operation_has_one_result_and_the_right_bytes_in_every_order(case in cases()) {
        run(case);
    }
}
