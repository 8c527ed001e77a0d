//! `smbd-broker doctor`: what keeps clients and servers from the broker, and what to do about it.

use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::process::ExitCode;

use rustix::fs::{Access, access};
use smbd_broker::socket::connect;
use smbd_daemon::finding::{Finding, Severity, report, subjects};
use smbd_daemon::host::{self, Facts, Subject};
use smbd_daemon::options::Common;

use crate::PROGRAM;
use crate::options::{Doctor, Run};
use crate::settings::Settings;

/// What is at the path of the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing, or what a broker that is gone has left, in a folder that can be written, or can be made.
    Free,
    /// A broker listens.
    Taken,
    /// Something that is no socket.
    Other,
    /// Its folder is missing, and so is the one in which that would be made.
    NoFolder,
    /// This user may not write the folder.
    ReadOnly,
}

/// Looks, and prints what it finds.
pub(crate) fn run(options: &Doctor) -> ExitCode {
    let looked = look(options).map(|(settings, facts, place)| {
        let mut found = host::check(&facts, "broker");
        found.extend(of_socket(&settings.socket, &place));
        if host::has_ksmbd() {
            found.push(ksmbd());
        }
        found.sort_by_key(|finding| finding.severity);
        (told(&settings, &facts), found)
    });
    report(PROGRAM, options.json, looked)
}

fn look(options: &Doctor) -> Result<(Settings, Facts, Place), String> {
    let settings = Settings::new(&Run {
        common: Common { config: options.config.clone(), ..Common::default() },
        ..Run::default()
    })?;
    let subject = Subject { process: PROGRAM, each: settings.locked, connections: settings.connections() };
    let facts = host::look(subject, &settings.listeners);
    let place = place(&settings.socket);
    Ok((settings, facts, place))
}

fn place(path: &Path) -> Place {
    if let Ok(found) = std::fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Place::Other;
        }
        if connect(path).is_ok() {
            return Place::Taken;
        }
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The broker makes the folder, if only that is missing.
    let writable =
        if folder.exists() { Some(folder) } else { folder.parent().filter(|above| above.exists()) };
    match writable {
        None => Place::NoFolder,
        Some(folder) if access(folder, Access::WRITE_OK | Access::EXEC_OK).is_err() => Place::ReadOnly,
        Some(_) => Place::Free,
    }
}

fn of_socket(path: &Path, place: &Place) -> Option<Finding> {
    let at = path.display();
    let (id, what, cure) = match place {
        Place::Free | Place::Taken => return None,
        Place::Other => (
            "socket-other",
            format!("there is something at {at} that is no socket"),
            "remove it, or name another path with --socket or owners.socket",
        ),
        Place::NoFolder => (
            "socket-no-folder",
            format!("the folder of {at} is not there, and neither is the one above it"),
            "make it, or name another path with --socket or owners.socket; the unit of systemd has RuntimeDirectory=",
        ),
        Place::ReadOnly => (
            "socket-read-only",
            format!("this user may not make {at}"),
            "run the broker as root or as the service that comes with it, or name another path with --socket or owners.socket",
        ),
    };
    Some(Finding::new(
        Severity::Error,
        id,
        what,
        "servers attach to this socket, and there is none without it",
        cure,
    ))
}

fn ksmbd() -> Finding {
    Finding::new(
        Severity::Warning,
        "ksmbd",
        "ksmbd runs on this host",
        "it listens for SMB Direct itself, at all addresses, where the broker would",
        "stop it (`ksmbd.control -s`), or give the broker addresses of devices that ksmbd does not use",
    )
}

/// What was looked at.
fn told(settings: &Settings, facts: &Facts) -> String {
    [
        subjects("device", facts.devices.iter().map(|device| &device.name)),
        subjects("listener", facts.listeners.iter().map(|listener| listener.at)),
        subjects("socket", [settings.socket.display()]),
    ]
    .join(", ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_place_of_the_socket_has_to_be_free_or_a_brokers() {
        let folder = std::env::temp_dir().join(format!("smbd-broker-doctor-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(place(&folder.join("socket")), Place::Free);
        assert_eq!(place(&folder.join("new/socket")), Place::Free);
        assert_eq!(place(&folder.join("not/there/socket")), Place::NoFolder);
        let listening = smbd_broker::socket::listen(&folder.join("taken")).unwrap();
        assert_eq!(place(&folder.join("taken")), Place::Taken);
        drop(listening);
        assert_eq!(place(&folder.join("taken")), Place::Free);
        std::fs::write(folder.join("file"), "").unwrap();
        assert_eq!(place(&folder.join("file")), Place::Other);
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
        // Root may write everything.
        let expected = if rustix::process::geteuid().is_root() { Place::Free } else { Place::ReadOnly };
        assert_eq!(place(&folder.join("socket")), expected);
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn each_place_but_a_good_one_is_a_finding_of_its_own() {
        let id = |place| of_socket(Path::new("/run/x"), &place).map(|finding| finding.id);
        assert_eq!([Place::Free, Place::Taken].map(id), [None, None]);
        let bad = [Place::Other, Place::NoFolder, Place::ReadOnly].map(id);
        assert_eq!(bad, [Some("socket-other"), Some("socket-no-folder"), Some("socket-read-only")]);
    }
}
