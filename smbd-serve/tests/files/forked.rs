//! `smbd-serve --fork`: each client has a process of its own, whose connections a broker has.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use smbd_broker::wire::{Age, Call, Newcomer, Refusal, Rule};
use smbd_client::{Remote, Session, Settings};
use smbd_smb2::server::client_guid;
use smbd_smb2::wire::{Command as Smb2, Guid, Header};
use tokio::task::JoinHandle;

use super::broker_script::{
    Hand, Line, Owner, Place, has_been, has_come, has_ended, is_silent, newcomer, sent,
};
use super::words::{PASSWORD, content, folder, login};

fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), work).await.expect("it ends") });
}

/// A server that forks, as the broker sees it.
struct Forking {
    place: Place,
    /// Its share.
    share: PathBuf,
    program: Child,
    parent: Owner,
    connections: u64,
}

/// A client that is logged in, as the child that serves it has it.
struct Served {
    child: Owner,
    client: Guid,
    session_id: u64,
    carried: JoinHandle<()>,
}

impl Forking {
    async fn start(test: &str, arguments: &[&str]) -> Self {
        Self::start_by(&[], test, arguments).await
    }

    /// With these words before the share.
    async fn start_by(words: &[&str], test: &str, arguments: &[&str]) -> Self {
        let folder = folder(test);
        let (share, users) = (folder.join("share"), folder.join("users"));
        fs::create_dir(&share).unwrap();
        fs::write(&users, format!("tester:password:{PASSWORD}\n")).unwrap();
        fs::set_permissions(&users, fs::Permissions::from_mode(0o600)).unwrap();
        let place = Place::new(&folder);
        let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-serve"));
        command
            .args(words)
            .arg(&share)
            .arg("--users")
            .arg(&users)
            .args(["--broker", place.path(), "--fork"])
            .args(arguments);
        let program = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut parent, name) = place.welcome().await;
        assert_eq!(name, "smbd-serve");
        let (tag, call, _) = parent.call().await.unwrap();
        assert_eq!(call, Call::Listen { is_on: true });
        parent.done(tag).await;
        Self { place, share, program, parent, connections: 0 }
    }

    fn number(&mut self) -> u64 {
        self.connections += 1;
        self.connections
    }

    /// A client comes, and logs in.
    async fn client(&mut self) -> (Served, Session) {
        let (transport, mut line) = Line::new();
        let settings = Settings { channels: 2, ..Settings::new("server") };
        let (remote, driver) = Remote::over(transport, &settings).unwrap();
        tokio::spawn(driver);
        let session = tokio::spawn(async move { login(&remote, PASSWORD).await.unwrap() });
        let negotiate = line.message().await.unwrap();
        let number = self.number();
        let (mut old, cookie) = self.parent.connection(newcomer(number, Rule::Default)).await;
        has_come(&mut old, &negotiate).await;
        let (mut child, name) = self.place.welcome().await;
        assert_eq!(name, "smbd-serve child");
        let mut end = child.attaches(cookie).await;
        // All that was said before is in the old socket, which ends.
        drop(old);
        let client = client_guid(&negotiate).unwrap();
        // It is answered when the broker knows of the client, and of the session.
        let (tag, call, _) = child.call().await.unwrap();
        assert_eq!(call, Call::SetClientGuid { client_guid: client, is_held: true });
        assert!(is_silent(&mut end).await);
        child.done(tag).await;
        let setups = line.setups();
        let carried = tokio::spawn(line.carry(end));
        let (tag, call, _) = child.call().await.unwrap();
        let Call::SetSessionId { session_id, is_held: true } = call else { panic!("{call:?}") };
        // The first of two steps.
        assert_eq!(setups.load(Ordering::SeqCst), 1);
        child.done(tag).await;
        (Served { child, client, session_id, carried }, session.await.unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(self.program.id()).unwrap()).unwrap(), signal).unwrap();
    }

    /// What it has said, and its status, when it and all children have ended.
    fn ended(&mut self) -> (Option<i32>, Vec<String>) {
        let mut said = String::new();
        self.program.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        (self.program.wait().unwrap().code(), said.lines().map(super::words::said).collect())
    }
}

impl Drop for Forking {
    fn drop(&mut self) {
        // Children see the end of their parent.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

impl Served {
    /// The child forgets the client and its session, and ends.
    async fn ends(&mut self) {
        let (client_guid, session_id) = (self.client, self.session_id);
        let forgets = [
            Call::SetSessionId { session_id, is_held: false },
            Call::SetClientGuid { client_guid, is_held: false },
        ];
        for expected in forgets {
            let (tag, call, _) = self.child.call().await.unwrap();
            assert_eq!(call, expected);
            self.child.done(tag).await;
        }
        assert!(self.child.call().await.is_none());
    }
}

/// The processes that a log names as children that began, and as children that ended like this.
fn children(lines: &[String], what: &str, status: &str) -> Vec<String> {
    let of = |line: &String| Some(line.strip_prefix(what)?.strip_prefix(" child=")?.to_owned());
    let all = lines.iter().filter_map(of).filter(|line| line.contains(status));
    let mut pids: Vec<_> = all.map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    pids.sort();
    pids
}

#[test]
fn each_client_is_served_by_a_child_to_which_the_broker_brings_its_other_connections() {
    run(async {
        let mut serve = Forking::start("forked-clients", &[]).await;
        let (mut one, session) = serve.client().await;
        let (mut other, other_session) = serve.client().await;
        assert_ne!((one.client, one.session_id), (other.client, other.session_id));
        let share = session.connect("share").await.unwrap();
        let file = share.create("one").await.unwrap();
        file.write_at(0, content(300_000).into()).await.unwrap();
        // Another connection, for the child of this client.
        let (transport, mut line) = Line::new();
        let (channel, driver) = session.channel(transport).unwrap();
        tokio::spawn(driver);
        let bound = tokio::spawn(channel.bind());
        let negotiate = line.message().await.unwrap();
        assert_eq!(client_guid(&negotiate), Some(one.client));
        let number = serve.number();
        let (mut end, _) = one.child.connection(newcomer(number, Rule::ClientGuid)).await;
        has_come(&mut end, &negotiate).await;
        tokio::spawn(line.carry(end));
        bound.await.unwrap().unwrap();
        assert_eq!(session.connections(), (2, 0));
        let (left, right) = tokio::join!(file.read_at(0, 150_000), file.read_at(150_000, 150_000));
        assert!([left.unwrap(), right.unwrap()].concat() == content(300_000));
        assert_eq!(fs::read(serve.share.join("one")).unwrap(), content(300_000));
        drop((file, share, session));
        one.ends().await;
        // This one says so: the session is forgotten before it hears that it is over.
        let (over, ()) = tokio::join!(other_session.logoff(), other.ends());
        over.unwrap();
        serve.signal(Signal::TERM);
        let (code, lines) = serve.ended();
        let began = children(&lines, "child started", "");
        assert_eq!((code, began.len()), (Some(0), 2), "{lines:#?}");
        assert_eq!(children(&lines, "child ended", "exit status: 0"), began, "{lines:#?}");
        // Both connections of the one were served by the same child.
        let of = |pid: &String| {
            let is_its =
                |line: &&String| line.starts_with("client ended ") && line.ends_with(&format!(" pid={pid}"));
            lines.iter().filter(is_its).count()
        };
        let mut served: Vec<_> = began.iter().map(of).collect();
        served.sort_unstable();
        assert_eq!(served, [1, 2], "{lines:#?}");
    });
}

/// Two connections of a client may come before the broker knows whose it is. Then one is answered by another child, and moved by the
/// session that it binds.
#[test]
fn a_connection_that_another_child_has_answered_is_moved_to_the_one_that_has_its_session() {
    run(async {
        let mut serve = Forking::start("forked-moved", &[]).await;
        let (mut one, session) = serve.client().await;
        let (transport, mut hand) = Hand::new();
        let (channel, driver) = session.channel(transport).unwrap();
        tokio::spawn(driver);
        let bound = tokio::spawn(channel.bind());
        let negotiate = hand.message().await;
        let number = serve.number();
        let (mut old, cookie) = serve.parent.connection(newcomer(number, Rule::Default)).await;
        has_come(&mut old, &negotiate).await;
        let (mut other, _) = serve.place.welcome().await;
        let mut end = other.attaches(cookie).await;
        drop(old);
        let (tag, call, _) = other.call().await.unwrap();
        assert_eq!(call, Call::SetClientGuid { client_guid: one.client, is_held: true });
        other.refuse(tag, Refusal::Held).await;
        let mut past = vec![(Age::PastRequest, negotiate)];
        let setup = loop {
            tokio::select! {
                message = hand.message() => {
                    if Header::parse(&message).unwrap().command == Smb2::SESSION_SETUP {
                        break message;
                    }
                    has_come(&mut end, &message).await;
                    past.push((Age::PastRequest, message));
                }
                message = sent(&mut end) => {
                    let message = message.unwrap();
                    hand.answer(&message).await;
                    past.push((Age::PastResponse, message));
                }
            }
        };
        drop(end);
        let moved = Newcomer { is_negotiated: true, ..newcomer(number, Rule::SessionId) };
        let (mut end, _) = one.child.connection(moved).await;
        has_been(&mut end, &past).await;
        has_come(&mut end, &setup).await;
        tokio::spawn(hand.carry(end));
        bound.await.unwrap().unwrap();
        assert_eq!(session.connections(), (2, 0));
        // The other child has nothing, and ends.
        let (tag, call, _) = other.call().await.unwrap();
        assert_eq!(call, Call::SetClientGuid { client_guid: one.client, is_held: false });
        other.refuse(tag, Refusal::NotHeld).await;
        assert!(other.call().await.is_none());
        let share = session.connect("share").await.unwrap();
        let file = share.create("f").await.unwrap();
        let (first, second) = (content(60_000)[..30_000].to_vec(), content(60_000)[30_000..].to_vec());
        let (first, second) =
            tokio::join!(file.write_at(0, first.into()), file.write_at(30_000, second.into()));
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(fs::read(serve.share.join("f")).unwrap(), content(60_000));
        drop((file, share, session));
        one.ends().await;
    });
}

#[test]
fn children_end_with_their_parent_in_order_if_it_is_told_to_and_if_it_is_killed() {
    for (signal, code) in [(Signal::TERM, Some(0)), (Signal::KILL, None)] {
        run(async {
            let mut serve = Forking::start("forked-parent", &[]).await;
            let (mut one, session) = serve.client().await;
            serve.signal(signal);
            if signal == Signal::TERM {
                let (tag, call, _) = serve.parent.call().await.unwrap();
                assert_eq!(call, Call::Listen { is_on: false });
                serve.parent.done(tag).await;
            }
            one.ends().await;
            one.carried.await.unwrap();
            assert!(session.connect("share").await.is_err());
            let (status, lines) = serve.ended();
            let says_it = lines.last().is_some_and(|line| line == "ended");
            assert_eq!((status, says_it), (code, code.is_some()), "{lines:#?}");
        });
    }
}

#[test]
fn a_child_that_is_killed_ends_alone_and_is_told_in_the_log() {
    run(async {
        let mut serve = Forking::start("forked-killed", &[]).await;
        let (mut one, session) = serve.client().await;
        let (mut other, other_session) = serve.client().await;
        let share = other_session.connect("share").await.unwrap();
        let pid = Pid::from_raw(one.child.pid()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        assert!(one.child.call().await.is_none());
        one.carried.await.unwrap();
        assert!(session.connect("share").await.is_err());
        share.create("other").await.unwrap().write_at(0, content(10).into()).await.unwrap();
        serve.signal(Signal::TERM);
        other.ends().await;
        let (_, lines) = serve.ended();
        let killed = children(&lines, "child ended", "SIGKILL");
        assert_eq!(killed, [pid.to_string()], "{lines:#?}");
    });
}

#[test]
fn a_parent_that_the_command_run_has_started_has_children_too_and_sighup_ends_neither() {
    run(async {
        let mut serve = Forking::start_by(&["run"], "forked-run", &[]).await;
        let (mut one, session) = serve.client().await;
        let child = Pid::from_raw(one.child.pid()).unwrap();
        kill_process(child, Signal::HUP).unwrap();
        serve.signal(Signal::HUP);
        let share = session.connect("share").await.unwrap();
        share.create("f").await.unwrap().write_at(0, content(10).into()).await.unwrap();
        drop((share, session));
        one.ends().await;
        serve.signal(Signal::TERM);
        let (code, lines) = serve.ended();
        assert_eq!(code, Some(0));
        assert_eq!(children(&lines, "child ended", "exit status: 0").len(), 1, "{lines:#?}");
        assert_eq!(fs::read(serve.share.join("f")).unwrap(), content(10));
    });
}

#[test]
fn no_more_children_are_started_than_there_may_be() {
    run(async {
        let mut serve = Forking::start("forked-many", &["--children", "1"]).await;
        let (mut one, session) = serve.client().await;
        let number = serve.number();
        let (mut end, _) = serve.parent.connection(newcomer(number, Rule::Default)).await;
        assert!(has_ended(&mut end).await);
        drop(session);
        one.ends().await;
        serve.signal(Signal::TERM);
        let (_, lines) = serve.ended();
        let refused = r#"client refused client=10.9.0.2:50002 why="too many children (broker.children)""#;
        assert!(lines.iter().any(|line| line == refused), "{lines:#?}");
        assert_eq!(children(&lines, "child started", "").len(), 1, "{lines:#?}");
    });
}

#[test]
fn a_broker_that_is_gone_is_waited_for_by_the_parent_and_ends_the_children() {
    run(async {
        let mut serve = Forking::start("forked-broker", &[]).await;
        let (one, _session) = serve.client().await;
        let Served { child, carried, .. } = one;
        // All sockets end with the process.
        carried.abort();
        drop(child);
        drop(std::mem::replace(&mut serve.parent, serve.place.none()));
        let (mut parent, _) = serve.place.welcome().await;
        let (tag, call, _) = parent.call().await.unwrap();
        assert_eq!(call, Call::Listen { is_on: true });
        parent.done(tag).await;
        serve.parent = parent;
        let (mut next, session) = serve.client().await;
        drop(session);
        next.ends().await;
        serve.signal(Signal::TERM);
        let (code, lines) = serve.ended();
        assert_eq!(code, Some(0), "{lines:#?}");
        // The parent and the child.
        let lost = lines.iter().filter(|line| line.starts_with("broker lost "));
        assert_eq!(lost.count(), 2, "{lines:#?}");
        assert_eq!(children(&lines, "child ended", "exit status: 0").len(), 2, "{lines:#?}");
    });
}

#[test]
fn what_cannot_be_forked_is_told_with_its_cure() {
    let folder = folder("forked-errors");
    let folder = folder.to_str().unwrap();
    for (arguments, said) in [
        (&["--fork", "--listen", "tcp:127.0.0.1:0"][..], "--broker <PATH>"),
        (&["--broker", "/none", "--fork", "--listen", "tcp:127.0.0.1:0"], "cannot be used with"),
        (&["--broker", "/none", "--children", "3"], "--fork"),
        (
            &["--broker", "/none", "--fork", "--children", "65"],
            "65 children need one each; or lower --children",
        ),
        (&["--broker", "/none", "--fork", "--memory", "300"], "--memory: 4 clients need 96 MiB"),
        (&["--listen", "tcp:127.0.0.1:0", "--broker-address", "10.9.0.1"], "--broker <PATH>"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-serve"));
        let output = command.args([folder, "--guest"]).args(arguments).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), err.contains(said)), (Some(2), true), "{arguments:?}: {err}");
    }
    // A child has a parent.
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-serve"));
    command.args([folder, "--guest", "--broker", "/none", "--fork", "--child", "1"]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.contains("the socket of the parent")), (Some(1), true), "{err}");
}
