//! What QUERY_INFO tells of an open, and what SET_INFO has set.

use smbd_smb2::wire::{
    AccessMask, CreateDisposition, CreateOptions, CreateRequest, FileId, InfoType, NtStatus, ReadRequest,
    WriteRequest,
};

use crate::commands::{output, query, set};
use crate::rig::{NOW, Rig, TCP, create, opened, params};

const BASIC: u8 = 4;
const ACCESS: u8 = 8;
const POSITION: u8 = 14;
const ALL: u8 = 18;
const ALTERNATE_NAME: u8 = 21;

fn ready() -> (Rig, FileId) {
    let mut rig = Rig::ready(params(), TCP);
    let file_id = rig.file("bufsize.txt");
    (rig, file_id)
}

fn asked(rig: &mut Rig, file_id: FileId, class: u8) -> Vec<u8> {
    let answer = query(rig, file_id, InfoType::FILE, class, 4096);
    assert_eq!(answer.status(), NtStatus::SUCCESS, "{class}");
    output(&answer)
}

/// Fixed parts as Windows and Samba have them: with the alignment of the structure.
#[test]
fn a_buffer_below_the_fixed_part_is_refused_and_one_below_all_of_it_overflows_3_3_5_20_1() {
    let (mut rig, file_id) = ready();
    let of_file =
        [(4, 40), (5, 24), (6, 8), (7, 4), (8, 4), (14, 8), (16, 4), (17, 4), (18, 104), (21, 8), (22, 32)];
    let of_file = of_file
        .into_iter()
        .chain([(28, 16), (34, 56), (35, 8)])
        .map(|(class, fixed)| (InfoType::FILE, class, fixed));
    let of_volume = [(1, 24), (3, 24), (4, 8), (5, 16), (6, 48), (7, 32), (11, 28)];
    let of_volume = of_volume.map(|(class, fixed)| (InfoType::FILESYSTEM, class, fixed));
    for (kind, class, fixed) in of_file.chain(of_volume) {
        let all = output(&query(&mut rig, file_id, kind, class, 4096)).len() as u32;
        for len in 0..=all {
            let expected = match len {
                len if len < fixed => NtStatus::INFO_LENGTH_MISMATCH,
                len if len < all => NtStatus::BUFFER_OVERFLOW,
                _ => NtStatus::SUCCESS,
            };
            let answer = query(&mut rig, file_id, kind, class, len);
            assert_eq!(answer.status(), expected, "{kind:?} {class}: {len} of {all} bytes");
        }
    }
}

#[test]
fn access_is_told_as_it_was_asked_for_and_execute_lets_read_3_3_5_9() {
    let (mut rig, _) = ready();
    let desired_access = AccessMask::EXECUTE | AccessMask::READ_ATTRIBUTES;
    let how = create("bufsize.txt", CreateDisposition::OPEN, CreateOptions::NONE);
    let file_id = opened(&rig.request(&CreateRequest { desired_access, ..how }));
    assert_eq!(asked(&mut rig, file_id, ACCESS), desired_access.0.to_le_bytes());
    let read = ReadRequest { file_id, length: 1, ..ReadRequest::default() };
    assert_eq!(rig.status(&read), NtStatus::END_OF_FILE);
}

#[test]
fn a_position_is_told_as_it_was_set_and_reads_do_not_move_it() {
    let (mut rig, file_id) = ready();
    let wrong = [(&[0; 7][..], NtStatus::INFO_LENGTH_MISMATCH), (&[0xFF; 8], NtStatus::INVALID_PARAMETER)];
    for (input, status) in wrong {
        assert_eq!(set(&mut rig, file_id, POSITION, input), status);
    }
    assert_eq!(set(&mut rig, file_id, POSITION, &7_u64.to_le_bytes()), NtStatus::SUCCESS);
    let data = WriteRequest { file_id, data: b"0123456789", ..WriteRequest::default() };
    assert_eq!(rig.status(&data), NtStatus::SUCCESS);
    let read = ReadRequest { file_id, length: 5, ..ReadRequest::default() };
    assert_eq!(rig.status(&read), NtStatus::SUCCESS);
    assert_eq!(asked(&mut rig, file_id, POSITION), 7_u64.to_le_bytes());
    assert_eq!(asked(&mut rig, file_id, ALL)[80..88], 7_u64.to_le_bytes());
}

#[test]
fn a_name_of_8_3_is_its_own_short_name_and_no_other_has_one() {
    let (mut rig, _) = ready();
    for (name, short) in [
        ("12345678.123", Some("12345678.123")),
        ("a", Some("a")),
        (".a", None),
        ("123456789", None),
        ("a.1234", None),
        ("a.b.c", None),
        ("a b", None),
        ("\u{e4}", None),
    ] {
        let file_id = rig.file(name);
        let answer = query(&mut rig, file_id, InfoType::FILE, ALTERNATE_NAME, 4096);
        let told = (answer.status() == NtStatus::SUCCESS).then(|| output(&answer).split_off(4));
        let short = short.map(|short| short.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
        assert_eq!(told, short, "{name}");
    }
}

/// Sets LastWriteTime.
fn set_time(rig: &mut Rig, file_id: FileId, time: u64) {
    let mut input = [0; 40];
    input[16..24].copy_from_slice(&time.to_le_bytes());
    assert_eq!(set(rig, file_id, BASIC, &input), NtStatus::SUCCESS, "{time}");
}

#[test]
fn a_time_that_was_set_or_frozen_stays_through_the_writes_of_its_open_until_it_is_thawed() {
    let (mut rig, file_id) = ready();
    let other = opened(&rig.create("bufsize.txt", CreateDisposition::OPEN, CreateOptions::NONE));
    let written = |rig: &mut Rig, by: FileId| {
        rig.now += 10_000_000;
        let data = WriteRequest { file_id: by, data: b"x", ..WriteRequest::default() };
        assert_eq!(rig.status(&data), NtStatus::SUCCESS);
        u64::from_le_bytes(asked(rig, file_id, BASIC)[16..24].try_into().unwrap())
    };
    set_time(&mut rig, file_id, 5);
    assert_eq!(written(&mut rig, file_id), 5);
    set_time(&mut rig, file_id, u64::MAX - 1);
    let thawed = written(&mut rig, file_id);
    assert!(thawed > NOW);
    set_time(&mut rig, file_id, u64::MAX);
    assert_eq!(written(&mut rig, file_id), thawed);
    assert!(written(&mut rig, other) > thawed, "of another open");
}
