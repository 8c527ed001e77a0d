//! `smbd-serve` as a service: its file, what it tells, and how it is told that there is something new.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use smbd_client::copy::{self, Options};
use smbd_client::{Remote, Settings};

use super::program::{Serve, command, connect, text};
use super::words::{PASSWORD, content, folder, login, settings};

/// A folder with a share `a`, a file of users, and a configuration that names them; sockets of it.
struct Place {
    folder: PathBuf,
    /// Short, as paths of sockets have to be.
    sockets: String,
    /// An address of this host that no other test has.
    address: String,
}

impl Place {
    /// `number` is one that no other test has.
    fn new(name: &str, number: u8) -> Self {
        let folder = folder(&format!("service-{name}"));
        fs::create_dir(folder.join("a")).unwrap();
        let pid = std::process::id();
        let sockets = std::env::temp_dir().join(format!("smbd-serve-{pid}-{name}"));
        let _ = fs::remove_dir_all(&sockets);
        fs::create_dir(&sockets).unwrap();
        let [.., high, low] = pid.to_be_bytes();
        let place =
            Self { folder, sockets: text(&sockets).into(), address: format!("127.{high}.{low}.{number}") };
        place.users(&[("tester", PASSWORD)]);
        place
    }

    fn users(&self, users: &[(&str, &str)]) {
        let path = self.folder.join("users");
        let line = |(user, password): &(&str, &str)| format!("{user}:password:{password}\n");
        fs::write(&path, users.iter().map(line).collect::<String>()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Writes the configuration, which ends with `more`.
    fn configure(&self, more: &str) -> String {
        let path = self.folder.join("serve.toml");
        let (folder, sockets) = (text(&self.folder), &self.sockets);
        let file = format!(
            "users = '{folder}/users'\n{more}\n[[share]]\nname = 'a'\npath = '{folder}/a'\n[[listener]]\naddress = '127.0.0.1:0'\n\
             over = 'tcp'\n[status]\nsocket = '{sockets}/status'\n"
        );
        fs::write(&path, file).unwrap();
        text(&path).into()
    }

    fn start(&self, more: &str) -> Serve {
        Serve::run(&mut command(&["run", "--config", &self.configure(more)]))
    }

    /// What `smbd-serve status` prints.
    fn status(&self, more: &[&str]) -> String {
        let socket = format!("{}/status", self.sockets);
        let Output { status, stdout, stderr } =
            command(&[&["status", "--socket", &socket], more].concat()).output().unwrap();
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.status(&["--json"])).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.sockets);
    }
}

#[test]
fn config_prints_a_file_of_which_all_that_is_missing_is_what_to_serve() {
    let printed = command(&["config"]).output().unwrap();
    assert!(printed.status.success());
    let path = folder("service-config").join("serve.toml");
    fs::write(&path, &printed.stdout).unwrap();
    let run = command(&["run", "--config", text(&path)]).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!((run.status.code(), said.contains("there is nothing to serve")), (Some(2), true), "{said}");
}

#[test]
fn a_file_with_a_fault_is_refused_with_its_line_and_nothing_is_served() {
    let place = Place::new("fault", 1);
    for (more, wanted) in [
        ("alow = []", "did you mean `allow`?"),
        ("[limits]\nconnections = 'many'", "line 3"),
        ("[limits]\nconnections = 0", "limits.connections is 0"),
        ("[security]\nsign = true\n[[share]]\nname = 'A'\npath = '/'", "a share cannot be called \"a\""),
        ("[[share]]\nname = 'b'\npath = '/nowhere'", "DIR /nowhere: No such file"),
        ("[limits]\nmemory_mib = 24", "need 1536 MiB"),
    ] {
        let config = place.configure(more);
        let output = command(&["run", "--config", &config, "--check"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.contains(wanted)), (Some(2), true), "{more}: {said}");
    }
    let output = command(&["run", "--config", &place.configure(""), "--check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!Path::new(&format!("{}/status", place.sockets)).exists());
}

/// What comes of a file that is written to a share by a client with these settings.
fn put(serve: &Serve, share: &str, source: &Path, settings: &Settings) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (remote, driver) = Remote::over(connect(&serve.port).await, settings).unwrap();
        tokio::spawn(driver);
        let session = login(&remote, PASSWORD).await.map_err(|error| error.to_string())?;
        let share = session.connect(share).await.map_err(|error| error.to_string())?;
        let copied = copy::put(source, &share, "f", Options::default(), &()).await;
        copied.map(drop).map_err(|failure| failure.to_string())
    })
}

#[test]
fn each_share_of_the_file_is_its_own_directory_with_its_own_rules() {
    let place = Place::new("shares", 2);
    for name in ["b", "c", "d"] {
        fs::create_dir(place.folder.join(name)).unwrap();
    }
    let folder = text(&place.folder);
    let more = format!(
        "[[share]]\nname = 'b'\npath = '{folder}/b'\nread_only = true\n[[share]]\nname = 'c'\npath = '{folder}/c'\nusers = ['other']\n\
         [[share]]\nname = 'd'\npath = '{folder}/d'\nencrypt = true\n"
    );
    let serve = place.start(&more);
    let source = place.folder.join("in");
    fs::write(&source, content(1000)).unwrap();
    let put = |share: &str, settings: &Settings| put(&serve, share, &source, settings);
    put("a", &settings()).unwrap();
    assert_eq!(fs::read(place.folder.join("a/f")).unwrap(), content(1000));
    for share in ["b", "c"] {
        let said = put(share, &settings()).unwrap_err();
        assert!(said.contains("STATUS_ACCESS_DENIED"), "{share}: {said}");
    }
    put("d", &Settings { encrypt: true, ..settings() }).unwrap();
    assert_eq!(fs::read(place.folder.join("d/f")).unwrap(), content(1000));
    assert!(put("none", &settings()).unwrap_err().contains("STATUS_BAD_NETWORK_NAME"));
    let shares = place.json()["shares"].clone();
    assert_eq!(shares, serde_json::json!(["b", "c", "d", "a"]));
}

#[test]
fn a_directory_of_the_command_line_is_the_only_share_and_options_come_before_the_file() {
    let place = Place::new("line", 3);
    let other = place.folder.join("other");
    fs::create_dir(&other).unwrap();
    let config = place.configure("[limits]\nconnections = 9");
    let mut line = command(&[text(&other), "--config", &config, "--connections", "7"]);
    let serve = Serve::run(line.args(["--listen", "tcp:127.0.0.1:0"]));
    let source = place.folder.join("in");
    fs::write(&source, content(10)).unwrap();
    put(&serve, "share", &source, &settings()).unwrap();
    assert!(other.join("f").exists());
    assert!(put(&serve, "a", &source, &settings()).is_err());
    let status = place.json();
    assert_eq!((&status["connections_max"], &status["shares"]), (&7.into(), &serde_json::json!(["share"])));
}

#[test]
fn status_tells_each_client_with_its_user_its_bytes_and_its_open_files() {
    let place = Place::new("status", 4);
    let serve =
        Serve::run(&mut command(&["run", text(&place.folder.join("a")), "--config", &place.configure("")]));
    let seen = serve.with_share(&Settings { sign: true, ..settings() }, async |share, _| {
        let files = [share.create("f").await.unwrap(), share.create("g").await.unwrap()];
        files[0].write_at(0, content(100_000).into()).await.unwrap();
        let seen = (place.json(), place.status(&[]));
        drop(files);
        Ok(seen)
    });
    let (json, table) = seen.unwrap();
    let [client] = &json["connections"].as_array().unwrap()[..] else { panic!("{json}") };
    assert!(client["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{client}");
    assert_eq!((&client["over"], &client["user"]), (&"tcp".into(), &"tester".into()));
    assert_eq!((&client["dialect"], &client["signed"]), (&"3.1.1".into(), &"AES-GMAC".into()));
    assert_eq!((&client["encrypted"], &client["open_files"]), (&Value::Null, &2.into()));
    assert!((100_000..110_000).contains(&client["bytes_in"].as_u64().unwrap()), "{client}");
    assert!((100..10_000).contains(&client["bytes_out"].as_u64().unwrap()), "{client}");
    assert_eq!(json["open_files"], 2);
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].ends_with(": 1 of 64 connections, 2 open files, serves share"), "{table}");
    assert!(lines[2].contains("  tcp   tester  3.1.1    AES-GMAC  -"), "{table}");
    serve.says("client ended");
    assert_eq!(place.json()["connections"], serde_json::json!([]));
}

#[test]
fn metrics_count_clients_logins_and_bytes_and_go_on_when_clients_have_left() {
    let place = Place::new("metrics", 5);
    let at = format!("{}:9447", place.address);
    let serve = place.start(&format!("[metrics]\naddress = '{at}'"));
    let source = place.folder.join("in");
    fs::write(&source, content(50_000)).unwrap();
    put(&serve, "a", &source, &settings()).unwrap();
    serve.says("client ended");
    assert!(!serve.lets_in("tester", "wrong"));
    serve.says("client ended");
    let mut stream = TcpStream::connect(&at).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    let value = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is missing in {said}")).parse::<u64>().unwrap()
    };
    assert_eq!([value("smbd_serve_connections"), value("smbd_serve_open_files")], [0, 0]);
    let totals = ["connections", "sessions", "logins_failed", "refused", "failed"];
    assert_eq!(totals.map(|name| value(&format!("smbd_serve_{name}_total"))), [2, 1, 1, 0, 0]);
    let bytes = |way: &str| value(&format!("smbd_serve_bytes_total{{way=\"{way}\"}}"));
    assert!((50_000..60_000).contains(&bytes("from_client")), "{said}");
    assert!((100..10_000).contains(&bytes("to_client")), "{said}");
    assert_eq!([bytes("rdma_read"), bytes("rdma_write")], [0, 0]);
}

/// What the service manager hears next, but for the watchdog.
fn heard(socket: &UnixDatagram) -> String {
    loop {
        let mut bytes = [0; 500];
        let len = socket.recv(&mut bytes).unwrap();
        let text = String::from_utf8(bytes[..len].to_vec()).unwrap();
        if text != "WATCHDOG=1" {
            return text;
        }
    }
}

#[test]
fn the_service_manager_hears_of_each_state_and_that_the_server_is_alive() {
    let place = Place::new("notify", 6);
    let path = format!("{}/notify", place.sockets);
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut line = command(&["run", "--config", &place.configure("")]);
    let serve = Serve::run(line.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "200000"));
    let ready = format!("READY=1\nSTATUS=listening at tcp:127.0.0.1:{}", serve.port);
    assert_eq!(heard(&socket), ready);
    let mut alive = [0; 10];
    socket.recv(&mut alive).unwrap();
    assert_eq!(&alive, b"WATCHDOG=1");
    serve.signal(Signal::HUP);
    serve.says("reloaded");
    assert!(heard(&socket).starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!(heard(&socket), ready);
    let (code, _) = serve.terminate();
    assert_eq!(code, Some(0));
    assert!(heard(&socket).starts_with("STOPPING=1\nEXTEND_TIMEOUT_USEC="));
}

#[test]
fn users_are_read_again_and_a_session_that_is_there_stays() {
    let place = Place::new("users", 7);
    let serve = place.start("");
    assert!(!serve.lets_in("new", "new password"));
    place.users(&[("new", "new password")]);
    let port = serve.port.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (remote, driver) = Remote::over(connect(&port).await, &settings()).unwrap();
        tokio::spawn(driver);
        let share = login(&remote, PASSWORD).await.unwrap().connect("a").await.unwrap();
        serve.signal(Signal::HUP);
        assert!(serve.says("reloaded").contains(" users=1"));
        share.create("f").await.unwrap().write_at(0, content(10).into()).await.unwrap();
    });
    assert!(serve.lets_in("new", "new password") && !serve.lets_in("tester", PASSWORD));
    // A file with a fault, or of which others know, changes nothing.
    fs::write(place.folder.join("users"), "nonsense\n").unwrap();
    serve.signal(Signal::HUP);
    let said = serve.says("not reloaded");
    assert!(said.contains("line 1") && said.ends_with("settings=\"as before\""), "{said}");
    assert!(serve.lets_in("new", "new password"));
}

#[test]
fn listeners_networks_and_limits_are_new_at_once_and_the_rest_is_named() {
    let place = Place::new("reload", 8);
    let serve = place.start("");
    let other = format!("{}:1445", place.address);
    let at = |address: &str| TcpStream::connect(address).is_ok();
    assert!(!at(&other));
    let listener = format!("[[listener]]\naddress = '{other}'\nover = 'tcp'\n");
    place.configure(&format!("{listener}[limits]\nconnections = 5\nchannels = 3"));
    serve.signal(Signal::HUP);
    assert!(serve.says("listening").contains(&format!("address={other} over=tcp")));
    assert!(at(&other));
    assert_eq!(place.json()["connections_max"], 5);
    place.configure("allow = ['192.0.2.0/24']\n[limits]\nchannels = 3");
    serve.signal(Signal::HUP);
    let reloaded = serve.says("reloaded");
    assert!(reloaded.contains(" connections_max=64 "), "{reloaded}");
    assert_eq!(serve.says("not changed"), r#"not changed key=limits.channels why="it takes a restart""#);
    assert!(serve.says("not listening any more").contains(&other));
    serve.says("listener changed");
    assert!(!serve.lets_in("tester", PASSWORD), "it is of no network that is admitted");
    serve.says("client refused");
    // More than at the start, and a share that was not there.
    let share = "[[share]]\nname = 'b'\npath = '/'\n";
    place.configure(&format!("{share}[limits]\nconnections = 65"));
    serve.signal(Signal::HUP);
    let named = [serve.says("not changed"), serve.says("not changed")];
    assert!(named[0].contains("key=share ") && named[1].contains("key=limits.connections "), "{named:?}");
    serve.says("listener changed");
    assert!(serve.lets_in("tester", PASSWORD));
    assert_eq!(place.json()["shares"], serde_json::json!(["a"]));
}

#[test]
fn a_status_socket_that_was_chosen_and_cannot_be_made_ends_the_start() {
    let place = Place::new("socket", 9);
    let config = place.configure("");
    let output =
        command(&["run", "--config", &config, "--status-socket", "/proc/none/status"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), said.contains("no status socket at /proc/none/status")),
        (Some(1), true),
        "{said}"
    );
    let output = command(&["status", "--socket", "/proc/none/status"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.contains("does smbd-serve run")), (Some(1), true), "{said}");
}

#[test]
fn the_unit_waits_until_the_server_is_ready_and_gives_it_one_capability_and_the_folders_that_it_needs() {
    let unit = include_str!("../../systemd/smbd-serve.service");
    for line in [
        "Type=notify",
        "ExecStart=/usr/local/bin/smbd-serve run --config /etc/smbd-serve/serve.toml",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "AmbientCapabilities=CAP_NET_BIND_SERVICE",
        "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
        "RuntimeDirectory=smbd-serve",
        "ProtectSystem=strict",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX",
    ] {
        assert_eq!(unit.lines().filter(|other| *other == line).count(), 1, "{line}");
    }
}
