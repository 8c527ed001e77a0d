//! `smbd-gateway doctor`: what keeps clients from RDMA, and what to do about it.
//!
//! `host` gathers facts, `check` judges them.

mod check;
mod facts;
mod host;
mod smb_conf;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::PROGRAM;
use crate::options::{Doctor, Run};
use crate::settings::Settings;
use facts::Facts;
use smb_conf::SmbConf;
use smbd_daemon::finding::{report, subjects};
use smbd_daemon::options::Common;

/// Where Samba has its settings unless it was built otherwise.
const SMB_CONF: &str = "/etc/samba/smb.conf";
/// The server that is looked at if none is named.
const SERVER: &str = "127.0.0.1:445";

/// Looks, and prints what it finds.
pub(crate) fn run(options: &Doctor) -> ExitCode {
    report(PROGRAM, options.json, look(options).map(|facts| (told(&facts), check::all(&facts))))
}

fn look(options: &Doctor) -> Result<Facts, String> {
    let settings = settings(options.config.as_deref())?;
    let samba = samba(options.smb_conf.as_deref())?;
    Ok(host::look(&settings, samba))
}

/// What the gateway would do. If no server is named it is the one on this host.
fn settings(config: Option<&Path>) -> Result<Settings, String> {
    let with = |server: Vec<String>| {
        Settings::new(&Run {
            server,
            common: Common { config: config.map(Path::to_owned), ..Common::default() },
            ..Run::default()
        })
    };
    // What else is wrong is wrong with a server, too.
    with(Vec::new()).or_else(|_| with(vec![SERVER.to_owned()]))
}

/// Samba's settings; `None` if there are none where they would be. A file that was named has to be there.
fn samba(named: Option<&Path>) -> Result<Option<(PathBuf, SmbConf)>, String> {
    let path = named.unwrap_or_else(|| Path::new(SMB_CONF));
    match SmbConf::read(path) {
        Ok(conf) if conf.has_lines && !conf.has_section && conf.refused.is_none() => Err(format!(
            "{}: this is no smb.conf: it has lines, and no section such as [global]",
            path.display()
        )),
        Ok(conf) => Ok(Some((path.to_owned(), conf))),
        Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// What was looked at.
fn told(facts: &Facts) -> String {
    let conf = match &facts.samba {
        Some((path, _)) => path.display().to_string(),
        None => format!("no smb.conf ({SMB_CONF} is not there; --smb-conf names another one)"),
    };
    if let Some(broker) = &facts.broker {
        let servers = subjects("server", facts.servers.iter().map(|server| server.address));
        return [format!("broker {}", broker.path.display()), servers, conf].join(", ");
    }
    [
        subjects("device", facts.host.devices.iter().map(|device| &device.name)),
        subjects("listener", facts.host.listeners.iter().map(|listener| listener.at)),
        subjects("server", facts.servers.iter().map(|server| server.address)),
        conf,
    ]
    .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_it_looked_at() {
        let facts = facts::sound::facts();
        let expected = "device mlx5_0, listener 10.9.0.1:445, server 127.0.0.1:445, /etc/samba/smb.conf";
        assert_eq!(told(&facts), expected);
        let mut nothing = Facts { servers: vec![], samba: None, ..facts };
        (nothing.host.devices, nothing.host.listeners) = (vec![], vec![]);
        assert!(told(&nothing).starts_with("no device, no listener, no server, no smb.conf"));
    }

    #[test]
    fn without_a_server_in_the_file_it_looks_at_the_one_of_this_host() {
        let file = std::env::temp_dir().join(format!("smbd-gateway-doctor-{}.toml", std::process::id()));
        for (text, expected) in [
            ("", Ok("127.0.0.1:445")),
            ("server = [\"127.0.0.2\"]", Ok("127.0.0.2:445")),
            ("[limits]\nconections = 5", Err("did you mean `connections`?")),
        ] {
            std::fs::write(&file, text).unwrap();
            let found = settings(Some(&file)).map(|settings| host::servers(&settings));
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(found, [(expected.parse().unwrap(), false)].into(), "{text}")
                }
                (Err(said), Err(wanted)) => assert!(said.contains(wanted), "{said}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        std::fs::remove_file(file).unwrap();
        assert!(settings(None).is_ok());
    }

    #[test]
    fn a_file_that_was_named_has_to_be_there() {
        assert!(samba(Some(Path::new("/nowhere/smb.conf"))).unwrap_err().starts_with("/nowhere/smb.conf: "));
    }
}
