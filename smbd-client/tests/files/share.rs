//! What can be done with a share.

use bytes::Bytes;
use smbd_client::{Error, Settings, Way};
use smbd_smb2::client::Protection;
use smbd_smb2::wire::{Dialect, NtStatus};

use super::server::{Host, PASSWORD, content, login, settings};

fn status<T: std::fmt::Debug>(result: Result<T, Error>) -> NtStatus {
    result.unwrap_err().status().expect("a status")
}

#[tokio::test]
async fn files_are_written_read_listed_renamed_and_removed() {
    let host = Host::new(|_| {});
    let (share, driver) = host.share(&settings(), "data").await.unwrap();
    share.mkdir("a").await.unwrap();
    let data = Bytes::from(content(3_000_001));
    let file = share.create("a/b.bin").await.unwrap();
    file.write_at(0, data.clone()).await.unwrap();
    file.flush().await.unwrap();
    file.close().await.unwrap();
    let file = share.open("/a/b.bin").await.unwrap();
    assert_eq!(file.size(), data.len() as u64);
    assert_eq!(file.read_at(1_000_000, 1000).await.unwrap(), data[1_000_000..1_001_000]);
    assert_eq!(file.read_at(3_000_000, 1000).await.unwrap(), data[3_000_000..], "what is there");
    assert_eq!(file.read_at(4_000_000, 1000).await.unwrap(), Bytes::new());
    file.close().await.unwrap();
    let names = |entries: Vec<smbd_client::Entry>| -> Vec<_> {
        entries.into_iter().map(|entry| (entry.name, entry.stat.size, entry.stat.attributes)).collect()
    };
    let root = names(share.list("").await.unwrap());
    assert_eq!((root.len(), root[0].0.as_str()), (1, "a"));
    assert!(share.stat("a").await.unwrap().is_directory());
    assert_eq!(share.stat("a/b.bin").await.unwrap().size, 3_000_001);
    share.rename("a/b.bin", "a/c.bin", false).await.unwrap();
    assert_eq!(names(share.list("a").await.unwrap())[0].0, "c.bin");
    assert_eq!(status(share.remove_directory("a").await), NtStatus::DIRECTORY_NOT_EMPTY);
    share.remove("a/c.bin").await.unwrap();
    share.remove_directory("a").await.unwrap();
    assert_eq!(names(share.list("").await.unwrap()), []);
    assert_eq!(host.files().open_count(), 0);
    drop(share);
    driver.await.unwrap();
}

#[tokio::test]
async fn a_directory_of_more_entries_than_an_answer_has_is_listed_whole() {
    let host = Host::new(|_| {});
    let (share, _driver) = host.share(&settings(), "data").await.unwrap();
    for number in 0..700 {
        share.create(&format!("file {number:04} of the same directory")).await.unwrap();
    }
    let entries = share.list("").await.unwrap();
    assert_eq!(entries.len(), 700);
    assert_eq!(entries[699].name, "file 0699 of the same directory");
}

#[tokio::test]
async fn what_the_server_refuses_is_told_by_the_name_of_its_status() {
    let host = Host::new(|_| {});
    let (remote, _driver) = host.remote(&settings());
    let said = login(&remote, "wrong").await.unwrap_err().to_string();
    assert_eq!(said, "STATUS_LOGON_FAILURE (the user or the password is wrong)");
    let session = login(&remote, PASSWORD).await.unwrap();
    assert_eq!(status(session.connect("none").await), NtStatus::BAD_NETWORK_NAME);
    let share = session.connect("data").await.unwrap();
    assert_eq!(status(share.open("no/such").await), NtStatus::OBJECT_PATH_NOT_FOUND);
    assert_eq!(status(share.open("none").await), NtStatus::OBJECT_NAME_NOT_FOUND);
    share.mkdir("d").await.unwrap();
    assert_eq!(status(share.mkdir("d").await), NtStatus::OBJECT_NAME_COLLISION);
    assert_eq!(status(share.open("d").await), NtStatus::FILE_IS_A_DIRECTORY);
    assert_eq!(share.open("../b").await.unwrap_err(), Error::Path("../b".into()));
    session.logoff().await.unwrap();
    assert!(share.list("").await.is_err(), "the session is over");
}

#[tokio::test]
async fn data_are_the_same_signed_and_encrypted_in_all_dialects() {
    let host = Host::new(|_| {});
    let data = Bytes::from(content(200_000));
    for max_dialect in [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1] {
        for (sign, encrypt, name) in [(true, false, "data"), (false, true, "data"), (false, false, "secret")]
        {
            let settings = Settings { sign, encrypt, max_dialect, ..settings() };
            let (share, driver) = host.share(&settings, name).await.unwrap();
            let protection = if sign { Protection::Signed } else { Protection::Encrypted };
            assert_eq!(share.way(), Way::Tcp(protection));
            let file = share.create("f").await.unwrap();
            file.write_at(5, data.clone()).await.unwrap();
            file.close().await.unwrap();
            let file = share.open("f").await.unwrap();
            assert_eq!(file.read_at(5, 200_000).await.unwrap(), data);
            drop((file, share));
            driver.await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_file_that_is_dropped_is_closed_at_the_server() {
    let host = Host::new(|_| {});
    let (share, _driver) = host.share(&settings(), "data").await.unwrap();
    drop(share.create("f").await.unwrap());
    // Requests are carried out in order, so it is closed when this is answered.
    share.stat("").await.unwrap();
    assert_eq!(host.files().open_count(), 0);
}

#[tokio::test]
async fn a_connection_whose_handles_are_gone_is_closed() {
    let host = Host::new(|_| {});
    let (remote, driver) = host.remote(&settings());
    drop(remote);
    driver.await.unwrap();
}

#[tokio::test]
async fn names_that_windows_has_not_are_written_and_listed_as_they_are() {
    let host = Host::new(|_| {});
    let (share, _driver) = host.share(&settings(), "data").await.unwrap();
    let mut names = ["10:30 *?.txt", r"a\b", "<\"|>", "tab\there", "end.", "end "];
    for name in names {
        share.create(name).await.unwrap().close().await.unwrap();
        assert!(!share.stat(name).await.unwrap().is_directory());
    }
    let mut listed: Vec<_> = share.list("").await.unwrap().into_iter().map(|entry| entry.name).collect();
    listed.sort_unstable();
    names.sort_unstable();
    assert_eq!(listed, names);
}
