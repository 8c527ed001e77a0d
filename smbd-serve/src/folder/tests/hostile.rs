//! Whatever is asked for and whatever changes meanwhile, nothing outside of the share is read, made or deleted.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use smbd_smb2::server::{Change, FileSystem, SharePath};
use smbd_smb2::wire::{CreateDisposition, CreateOptions, NtStatus, Text};

use super::{How, Rig};
use crate::folder::Options;

/// A share beside which there is a secret.
fn rig() -> Rig {
    let rig = Rig::new();
    fs::create_dir(rig.path.join("outside")).unwrap();
    fs::write(rig.path.join("outside/secret"), b"secret").unwrap();
    rig
}

#[test]
fn links_are_not_followed_wherever_they_lead() {
    let mut rig = rig();
    rig.write("inside", b"x");
    fs::create_dir(rig.host("d")).unwrap();
    rig.write("d/f", b"");
    for (link, to) in [
        ("up", "../outside/secret"),
        ("absolute", "/etc/passwd"),
        ("in", "inside"),
        ("none", "nowhere"),
        ("magic", "/proc/self/root"),
    ] {
        symlink(to, rig.host(link)).unwrap();
        assert_eq!(rig.status(link), NtStatus::ACCESS_DENIED, "{link}");
        for disposition in [CreateDisposition::OVERWRITE_IF, CreateDisposition::OPEN_IF] {
            assert_eq!(rig.open_as(link, How::of(disposition)).map(|_| ()), Err(NtStatus::ACCESS_DENIED));
        }
    }
    symlink("../outside", rig.host("out")).unwrap();
    symlink("d", rig.host("to_d")).unwrap();
    for path in ["out\\secret", "to_d\\f", "magic\\etc\\passwd"] {
        assert_eq!(rig.status(path), NtStatus::OBJECT_PATH_NOT_FOUND, "{path}");
        assert_eq!(rig.make(path).map(|_| ()), Err(NtStatus::OBJECT_PATH_NOT_FOUND), "{path}");
    }
    assert!(!rig.path.join("nowhere").exists() && !rig.host("nowhere").exists());
}

#[test]
fn no_name_leads_upwards() {
    let mut rig = rig();
    for path in [".\u{F029}", "d\\.\u{F029}\\outside\\secret", "\u{F029}"] {
        assert_eq!(rig.status(path), NtStatus::OBJECT_NAME_INVALID, "{path}");
    }
    for name in ["a/../../outside/secret", "..", "..\\outside\\secret", "\\\\x", "/etc/passwd", "a\0"] {
        assert!(SharePath::parse(Text::from(name)).is_err(), "{name:?}");
    }
    // 255 characters that are 765 bytes, and a path of a thousand directories.
    assert_eq!(rig.make(&"\u{20AC}".repeat(255)).map(|_| ()), Err(NtStatus::OBJECT_NAME_INVALID));
    let deep = vec!["a"; 1000].join("\\");
    assert_eq!(rig.status(&deep), NtStatus::OBJECT_PATH_NOT_FOUND);
}

#[test]
fn a_pipe_is_not_waited_for_and_a_device_is_not_opened() {
    let mut rig = rig();
    let made = std::process::Command::new("mkfifo").arg(rig.host("pipe")).status();
    assert!(made.is_ok_and(|status| status.success()));
    assert_eq!(rig.status("pipe"), NtStatus::ACCESS_DENIED);
    assert_eq!(rig.make("pipe").map(|_| ()), Err(NtStatus::OBJECT_NAME_COLLISION));
}

/// Somebody else changes a directory into a link and back, as fast as possible.
fn swapping<T>(rig: &Rig, work: impl FnOnce() -> T) -> T {
    let stop = Arc::new(AtomicBool::new(false));
    let (place, kept, link) = (rig.host("d"), rig.path.join("kept"), rig.path.join("link"));
    symlink("../outside", &link).unwrap();
    let swapper = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(&place, &kept).unwrap();
                fs::rename(&link, &place).unwrap();
                fs::rename(&place, &link).unwrap();
                fs::rename(&kept, &place).unwrap();
            }
        })
    };
    let result = work();
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    result
}

#[test]
fn a_link_that_is_swapped_in_during_operations_leads_nowhere() {
    let mut rig = rig();
    fs::create_dir(rig.host("d")).unwrap();
    rig.write("d/secret", b"public");
    let host = Rig {
        path: rig.path.clone(),
        folder: super::Folder::open(&rig.path, "", Options::default()).unwrap(),
    };
    let (mut opened, mut made) = (0, 0);
    swapping(&host, || {
        for at in 0..10_000_000 {
            if at >= 2000 {
                if opened > 0 && made > 0 {
                    break;
                }
                // On a busy machine the other thread may be stopped for long where there is no folder.
                std::thread::yield_now();
            }
            if let Ok(file) = rig.open("d\\secret") {
                let mut into = [0; 6];
                assert_eq!(rig.folder.read(&file, 0, &mut into), Ok(6));
                assert_eq!(&into, b"public");
                rig.close(file);
                opened += 1;
            }
            if let Ok(file) = rig.make(&format!("d\\new{at}")) {
                rig.folder.change(&file, &Change::Delete(true), 0).unwrap();
                rig.close(file);
                made += 1;
            }
        }
    });
    std::mem::forget(host);
    assert!(opened > 0 && made > 0);
    let outside: Vec<_> = fs::read_dir(rig.path.join("outside")).unwrap().collect();
    assert_eq!(outside.len(), 1);
}

#[derive(Clone, Debug)]
enum Step {
    Open(Vec<usize>, usize),
    Close(usize),
    Delete(usize),
    Rename(usize, Vec<usize>, bool),
    Link(usize, usize),
}

const NAMES: [&str; 6] = ["a", "A", "b", "link", ".\u{F029}", "x\u{F022}"];
const TARGETS: [&str; 4] = ["../outside", "..", "/", "a"];

fn step() -> impl Strategy<Value = Step> {
    let path = || prop::collection::vec(0..NAMES.len(), 1..4);
    prop_oneof![
        4 => (path(), 0..8_usize).prop_map(|(path, how)| Step::Open(path, how)),
        2 => (0..8_usize).prop_map(Step::Close),
        1 => (0..8_usize).prop_map(Step::Delete),
        2 => (0..8_usize, path(), any::<bool>()).prop_map(|(at, path, replace)| Step::Rename(at, path, replace)),
        1 => (0..NAMES.len(), 0..TARGETS.len()).prop_map(|(name, target)| Step::Link(name, target)),
    ]
}

fn join(path: &[usize]) -> String {
    path.iter().map(|at| NAMES[*at]).collect::<Vec<_>>().join("\\")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn whatever_is_done_what_is_outside_stays_as_it_is(steps in prop::collection::vec(step(), 1..40)) {
        let mut rig = rig();
        let mut files = Vec::new();
        for step in steps {
            match step {
                Step::Open(path, how) => {
                    let directory = if how % 2 == 0 { CreateOptions::DIRECTORY_FILE } else { CreateOptions::NONE };
                    let disposition = [CreateDisposition::OPEN_IF, CreateDisposition::OVERWRITE_IF][how / 4];
                    let options = if how / 4 == 1 { CreateOptions::NONE } else { directory };
                    files.extend(rig.open_as(&join(&path), How { disposition, options, ..How::default() }));
                }
                Step::Close(at) if at < files.len() => {
                    let (file, _) = files.swap_remove(at);
                    rig.close(file);
                }
                Step::Delete(at) if at < files.len() => {
                    let _ = rig.folder.change(&files[at].0, &Change::Delete(true), 0);
                }
                Step::Rename(at, path, replace) if at < files.len() => {
                    let path = SharePath::parse(Text::from(join(&path).as_str())).unwrap();
                    let _ = rig.folder.change(&files[at].0, &Change::Rename { path, replace }, 0);
                }
                Step::Link(name, target) => drop(symlink(TARGETS[target], rig.host(NAMES[name]))),
                Step::Close(_) | Step::Delete(_) | Step::Rename(..) => {}
            }
        }
        for (file, _) in files {
            rig.close(file);
        }
        let beside: Vec<_> = fs::read_dir(&rig.path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        prop_assert_eq!(beside.len(), 2);
        prop_assert_eq!(fs::read(rig.path.join("outside/secret")).unwrap(), b"secret");
        prop_assert_eq!(fs::read_dir(rig.path.join("outside")).unwrap().count(), 1);
    }
}
