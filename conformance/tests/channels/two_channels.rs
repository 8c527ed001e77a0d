//! Servers that are wrong about a session which begins over TCP and goes on over SMB Direct.

use smbd_conformance::suite::Outcome;
use smbd_smb2::wire::network_interface::{field, v4};
use smbd_smb2::wire::{
    Capabilities, Command, Header, InterfaceCapabilities, IoctlResponse, NtStatus, header, negotiate,
};

use super::red::{Row, flip_last, of_read, played, says};
use super::wrong::{Said, Wrong};

pub const OTHER: &str = "BVT_Smb2MultipleChannel_2Channels_DiffNicTypeDiffTransport";
pub const SAME: &str = "Smb2Multichannel_2Channels_DiffTransport";
const OURS: &str = "smb2::what_is_written_by_rdma_is_read_over_tcp";
const BOUND: &str = "3.3.5.5-01";
const READ: &str = "3.3.5.12-20";
const TOLD: &str = "3.3.5.15.11-01";

fn tells(tells: fn(&mut Vec<u8>)) -> Wrong {
    Wrong { tells, ..Wrong::default() }
}

/// Each interface in the answer to an IOCTL.
fn interfaces(smb2: &mut [u8], change: impl Fn(&mut [u8])) {
    let Ok(ioctl) = IoctlResponse::parse(smb2) else { return };
    let mut at = smb2.len() - ioctl.output.len();
    loop {
        let next = field::NEXT.get(&smb2[at..]).unwrap();
        change(&mut smb2[at..]);
        match usize::try_from(next).unwrap() {
            0 => return,
            next => at += next,
        }
    }
}

fn without_rdma(smb2: &mut [u8]) {
    interfaces(smb2, |one| field::CAPABILITY.set(one, InterfaceCapabilities::default()).unwrap());
}

fn elsewhere(smb2: &mut [u8]) {
    interfaces(smb2, |one| v4::ADDRESS.set(one, [10, 0, 0, 77]).unwrap());
}

fn of(smb2: &[u8], command: Command) -> bool {
    Header::parse(smb2).is_ok_and(|header| header.command == command)
}

fn fails(smb2: &mut [u8], command: Command, status: NtStatus) {
    if of(smb2, command) {
        header::field::STATUS.set(smb2, status).unwrap();
    }
}

fn refused(said: &mut Said) {
    fails(&mut said.smb2, Command::SESSION_SETUP, NtStatus::REQUEST_NOT_ACCEPTED);
}

fn unknown(said: &mut Said) {
    of_read(said, |said| fails(&mut said.smb2, Command::READ, NtStatus::FILE_CLOSED));
}

/// All of them.
pub fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for case in [OTHER, SAME] {
        rows.extend([
            ("no interface that can do RDMA is told of", tells(|smb2| without_rdma(smb2)), case, &[TOLD][..]),
            ("another address is told of", tells(|smb2| elsewhere(smb2)), case, &[TOLD]),
            (
                "interfaces are not told of",
                tells(|smb2| fails(smb2, Command::IOCTL, NtStatus::NOT_SUPPORTED)),
                case,
                &[TOLD],
            ),
            ("no session is bound", says(refused), case, &[BOUND]),
            ("the file is not that of the other connection", says(unknown), case, &[READ]),
            ("a byte is not written", Wrong { wrote: flip_last, ..Wrong::default() }, case, &[READ]),
        ]);
    }
    rows.extend([
        ("no session is bound", says(refused), OURS, &[BOUND][..]),
        ("a byte is not read", Wrong { finds: flip_last, ..Wrong::default() }, OURS, &["3.3.5.13-26"]),
        ("no token is invalidated", says(|said| said.token = None), OURS, &["3.3.5.13-29"]),
    ]);
    rows
}

#[test]
fn a_file_that_cannot_be_closed_over_tcp_fails_the_case_and_breaks_no_statement() {
    let wrong = tells(|smb2| fails(smb2, Command::CLOSE, NtStatus::FILE_CLOSED));
    for case in [OTHER, SAME] {
        let played = played(&wrong, case);
        assert_eq!(played.outcome, Outcome::Failed);
        let [finding] = &played.findings[..] else { panic!("{:?}", played.findings) };
        assert_eq!(finding.statements, Vec::<String>::new());
        assert_eq!(
            finding.text,
            "CLOSE over TCP, with FileId of both connections, should succeed: the answer is STATUS_FILE_CLOSED"
        );
    }
}

#[test]
fn what_is_written_over_tcp_has_to_be_there_before_anything_is_judged() {
    let wrong = tells(|smb2| fails(smb2, Command::WRITE, NtStatus::DISK_FULL));
    let Outcome::NotJudged(why) = played(&wrong, OTHER).outcome else { panic!("it is judged") };
    assert_eq!(why.because, "the file cannot be written over TCP: the answer is STATUS_DISK_FULL");
}

#[test]
fn a_server_whose_sessions_have_one_connection_is_not_asked_for_two() {
    let wrong = tells(|smb2| {
        if of(smb2, Command::NEGOTIATE) {
            negotiate::response::CAPABILITIES.set(smb2, Capabilities::LARGE_MTU).unwrap();
        }
    });
    let Outcome::NotApplicable(why) = played(&wrong, SAME).outcome else { panic!("it is played") };
    assert_eq!(why, "the server has no sessions of several connections");
}
