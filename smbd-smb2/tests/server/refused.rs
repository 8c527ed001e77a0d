//! What is told of clients that are refused.

use smbd_smb2::server::{Params, Refused};
use smbd_smb2::wire::{Dialect, NtStatus, Smb1Negotiate};

use super::rig::{Protect, Rig, TCP, params};

fn login(user: &str, why: &str) -> Refused {
    Refused::Login { user: user.to_owned(), why: why.to_owned() }
}

fn ready(params: Params) -> Rig {
    let mut rig = Rig::new(params, TCP);
    assert_eq!(rig.negotiate(&[Dialect::SMB_3_1_1], &[]).status(), NtStatus::SUCCESS);
    rig
}

#[test]
fn a_failed_login_is_told_once_with_the_user_that_the_client_named() {
    let wrong = "the user is unknown or the password is wrong";
    let long = "x".repeat(300);
    for (user, told) in
        [("tester", "tester"), ("nobody \"at\nall", "nobody \"at\nall"), (&long, &long[..256])]
    {
        let mut rig = ready(params());
        assert_eq!(rig.log_in(user, "wrong").status(), NtStatus::LOGON_FAILURE);
        assert_eq!(rig.refused, [login(told, wrong)]);
    }
    let mut rig = ready(params());
    assert_eq!(rig.log_in("tester", "correct horse").status(), NtStatus::SUCCESS);
    assert_eq!(rig.refused, []);
    rig.protect = Protect::Sign;
    assert_eq!(rig.log_in("tester", "wrong").status(), NtStatus::LOGON_FAILURE);
    assert_eq!(rig.refused, [login("tester", wrong)], "who logs in again");
}

#[test]
fn a_guest_who_would_have_to_sign_is_told_as_a_failed_login() {
    let mut rig = ready(Params { guests: true, signing_required: true, ..params() });
    assert_eq!(rig.log_in("nobody", "any").status(), NtStatus::ACCESS_DENIED);
    assert_eq!(
        rig.refused,
        [login("nobody", "guests and anonymous users cannot sign or encrypt, as sessions have to")]
    );
}

#[test]
fn dialects_that_the_server_does_not_have_are_told() {
    let told = |offered: &str| [Refused::Dialects { offered: offered.to_owned() }];
    let mut rig = Rig::new(params(), TCP);
    let answer = rig.negotiate(&[Dialect::SMB_2_0_2, Dialect::SMB_2_1], &[]);
    assert_eq!(answer.status(), NtStatus::NOT_SUPPORTED);
    assert_eq!(rig.refused, told("2.0.2,2.1"));
    let mut rig = Rig::new(params(), TCP);
    let mut message = Vec::new();
    Smb1Negotiate::write(&mut message, &[b"NT LM 0.12"]).unwrap();
    rig.give(&mut message);
    assert_eq!(rig.refused, told("SMB1"));
}
