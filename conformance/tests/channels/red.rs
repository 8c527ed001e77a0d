//! Each statement that a server or a client is held to can be broken, and is then named: a verdict that cannot be red says nothing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use smbd_conformance::catalogue::{Breaks, Catalogue, UnderTest};
use smbd_conformance::suite::{Outcome, Played, cases, play};
use smbd_core::Token;
use smbd_smb2::wire::{Channel, Command, Header, NtStatus, ReadResponseFlags, header, read, write};

use super::wrong::{Said, Wrong};
use super::{covered, lax, options, two_channels};

pub const CHANNEL_3: u32 = Channel::RDMA_TRANSFORM.0;

fn is(smb2: &[u8], command: Command) -> bool {
    Header::parse(smb2).is_ok_and(|header| header.command == command)
}

fn succeeds(smb2: &[u8]) -> bool {
    Header::parse(smb2).is_ok_and(|header| header.status == NtStatus::SUCCESS)
}

/// A request of this command with one of these channels comes with RDMA_V1.
pub fn by_v1(smb2: &mut [u8], command: Command, channels: &[u32]) {
    let channel = match command {
        Command::READ => &read::request::CHANNEL,
        _ => &write::request::CHANNEL,
    };
    if is(smb2, command) && channels.contains(&channel.get(smb2).unwrap().0) {
        channel.set(smb2, Channel::RDMA_V1).unwrap();
    }
}

pub fn of_read(said: &mut Said, change: impl FnOnce(&mut Said)) {
    if is(&said.smb2, Command::READ) && succeeds(&said.smb2) {
        change(said);
    }
}

fn of_write(said: &mut Said, change: impl FnOnce(&mut Said)) {
    if is(&said.smb2, Command::WRITE) && succeeds(&said.smb2) {
        change(said);
    }
}

/// A WRITE by a channel, as the server gets it.
pub fn of_asked_write(smb2: &mut [u8], change: impl FnOnce(&mut [u8])) {
    if is(smb2, Command::WRITE) && write::request::CHANNEL.get(smb2).unwrap() != Channel::NONE {
        change(smb2);
    }
}

/// The descriptors begin so many bytes later.
pub fn behind(smb2: &mut [u8], bytes: u16) {
    use write::request::{WRITE_CHANNEL_INFO_LENGTH, WRITE_CHANNEL_INFO_OFFSET};
    let (offset, len) =
        (WRITE_CHANNEL_INFO_OFFSET.get(smb2).unwrap(), WRITE_CHANNEL_INFO_LENGTH.get(smb2).unwrap());
    WRITE_CHANNEL_INFO_OFFSET.set(smb2, offset + bytes).unwrap();
    WRITE_CHANNEL_INFO_LENGTH.set(smb2, len - bytes).unwrap();
}

/// Length of the first descriptor of a WRITE.
fn first_length(smb2: &[u8]) -> Option<u32> {
    let at = usize::from(write::request::WRITE_CHANNEL_INFO_OFFSET.get(smb2).ok()?);
    let bytes = smb2.get(at..)?.get(12..16)?;
    bytes.try_into().ok().map(u32::from_le_bytes)
}

/// A server that is wrong in one thing, a case that finds it, and what it breaks.
pub type Row = (&'static str, Wrong, &'static str, &'static [&'static str]);

const LARGE_READ: &str = "BVT_Smb2OverRdmaChannel_ReadLargeFile";
const LARGE_WRITE: &str = "BVT_Smb2OverRdmaChannel_WriteLargeFile";

pub fn hears(hears: fn(&mut [u8])) -> Wrong {
    Wrong { hears, ..Wrong::default() }
}

pub fn says(says: fn(&mut Said)) -> Wrong {
    Wrong { says, ..Wrong::default() }
}

pub fn flip_last(bytes: &mut [u8]) {
    bytes.last_mut().into_iter().for_each(|last| *last ^= 1);
}

fn of_refused_reads() -> Vec<Row> {
    vec![
        (
            "READ with channel 3 or 4 is carried out",
            hears(|smb2| by_v1(smb2, Command::READ, &[3, 4, u32::MAX])),
            "smb2::a_read_by_a_channel_that_is_none_is_refused",
            &["3.3.5.12-01"],
        ),
        (
            "READ in 3.0 with RDMA_V1_INVALIDATE is carried out",
            hears(|smb2| by_v1(smb2, Command::READ, &[2])),
            "Smb2OverRdma_Smb300_Read_SMB2_CHANNEL_RDMA_V1_INVALIDATE",
            &["3.3.5.12-02"],
        ),
        (
            "READ of nothing is carried out as one of a byte",
            hears(|smb2| {
                if is(smb2, Command::READ) && read::request::LENGTH.get(smb2) == Ok(0) {
                    read::request::LENGTH.set(smb2, 1).unwrap();
                }
            }),
            "smb2::a_read_of_nothing_by_a_channel_is_refused",
            &["3.3.5.12-04"],
        ),
    ]
}

fn of_reads() -> Vec<Row> {
    use read::response::{DATA_LENGTH, DATA_OFFSET, DATA_REMAINING};
    vec![
        (
            "DataLength is 5",
            says(|said| of_read(said, |said| DATA_LENGTH.set(&mut said.smb2, 5).unwrap())),
            LARGE_READ,
            &["3.3.5.12-16"],
        ),
        (
            "DataOffset is 0",
            says(|said| of_read(said, |said| DATA_OFFSET.set(&mut said.smb2, 0).unwrap())),
            "Smb2OverRdmaChannel_ReadMultipleOperation",
            &["3.3.5.12-17"],
        ),
        (
            "DataRemaining is what was asked for and not what was read",
            says(|said| of_read(said, |said| DATA_REMAINING.set(&mut said.smb2, 65_536).unwrap())),
            "smb2::a_read_beyond_the_end_brings_what_there_is",
            &["3.3.5.12-18"],
        ),
        (
            "there are data in the answer, too",
            says(|said| of_read(said, |said| said.smb2.extend([7; 64]))),
            LARGE_READ,
            &["3.3.5.12-19"],
        ),
        (
            "a byte is not written",
            Wrong { wrote: flip_last, ..Wrong::default() },
            LARGE_READ,
            &["3.3.5.12-20"],
        ),
        (
            "no token is invalidated",
            says(|said| said.token = None),
            "BVT_Smb2OverRdma_Smb302_Read_SMB2_CHANNEL_RDMA_V1_INVALIDATE",
            &["3.3.5.12-21"],
        ),
        (
            "a token is invalidated with RDMA_V1",
            says(|said| of_read(said, |said| said.token = Some(Token(1)))),
            "Smb2OverRdma_Read_SMB2_CHANNEL_RDMA_V1",
            &["3.3.5.12-21"],
        ),
    ]
}

fn of_channels_of_writes() -> Vec<Row> {
    vec![
        (
            "WRITE in 3.1.1 with channel 4 is carried out",
            hears(|smb2| by_v1(smb2, Command::WRITE, &[4])),
            "smb2::a_write_by_a_channel_that_is_none_is_refused",
            &["3.3.5.13-01"],
        ),
        (
            "WRITE in 3.0.2 with RDMA_TRANSFORM is carried out",
            hears(|smb2| by_v1(smb2, Command::WRITE, &[CHANNEL_3])),
            "smb2::a_write_by_a_channel_that_is_none_is_refused",
            &["3.3.5.13-02"],
        ),
        (
            "WRITE in 3.0 with RDMA_V1_INVALIDATE is carried out",
            hears(|smb2| by_v1(smb2, Command::WRITE, &[2])),
            "Smb2OverRdma_Smb300_Write_SMB2_CHANNEL_RDMA_V1_INVALIDATE",
            &["3.3.5.13-03"],
        ),
        (
            "a transform that nobody negotiated is passed over",
            hears(|smb2| {
                of_asked_write(smb2, |smb2| {
                    if write::request::CHANNEL.get(smb2).unwrap().0 == CHANNEL_3 {
                        by_v1(smb2, Command::WRITE, &[CHANNEL_3]);
                        behind(smb2, 56);
                    }
                });
            }),
            "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_NoTransformIds_Fails",
            &["3.3.5.13-07"],
        ),
    ]
}

/// RemainingBytes of a WRITE by a channel, as the server gets it.
fn remaining(smb2: &mut [u8], change: fn(u32) -> u32) {
    use write::request::REMAINING_BYTES;
    of_asked_write(smb2, |smb2| {
        REMAINING_BYTES.set(smb2, change(REMAINING_BYTES.get(smb2).unwrap())).unwrap();
    });
}

fn of_refused_writes() -> Vec<Row> {
    vec![
        (
            "Length is ignored",
            hears(|smb2| of_asked_write(smb2, |smb2| write::request::LENGTH.set(smb2, 0).unwrap())),
            "smb2::a_write_with_data_beside_its_channel_is_refused",
            &["3.3.5.13-05"],
        ),
        (
            "RemainingBytes 0 is taken for one",
            hears(|smb2| remaining(smb2, |bytes| bytes.max(1))),
            "smb2::a_write_of_nothing_by_a_channel_is_refused",
            &["3.3.5.13-06"],
        ),
        (
            "of more than MaxWriteSize a byte is written",
            hears(|smb2| remaining(smb2, |bytes| if bytes > 1 << 20 { 1 } else { bytes })),
            "smb2::a_write_whose_buffers_do_not_do_is_refused",
            &["3.3.5.13-17"],
        ),
        (
            "a first descriptor of no bytes is left out",
            hears(|smb2| {
                of_asked_write(smb2, |smb2| {
                    if first_length(smb2) == Some(0) {
                        behind(smb2, 16);
                    }
                });
            }),
            "smb2::a_write_whose_buffers_do_not_do_is_refused",
            &["3.3.5.13-18"],
        ),
        (
            "as much is written as is described",
            hears(|smb2| {
                if is(smb2, Command::WRITE) && first_length(smb2) == Some(65_535) {
                    remaining(smb2, |_| 65_535);
                }
            }),
            "smb2::a_write_whose_buffers_do_not_do_is_refused",
            &["3.3.5.13-19"],
        ),
    ]
}

fn of_writes() -> Vec<Row> {
    use write::response::{COUNT, REMAINING};
    vec![
        ("a byte is not read", Wrong { finds: flip_last, ..Wrong::default() }, LARGE_WRITE, &["3.3.5.13-26"]),
        (
            "Count is 1",
            says(|said| of_write(said, |said| COUNT.set(&mut said.smb2, 1).unwrap())),
            LARGE_WRITE,
            &["3.3.5.13-27"],
        ),
        (
            "Remaining is 1",
            says(|said| of_write(said, |said| REMAINING.set(&mut said.smb2, 1).unwrap())),
            LARGE_WRITE,
            &["3.3.5.13-28"],
        ),
        (
            "no token is invalidated",
            says(|said| said.token = None),
            "BVT_Smb2OverRdma_Smb302_Write_SMB2_CHANNEL_RDMA_V1_INVALIDATE",
            &["3.3.5.13-29"],
        ),
    ]
}

fn of_clients() -> Vec<Row> {
    let none = Wrong { is_client: true, ..Wrong::default() };
    vec![
        (
            "a buffer stays open",
            Wrong { stays: true, ..none },
            "smb2::a_buffer_is_closed_before_its_data_are_used",
            &["3.2.5.11-01"],
        ),
        (
            "the status of a READ is not looked at",
            Wrong {
                hears: |smb2| {
                    if is(smb2, Command::READ) {
                        header::field::STATUS.set(smb2, NtStatus::SUCCESS).unwrap();
                    }
                },
                ..none
            },
            "smb2::a_failed_read_brings_nothing",
            &["3.2.5.11-02"],
        ),
        (
            "Flags of the answer to a READ are not looked at",
            Wrong {
                hears: |smb2| {
                    if is(smb2, Command::READ) {
                        read::response::FLAGS.set(smb2, ReadResponseFlags::default()).unwrap();
                    }
                },
                ..none
            },
            "smb2::a_transform_that_nobody_wanted_is_refused",
            &["3.2.5.11-06"],
        ),
        (
            "a byte of what was read is another",
            Wrong {
                // Not that of the script's own buffer that nothing is to be written to.
                wrote: |bytes| {
                    if bytes.first() != Some(&0xB7) {
                        flip_last(bytes);
                    }
                },
                ..none
            },
            "smb2::a_buffer_is_closed_before_its_data_are_used",
            &["3.2.5.11-20"],
        ),
    ]
}

pub fn played(wrong: &Wrong, name: &str) -> Played {
    let catalogue = Catalogue::load().unwrap();
    let case = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
    let role = if wrong.is_client { UnderTest::Initiator } else { UnderTest::Acceptor };
    play(&mut wrong.clone(), 0, case, role, &options(role))
}

#[test]
fn each_statement_is_named_when_it_is_broken_and_no_other_is() {
    let of_requests = [of_refused_reads(), of_channels_of_writes(), of_refused_writes()].concat();
    let rows =
        [of_clients(), of_requests, of_reads(), of_writes(), covered::rows(), two_channels::rows()].concat();
    let mut differing = Vec::new();
    for (what, wrong, case, listed) in &rows {
        let played = played(wrong, case);
        let found: BTreeSet<_> =
            played.findings.iter().flat_map(|finding| &finding.statements).map(String::as_str).collect();
        if found != listed.iter().copied().collect() {
            let texts: Vec<_> = played.findings.iter().map(|finding| &finding.text).collect();
            differing.push(format!("{what}: {} {found:?} {texts:?}", played.outcome));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));

    // The table has all statements that breaks.toml leaves to it.
    let here = rows.iter().flat_map(|(.., listed)| *listed).copied();
    let broken: BTreeSet<_> = here.chain(lax::broken()).collect();
    let breaks = Breaks::load().unwrap();
    let left = breaks.not_shown.iter().filter(|not| not.reason.contains("tests/channels/"));
    let left: BTreeSet<_> = left.map(|not| not.statement.to_string()).collect();
    assert_eq!(broken.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), left);
}

#[test]
fn a_read_that_is_wrong_is_not_taken_for_a_write_that_is() {
    let wrong =
        Wrong { wrote: |bytes| bytes.last_mut().into_iter().for_each(|last| *last ^= 1), ..Wrong::default() };
    let Outcome::NotJudged(why) = played(&wrong, LARGE_WRITE).outcome else { panic!("it is judged") };
    assert_eq!(why.case.as_deref(), Some(LARGE_READ));
}

#[test]
fn a_session_that_is_refused_in_a_dialect_of_the_server_is_not_passed_over() {
    // The session in the first dialect of a case is granted, and those after it are refused.
    static IS_FIRST: AtomicBool = AtomicBool::new(true);
    let wrong = says(|said| {
        if is(&said.smb2, Command::SESSION_SETUP)
            && succeeds(&said.smb2)
            && !IS_FIRST.swap(false, Ordering::Relaxed)
        {
            header::field::STATUS.set(&mut said.smb2, NtStatus::USER_SESSION_DELETED).unwrap();
        }
    });
    for case in ["read", "write"] {
        let case = format!("smb2::a_{case}_by_a_channel_that_is_none_is_refused");
        IS_FIRST.store(true, Ordering::Relaxed);
        let Outcome::NotApplicable(why) = played(&wrong, &case).outcome else { panic!("{case} is judged") };
        assert_eq!(why, "the server refuses SMB2 SESSION_SETUP: STATUS_USER_SESSION_DELETED");
    }
}
