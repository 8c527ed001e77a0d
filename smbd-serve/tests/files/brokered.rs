//! `smbd-serve --broker`: one process has all clients whose connections a broker has.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use smbd_broker::wire::{Call, Rule};
use smbd_client::{Remote, Settings};
use smbd_smb2::security::Credentials;
use tokio::sync::Notify;

use super::broker_script::{Line, Place, newcomer};
use super::words::{content, folder};

/// Its connections end with it, so it goes last.
#[test]
fn a_server_that_is_told_to_end_takes_nobody_else_and_stays_until_its_clients_are_finished() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let work = async {
        let folder = folder("brokered");
        let place = Place::new(&folder);
        let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-serve"));
        command.arg(&folder).args(["--guest", "--broker", place.path()]).stdout(Stdio::null());
        let mut program = command.spawn().unwrap();
        let (mut owner, _) = place.welcome().await;
        let (tag, call, _) = owner.call().await.unwrap();
        assert_eq!(call, Call::Listen { is_on: true });
        owner.done(tag).await;
        let (end, _) = owner.connection(newcomer(1, Rule::Default)).await;
        let (transport, line) = Line::new();
        let settings = Settings { guest: true, ..Settings::new("server") };
        let (remote, driver) = Remote::over(transport, &settings).unwrap();
        tokio::spawn(driver);
        let told = Arc::new(Notify::new());
        let carried = tokio::spawn(line.carry_and_tell(end, Arc::clone(&told)));
        let share = remote.login(Credentials::Anonymous).await.unwrap().connect("share").await.unwrap();
        let file = share.create("f").await.unwrap();
        file.write_at(0, content(100_000).into()).await.unwrap();
        let pid = Pid::from_raw(i32::try_from(program.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        // As long as the broker has not said that its last answer has left.
        let (tag, call, _) = owner.call().await.expect("it is still there");
        assert_eq!(call, Call::Listen { is_on: false });
        owner.done(tag).await;
        assert!(!carried.is_finished());
        told.notify_one();
        carried.await.unwrap();
        assert!(owner.call().await.is_none());
        assert!(program.wait().unwrap().success());
        assert_eq!(fs::read(folder.join("f")).unwrap(), content(100_000));
    };
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), work).await.expect("it ends") });
}
