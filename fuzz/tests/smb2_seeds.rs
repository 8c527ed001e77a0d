//! The seeds of the target `smb2` are what the builders of smbd-smb2 make: one of each message, and some compounds.

mod common;

use smbd_smb2::wire::*;
use smbd_testkit::samples::{Pool, each_request, each_response};

fn seeds() -> Vec<(String, Vec<u8>)> {
    let pool = Pool {
        numbers: [2, 0x1122_3344_5566_7788, 3, 1 << 40],
        bytes: (0..33).collect(),
        others: vec![0xA5; 8],
        text: "a\\b".into(),
    };
    let mut seeds = Vec::new();
    let mut message = Vec::new();
    let mut compound = Compound::new(&mut message);
    each_request(&pool, |request| {
        let header = pool.header(request.command(), false, NtStatus::SUCCESS);
        let mut own = Vec::new();
        write_element(&mut own, &header, &request).expect("room");
        seeds.push((format!("request-{:02}", seeds.len()), own));
        compound.add(&header.related(), &request).expect("room");
    });
    seeds.push(("compound-requests".into(), message));
    let mut count = 0;
    each_response(&pool, |command, status, response| {
        // Failures are alike for all commands.
        if status != NtStatus::ACCESS_DENIED && status != NtStatus::PENDING || command == Command::CREATE {
            let mut own = Vec::new();
            write_element(&mut own, &pool.header(command, true, status), &response).expect("room");
            seeds.push((format!("response-{count:02}"), own));
            count += 1;
        }
    });
    let mut own = Vec::new();
    let names: [&[u8]; 2] = [Smb1Negotiate::SMB_2_002, Smb1Negotiate::SMB_2_WILDCARD];
    Smb1Negotiate::write(&mut own, &names).expect("room");
    seeds.push(("smb1".into(), std::mem::take(&mut own)));
    let transform =
        Transform { flags: TransformFlags::ENCRYPTED, encrypted: &pool.bytes, ..Transform::default() };
    transform.write(&mut own).expect("room");
    seeds.push(("transform".into(), std::mem::take(&mut own)));
    let (algorithm, flag) = (CompressionAlgorithm::LZ77, CompressionFlag::CHAINED);
    let payloads = [Payload { algorithm, flag, original_size: Some(90), data: &pool.bytes }; 2];
    let unchained = CompressedParts::Unchained {
        algorithm,
        flag: CompressionFlag::NONE,
        plain: &pool.others,
        compressed: &pool.bytes,
    };
    for (name, parts) in
        [("unchained", unchained), ("chained", CompressedParts::Chained(Records::from(&payloads)))]
    {
        Compressed { original_size: 128, parts }.write(&mut own).expect("room");
        seeds.push((name.into(), std::mem::take(&mut own)));
    }
    seeds
}

#[test]
fn the_seeds_are_what_the_builders_make() {
    common::kept(seeds().into_iter().map(|(name, bytes)| (format!("smb2/seed-{name}"), bytes)));
}
