use smbd_daemon::places::wanted;

use super::*;

/// Of a command line, behind the name of the program, and the text of a file.
fn settings(line: &str, text: &str) -> Result<Settings, String> {
    use clap::Parser as _;
    let options =
        crate::options::Options::try_parse_from(["smbd-serve"].into_iter().chain(line.split_whitespace()));
    Settings::of(&options.unwrap().run, &File::parse(text)?)
}

const SHARE: &str = "users = 'u'\n[[share]]\nname = 'a'\npath = '/a'\n";
const LISTENER: &str = "[[listener]]\naddress = '127.0.0.1:1445'\nover = 'tcp'\n";

fn places(settings: &Settings) -> Vec<String> {
    wanted(&settings.listeners, &[]).into_keys().map(|(over, at)| format!("{over}:{at}")).collect()
}

#[test]
fn a_directory_with_users_and_an_address_is_all_that_is_needed() {
    let settings = settings("/srv --listen 10.9.0.1:445 --users u", "").unwrap();
    let [share] = &settings.shares[..] else { panic!("{:?}", settings.shares) };
    assert_eq!((share.name.as_str(), share.path.to_str()), ("share", Some("/srv")));
    assert!(!share.read_only && !share.guest && !share.case_sensitive && !share.encrypt);
    assert_eq!(settings.listeners[0].place, Place::Both("10.9.0.1:445".parse().unwrap()));
    assert_eq!((settings.connections, settings.memory_mib, settings.channels), (64, 4096, 8));
    assert_eq!([settings.login, settings.drain].map(|time| time.as_secs()), [45, 5]);
    let is_admitted = |address: &str| settings.allow.iter().any(|net| net.contains(address.parse().unwrap()));
    assert!(is_admitted("192.0.2.1") && is_admitted("2001:db8::1"));
}

#[test]
fn the_command_line_comes_before_the_file() {
    let text = format!(
        "allow = ['10.0.0.0/8']\n{SHARE}{LISTENER}[limits]\nconnections = 7\nmemory_mib = 999\n[timeouts]\ndrain_s = 9\n"
    );
    let of_file = settings("--config f", &text).unwrap();
    assert_eq!((of_file.connections, of_file.memory_mib, of_file.drain.as_secs()), (7, 999, 9));
    assert_eq!((of_file.shares[0].name.as_str(), places(&of_file)), ("a", vec!["tcp:127.0.0.1:1445".into()]));
    let line = "--config f /srv --share s --read-only --listen tcp:127.0.0.1:5 --connections 9 --drain 1 --allow fd09::/64";
    let of_line = settings(line, &text).unwrap();
    assert_eq!((of_line.connections, of_line.memory_mib, of_line.drain.as_secs()), (9, 999, 1));
    assert_eq!((of_line.shares.len(), of_line.shares[0].name.as_str()), (1, "s"));
    assert!(of_line.shares[0].read_only);
    assert_eq!((places(&of_line), of_line.allow.len()), (vec!["tcp:127.0.0.1:5".into()], 1));
}

#[test]
fn options_of_all_shares_hold_for_those_of_the_file() {
    let two = format!("{SHARE}{LISTENER}[[share]]\nname = 'b'\npath = '/b'\nread_only = true\n");
    let of_file = settings("--config f", &two).unwrap();
    assert_eq!(of_file.shares.iter().map(|share| share.read_only).collect::<Vec<_>>(), [false, true]);
    let stricter = settings("--config f --read-only --sign", &two).unwrap();
    assert!(stricter.shares.iter().all(|share| share.read_only) && stricter.security.sign);
}

#[test]
fn a_listener_is_both_ways_with_an_address_and_of_devices_without_one() {
    let places = |listener: &str| {
        settings("--config f", &format!("{SHARE}[[listener]]\n{listener}"))
            .map(|settings| settings.listeners[0].place.clone())
    };
    let at = |text: &str| text.parse().unwrap();
    assert_eq!(places("address = '10.9.0.1'"), Ok(Place::Both(at("10.9.0.1:445"))));
    assert_eq!(places("address = 'fd09::1'\nport = 7\nover = 'tcp'"), Ok(Place::Tcp(at("[fd09::1]:7"))));
    assert_eq!(places("address = '0.0.0.0:445'\nover = 'tcp'"), Ok(Place::Tcp(at("0.0.0.0:445"))));
    #[cfg(feature = "verbs")]
    {
        assert_eq!(places(""), Ok(Place::Any));
        assert_eq!(places("device = 'siw0'"), Ok(Place::Device("siw0".into())));
        assert_eq!(places("address = '10.9.0.1'\nover = 'rdma'"), Ok(Place::Address(at("10.9.0.1:1").ip())));
        assert_eq!(places("address = '10.9.0.1:445'\nover = 'rdma'"), Ok(Place::Socket(at("10.9.0.1:445"))));
    }
    #[cfg(not(feature = "verbs"))]
    for listener in ["", "device = 'siw0'", "address = '10.9.0.1:445'\nover = 'rdma'"] {
        assert!(places(listener).unwrap_err().contains("built without RDMA"), "{listener}");
    }
}

#[test]
fn the_file_of_the_document_is_one() {
    let document = include_str!("../../../../README.md");
    let text = document.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let settings = settings("--config f", text).unwrap();
    let names: Vec<_> = settings.shares.iter().map(|share| share.name.as_str()).collect();
    assert_eq!((names, places(&settings)), (vec!["data", "releases"], vec!["tcp:0.0.0.0:445".to_owned()]));
}

#[test]
fn what_cannot_be_is_refused_with_its_key_and_its_value() {
    let all = format!("{SHARE}{LISTENER}");
    let with = |more: &str| format!("{all}{more}");
    for (line, text, wanted) in [
        ("--config f", LISTENER.to_owned(), "nothing to serve"),
        ("--config f", SHARE.to_owned(), "--listen <ADDR:PORT>"),
        ("/srv --listen 127.0.0.1:1", String::new(), "--users <FILE>"),
        ("--config f --sign --guest", all.clone(), "cannot be used with"),
        ("--config f --guest", with("[security]\nencrypt = true\n"), "neither sign nor encrypt"),
        (
            "--config f",
            with("[[share]]\nname = 'b'\npath = '/b'\nguest = true\nencrypt = true\n"),
            "the share b",
        ),
        ("--config f --case-sensitive", all.clone(), "takes a DIR"),
        ("--config f", with("[limits]\nconnections = 0\n"), "limits.connections is 0, and can be 1 to 4096"),
        ("--config f", with("[limits]\nper_client = 0\n"), "limits.per_client is 0"),
        ("--config f", with("[limits]\nlogging_in = 5000\n"), "limits.logging_in is 5000"),
        ("--config f", with("[limits]\npending = 0\n"), "limits.pending is 0"),
        ("--config f", with("[limits]\nchannels = 33\n"), "limits.channels is 33, and can be 1 to 32"),
        ("--config f", with("[limits]\nmemory_mib = 23\n"), "limits.memory_mib is 23"),
        ("--config f", with("[broker]\nchildren = 0\n"), "broker.children is 0"),
        ("--config f", with("[broker]\nfork = true\n"), "fork takes --broker <PATH>"),
        ("--config f", with("[broker]\nsocket = 's'\nfork = true\n"), "fork cannot be used with a listener"),
        ("--config f --broker-address 10.9.0.1", all.clone(), "--broker-address takes --broker"),
        ("--config f --children 3", all.clone(), "--children takes --fork"),
        ("--config f", with("[timeouts]\nlogin_s = 0\n"), "timeouts.login_s is 0, and can be 1 to 600"),
        ("--config f", with("[timeouts]\ndrain_s = 601\n"), "timeouts.drain_s is 601"),
        ("--config f", with("[timeouts]\naddresses_s = 0\n"), "timeouts.addresses_s is 0"),
        ("--config f", with("[metrics]\naddress = '9447'\n"), "'9447' is no ADDR:PORT"),
        ("--config f", with("[[listener]]\nover = 'tcp'\n"), "takes an address"),
        ("--config f", with("[[listener]]\naddress = 'eth0'\n"), "'eth0' is no address"),
        ("--config f", with("[[listener]]\naddress = '10.9.0.1:5'\nport = 6\n"), "has port 6 as well"),
        ("--config f", with("[[listener]]\naddress = '10.9.0.1'\ndevice = 'x'\n"), "and the device x"),
        (
            "--config f",
            with("[[listener]]\naddress = '10.9.0.1'\nallow = ['10.9/8']\n"),
            "'10.9/8' is no network",
        ),
        ("--config f --allow 10.9/8", all.clone(), "'10.9/8' is no network"),
    ] {
        use clap::Parser as _;
        let arguments = ["smbd-serve"].into_iter().chain(line.split_whitespace());
        let said = match crate::options::Options::try_parse_from(arguments) {
            Ok(options) => {
                File::parse(&text).and_then(|file| Settings::of(&options.run, &file).map(drop)).unwrap_err()
            }
            Err(error) => error.to_string(),
        };
        assert!(said.contains(wanted), "{wanted} is missing in: {said}");
    }
}

#[test]
fn children_share_connections_and_memory_and_have_the_places() {
    let forks = settings("/srv --guest --broker b --fork --children 4", "").unwrap();
    assert!(forks.forks());
    assert_eq!((forks.connections, forks.memory_mib, forks.places.all), (16, 1024, 4));
    assert!(
        settings("/srv --guest --broker b --fork --children 65", "").unwrap_err().contains("65 children")
    );
    assert!(
        settings("/srv --guest --broker b --children 4", "").unwrap_err().contains("--children takes --fork")
    );
}
