//! Whole files, from this host to a server and back.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use smbd_client::copy::{self, Copied, Failure, Options, Watch};
use smbd_client::{Remote, Settings, Share};

use super::loopback::Loopback;
use super::server::{Host, PASSWORD, content, folder, login, settings};

/// By how much a copy to a server goes back.
const BACK: u64 = 32 << 20;
const RESUME: Options = Options { pieces: 4, resume: true, check: false };

/// Over RDMA.
async fn rdma(host: &Host) -> Share {
    let (remote, driver) = Remote::over(Loopback::new(host).0, &settings()).unwrap();
    tokio::spawn(driver);
    login(&remote, PASSWORD).await.unwrap().connect("data").await.unwrap()
}

async fn tcp(host: &Host) -> Share {
    host.share(&settings(), "data").await.unwrap().0
}

#[derive(Default)]
struct Told(Mutex<Vec<String>>, Mutex<u64>);

impl Watch for Told {
    fn begins(&self, size: u64, resumed: u64) {
        self.0.lock().unwrap().push(format!("{size} bytes, {resumed} there"));
    }

    fn moved(&self, bytes: u64) {
        *self.1.lock().unwrap() += bytes;
    }

    fn checks(&self, size: u64) {
        self.0.lock().unwrap().push(format!("check {size}"));
    }
}

#[tokio::test]
async fn files_of_all_sizes_come_back_as_they_went() {
    let folder = folder("sizes");
    let host = Host::new(|_| {});
    for share in [tcp(&host).await, rdma(&host).await] {
        for size in [0, 1, 4096, 4097, 65_536, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 9_000_001] {
            let (from, to) = (folder.join("from"), folder.join("to"));
            fs::write(&from, content(size)).unwrap();
            let told = Told::default();
            let put = copy::put(&from, &share, "f", Options::default(), &told).await.unwrap();
            assert_eq!(put, Copied { size: size as u64, resumed: 0, sum: None });
            copy::get(&share, "f", &to, Options { pieces: 3, ..Options::default() }, &told).await.unwrap();
            assert!(fs::read(&to).unwrap() == content(size), "{size} bytes");
            let sum = copy::check(&share, "f", &to, Options::default(), &told).await.unwrap();
            assert_eq!(sum, twox_hash::XxHash3_64::oneshot(&content(size)));
            let begin = format!("{size} bytes, 0 there");
            assert_eq!(*told.0.lock().unwrap(), [begin.clone(), begin, format!("check {size}")]);
            assert_eq!(*told.1.lock().unwrap(), 3 * size as u64);
        }
    }
}

#[tokio::test]
async fn a_copy_from_a_server_is_resumed_where_it_ended() {
    let folder = folder("resume-get");
    let host = Host::new(|_| {});
    let share = tcp(&host).await;
    let (from, to) = (folder.join("from"), folder.join("to"));
    fs::write(&from, content(5_000_000)).unwrap();
    copy::put(&from, &share, "f", Options::default(), &()).await.unwrap();
    fs::write(&to, content(3_210_000)).unwrap();
    let told = Told::default();
    let got = copy::get(&share, "f", &to, RESUME, &told).await.unwrap();
    assert_eq!(got, Copied { size: 5_000_000, resumed: 3_210_000, sum: None });
    assert_eq!(*told.1.lock().unwrap(), 1_790_000);
    assert!(fs::read(&to).unwrap() == content(5_000_000));
    // All is there: nothing moves.
    let got = copy::get(&share, "f", &to, RESUME, &()).await.unwrap();
    assert_eq!(got.resumed, 5_000_000);
}

#[tokio::test]
async fn a_copy_to_a_server_goes_back_by_what_may_be_missing() {
    let folder = folder("resume-put");
    let host = Host::new(|_| {});
    let share = rdma(&host).await;
    let from = folder.join("from");
    let size = BACK + 3_000_000;
    fs::write(&from, content(size as usize)).unwrap();
    // Its last pieces but one were never written.
    let file = share.create("f").await.unwrap();
    let there = BACK + 1_000_000;
    file.write_at(0, content(1_000_000).into()).await.unwrap();
    file.write_at(there - 1, content(there as usize).split_off(there as usize - 1).into()).await.unwrap();
    file.close().await.unwrap();
    let put = copy::put(&from, &share, "f", RESUME, &()).await.unwrap();
    assert_eq!(put, Copied { size, resumed: 1_000_000, sum: None });
    copy::check(&share, "f", &from, Options::default(), &()).await.unwrap();
}

/// Does something else when a copy begins, or when the files begin to be compared.
struct Meanwhile<B, C>(B, C);

impl<B: Fn() + Sync, C: Fn() + Sync> Watch for Meanwhile<B, C> {
    fn begins(&self, _: u64, _: u64) {
        self.0();
    }

    fn moved(&self, _: u64) {}

    fn checks(&self, _: u64) {
        self.1();
    }
}

/// Waits in a function that is not async.
fn at_once<T>(call: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(call))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_becomes_shorter_while_it_is_read_is_no_whole_copy() {
    let folder = folder("shorter");
    let host = Host::new(|_| {});
    let share = tcp(&host).await;
    let (from, to) = (folder.join("from"), folder.join("to"));
    fs::write(&from, content(4_000_000)).unwrap();
    copy::put(&from, &share, "f", Options::default(), &()).await.unwrap();
    let cut = || {
        at_once(async {
            let file = share.open_for_writing("f").await.unwrap();
            file.set_size(1_500_000).await.unwrap();
        });
    };
    let said = copy::get(&share, "f", &to, RESUME, &Meanwhile(cut, || {})).await.unwrap_err().to_string();
    assert_eq!(said, "f: it ends at 1500000, and had 4000000 bytes when it was opened");
}

#[tokio::test]
async fn a_server_that_answers_with_fewer_bytes_than_it_was_asked_for_is_asked_for_the_rest() {
    let folder = folder("fewer");
    let host = Host::new(|_| {});
    let in_messages = Settings { rdma_threshold: None, ..settings() };
    let (loopback, _) = Loopback::of_server_that_sends(100_000, &host);
    let (remote, driver) = Remote::over(loopback, &in_messages).unwrap();
    tokio::spawn(driver);
    let share = login(&remote, PASSWORD).await.unwrap().connect("data").await.unwrap();
    let (from, to) = (folder.join("from"), folder.join("to"));
    fs::write(&from, content(4_000_000)).unwrap();
    copy::put(&from, &share, "f", Options::default(), &()).await.unwrap();
    let file = share.open("f").await.unwrap();
    let cut = file.start_read(0, 1_000_000).await.unwrap().wait().await.unwrap();
    assert!(cut.len() < 100_000, "{}", cut.len());
    copy::get(&share, "f", &to, Options::default(), &()).await.unwrap();
    assert!(fs::read(&to).unwrap() == content(4_000_000));
}

#[tokio::test]
async fn what_is_no_beginning_is_not_resumed_and_what_differs_is_told() {
    let folder = folder("differs");
    let host = Host::new(|_| {});
    let share = tcp(&host).await;
    let local = folder.join("f");
    fs::write(&local, content(100)).unwrap();
    copy::put(&local, &share, "f", Options::default(), &()).await.unwrap();
    fs::write(&local, content(101)).unwrap();
    let longer = copy::get(&share, "f", &local, RESUME, &()).await.unwrap_err();
    assert!(matches!(longer, Failure::Longer { got: 101, max: 100, .. }), "{longer}");
    assert_eq!(fs::read(&local).unwrap(), content(101), "it stays");
    fs::write(&local, content(99)).unwrap();
    let longer = copy::put(&local, &share, "f", RESUME, &()).await.unwrap_err();
    assert!(matches!(longer, Failure::Longer { got: 100, max: 99, .. }), "{longer}");
    // A beginning of something else.
    fs::write(&local, [7; 50]).unwrap();
    copy::get(&share, "f", &local, RESUME, &()).await.unwrap();
    let differs = copy::check(&share, "f", &local, RESUME, &()).await.unwrap_err();
    assert!(differs.to_string().ends_with("(XXH3): they differ"), "{differs}");
}

#[tokio::test]
async fn a_copy_that_stops_leaves_nothing_under_its_own_name_and_is_resumed() {
    let folder = folder("stops");
    let host = Host::new(|_| {});
    let (from, to) = (folder.join("from"), folder.join("to"));
    fs::write(&from, content(3_000_000)).unwrap();
    let share = tcp(&host).await;
    copy::put(&from, &share, "there", Options::default(), &()).await.unwrap();
    // The connection ends when the first messages of a copy have gone.
    for messages in [8, 10] {
        let (loopback, seen) = Loopback::new(&host);
        seen.lock().unwrap().cut_after = Some(messages);
        let (remote, driver) = Remote::over(loopback, &settings()).unwrap();
        tokio::spawn(driver);
        let cut = login(&remote, PASSWORD).await.unwrap().connect("data").await.unwrap();
        let failure = copy::put(&from, &cut, "f", Options::default(), &()).await.unwrap_err();
        assert!(matches!(failure, Failure::Remote { .. }), "{failure}");
        let names: Vec<_> = share.list("").await.unwrap().into_iter().map(|entry| entry.name).collect();
        assert!(!names.contains(&"f".into()) && names.contains(&copy::partial("f")), "{messages} {names:?}");
    }
    copy::put(&from, &share, "f", RESUME, &()).await.unwrap();
    copy::check(&share, "f", &from, Options::default(), &()).await.unwrap();
    assert!(!share.list("").await.unwrap().iter().any(|entry| entry.name.contains("partial")));
    // The other way, and what is under the name already stays.
    fs::write(&to, b"old").unwrap();
    let (loopback, seen) = Loopback::new(&host);
    let (remote, driver) = Remote::over(loopback, &settings()).unwrap();
    tokio::spawn(driver);
    let cut = login(&remote, PASSWORD).await.unwrap().connect("data").await.unwrap();
    seen.lock().unwrap().cut_after = Some(2);
    copy::get(&cut, "there", &to, Options::default(), &()).await.unwrap_err();
    assert_eq!(fs::read(&to).unwrap(), b"old");
    assert!(folder.join(copy::partial("to")).exists());
    copy::get(&share, "there", &to, RESUME, &()).await.unwrap();
    assert!(fs::read(&to).unwrap() == content(3_000_000));
    assert!(!folder.join(copy::partial("to")).exists());
}

#[tokio::test]
async fn what_is_no_regular_file_is_not_put_and_one_whose_size_lies_is_put_to_its_end() {
    let folder = folder("kinds");
    let share = tcp(&Host::new(|_| {})).await;
    let pipe = folder.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    for path in [pipe.as_path(), Path::new("/dev/zero")] {
        let said = copy::put(path, &share, "f", Options::default(), &()).await.unwrap_err().to_string();
        assert!(said.ends_with("it is a device, a socket or a pipe; regular files are copied"), "{said}");
    }
    assert!(share.list("").await.unwrap().is_empty());
    // The kernel says that it has no bytes.
    let path = Path::new("/proc/version");
    let copied = copy::put(path, &share, "f", Options::default(), &()).await.unwrap();
    assert_eq!(copied.size, fs::read(path).unwrap().len() as u64);
    assert_eq!(copied.size, share.stat("f").await.unwrap().size);
    let said = copy::get(&share, "f", &pipe, Options::default(), &()).await.unwrap_err().to_string();
    assert!(said.contains("it is a socket or a pipe"), "{said}");
}

#[tokio::test]
async fn a_file_that_grows_or_shrinks_while_it_is_put_is_copied_to_its_end() {
    let folder = folder("grows");
    let host = Host::new(|_| {});
    let share = tcp(&host).await;
    let from = folder.join("from");
    for (options, end) in [
        (Options::default(), 5_000_000),
        (Options::default(), 1_000_001),
        (Options::default(), 0),
        // More of it is at the server than there is in the end.
        (RESUME, 5_000_000),
        (RESUME, 1_000_001),
    ] {
        fs::write(&from, content(3_000_000)).unwrap();
        if options.resume {
            let file = share.create(&copy::partial("f")).await.unwrap();
            file.write_at(0, content(3_000_000).into()).await.unwrap();
            file.close().await.unwrap();
        }
        let change = || fs::write(&from, content(end)).unwrap();
        let put = copy::put(&from, &share, "f", options, &Meanwhile(change, || {})).await.unwrap();
        assert_eq!(put, Copied { size: end as u64, resumed: 0, sum: None });
        assert_eq!(share.stat("f").await.unwrap().size, end as u64);
        copy::check(&share, "f", &from, options, &()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_differs_does_not_get_its_own_name() {
    const CHECK: Options = Options { pieces: 4, resume: false, check: true };
    let folder = folder("differs-named");
    let host = Host::new(|_| {});
    let share = tcp(&host).await;
    let (from, to) = (folder.join("from"), folder.join("to"));
    fs::write(&from, content(100_000)).unwrap();
    let sum = Some(twox_hash::XxHash3_64::oneshot(&content(100_000)));
    let put = copy::put(&from, &share, "f", CHECK, &()).await.unwrap();
    assert_eq!(put, Copied { size: 100_000, resumed: 0, sum });
    // Somebody writes to it before it is compared.
    fs::write(&from, content(200_000)).unwrap();
    let spoil = || {
        at_once(async {
            let file = share.open_for_writing(&copy::partial("f")).await.unwrap();
            file.write_at(7, b"other"[..].into()).await.unwrap();
        });
    };
    let failure = copy::put(&from, &share, "f", CHECK, &Meanwhile(|| {}, spoil)).await.unwrap_err();
    assert!(matches!(failure, Failure::Differs { .. }), "{failure}");
    assert_eq!(share.stat("f").await.unwrap().size, 100_000, "what had the name has it");
    assert_eq!(share.stat(&copy::partial("f")).await.unwrap().size, 200_000);
    // The other way.
    fs::write(&to, b"old").unwrap();
    let spoil = || fs::write(folder.join(copy::partial("to")), b"other").unwrap();
    let failure = copy::get(&share, "f", &to, CHECK, &Meanwhile(|| {}, spoil)).await.unwrap_err();
    assert!(matches!(failure, Failure::Differs { .. }), "{failure}");
    assert_eq!(fs::read(&to).unwrap(), b"old");
    assert_eq!(copy::get(&share, "f", &to, CHECK, &()).await.unwrap().sum, sum);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_copies_to_one_name_at_once_do_not_become_one() {
    let folder = folder("at-once");
    let host = Host::new(|_| {});
    let share = tcp(&host).await;
    let [from, other, to] = ["from", "other", "to"].map(|name| folder.join(name));
    fs::write(&from, content(3_000_000)).unwrap();
    fs::write(&other, [7; 1_000_000]).unwrap();
    copy::put(&other, &share, "other", Options::default(), &()).await.unwrap();
    for options in [Options::default(), RESUME] {
        let second = || {
            let failure = at_once(copy::put(&other, &share, "f", options, &())).unwrap_err().to_string();
            assert!(failure.ends_with("STATUS_SHARING_VIOLATION (somebody else has it open)"), "{failure}");
        };
        copy::put(&from, &share, "f", options, &Meanwhile(second, || {})).await.unwrap();
        copy::check(&share, "f", &from, options, &()).await.unwrap();
        let second = || {
            let failure = at_once(copy::get(&share, "other", &to, options, &())).unwrap_err().to_string();
            assert!(failure.ends_with("another copy of this name is under way"), "{failure}");
        };
        let _ = fs::remove_file(&to);
        copy::get(&share, "f", &to, options, &Meanwhile(second, || {})).await.unwrap();
        assert!(fs::read(&to).unwrap() == content(3_000_000));
    }
}

#[tokio::test]
async fn a_file_that_is_missing_on_either_side_is_named() {
    let folder = folder("missing");
    let host = Host::new(|_| {});
    let share = tcp(&host).await;
    let (none, dir) = (folder.join("none"), folder.as_path());
    let said = copy::get(&share, "a/f", &none, Options::default(), &()).await.unwrap_err().to_string();
    assert_eq!(said, "a/f: STATUS_OBJECT_PATH_NOT_FOUND (a directory of the path is not there)");
    assert!(!none.exists(), "nothing is made for a file that is not there");
    let said = copy::put(&none, &share, "f", Options::default(), &()).await.unwrap_err().to_string();
    assert!(said.starts_with(&none.display().to_string()) && said.contains("No such file"), "{said}");
    let said = copy::put(dir, &share, "f", Options::default(), &()).await.unwrap_err().to_string();
    assert!(said.ends_with("it is a directory"), "{said}");
    assert!(share.list("").await.unwrap().is_empty());
}
