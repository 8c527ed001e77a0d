//! Servers and listeners as they were written, checked.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use smbd_daemon::places::{Place, networks};
use smbd_verbs::prefix_len_of;

use crate::backends::{Backend, Broker, Rule};
use crate::file::{self, File};
use crate::options::Run;

/// Port of SMB over TCP.
const PORT_SMB: u16 = 445;

/// Where clients come from: a broker with the servers behind it, or the listeners.
pub(crate) fn places(run: &Run, file: &File) -> Result<(Option<Broker>, Vec<Rule>), String> {
    // What the command line says of one takes the place of both in the file.
    let of_file = if run.listen.is_empty() { file.broker.as_ref() } else { None };
    let Some(path) = run.broker.as_ref().or(of_file) else { return Ok((None, rules(run, file)?)) };
    if run.broker.is_none() && !(file.listener.is_empty() && file.allow.is_empty() && run.allow.is_empty()) {
        return Err(
            "`broker`: there can be no [[listener]] and no `allow` beside it, the broker has both".into()
        );
    }
    Ok((Some(Broker { path: path.clone(), backend: Backends::new(run, file)?.of(None)? }), Vec::new()))
}

/// The listeners, one at least: those of the command line, or else those of the file, or else one for all devices.
fn rules(run: &Run, file: &File) -> Result<Vec<Rule>, String> {
    let backends = Backends::new(run, file)?;
    if !run.listen.is_empty() {
        let rule =
            |text: &String| Rule::new(Place::new(Some(text), None)?, None, backends.of(None)?, Vec::new());
        return run.listen.iter().map(rule).collect();
    }
    if file.listener.is_empty() {
        return Ok(vec![Rule::new(Place::Any, None, backends.of(None)?, Vec::new())?]);
    }
    let rule = |listener: &file::Listener| {
        let place = Place::new(listener.address.as_deref(), listener.device.as_deref())?;
        let allow = networks(&listener.allow)?;
        Rule::new(place, listener.port, backends.of(listener.backend.as_deref())?, allow)
    };
    file.listener.iter().map(rule).collect()
}

/// All backends.
struct Backends {
    named: BTreeMap<String, Arc<Backend>>,
    /// Of listeners that name none.
    unnamed: Option<Arc<Backend>>,
}

impl Backends {
    fn new(run: &Run, file: &File) -> Result<Self, String> {
        let allows_plaintext = run.allow_plaintext_backend || file.allow_plaintext_backend;
        let texts = if run.server.is_empty() { &file.server } else { &run.server };
        let backend = |name: Option<&str>, texts: &[String], transparent: bool| {
            let servers = servers(texts, allows_plaintext)?;
            Ok::<_, String>(Arc::new(Backend { name: name.map(Into::into), servers, transparent }))
        };
        let mut named = BTreeMap::new();
        for wish in &file.backend {
            let name = &wish.name;
            let backend = backend(Some(name), &wish.server, wish.transparent)?;
            if backend.servers.is_empty() {
                return Err(format!("the backend '{name}' has no server"));
            }
            if named.insert(name.clone(), backend).is_some() {
                return Err(format!("there are two backends '{name}'"));
            }
        }
        let mut unnamed =
            Some(backend(None, texts, file.transparent)?).filter(|backend| !backend.servers.is_empty());
        if unnamed.is_none() && named.len() == 1 {
            unnamed = named.values().next().cloned();
        }
        Ok(Self { named, unnamed })
    }

    fn of(&self, name: Option<&str>) -> Result<Arc<Backend>, String> {
        let Some(name) = name else {
            return self.unnamed.clone().ok_or_else(|| {
                let more = if self.named.is_empty() { "" } else { ", or a listener has to name its backend" };
                format!("--server is missing: the SMB server, such as 127.0.0.1:445{more}")
            });
        };
        self.named.get(name).cloned().ok_or_else(|| {
            let known: Vec<_> = self.named.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "there is none".into()
            } else {
                format!("there are: {}", known.join(", "))
            };
            format!("a listener names the backend '{name}'; {known}")
        })
    }
}

/// Addresses of servers.
fn servers(texts: &[String], allows_plaintext: bool) -> Result<Vec<SocketAddr>, String> {
    let mut all = Vec::new();
    for text in texts {
        for address in resolve(text)? {
            if !allows_plaintext && !is_on_this_host(address.ip())? {
                return Err(format!(
                    "the server {address} is on another host, so what clients send without encryption would pass through that \
                     network without it; if that is all right: --allow-plaintext-backend"
                ));
            }
            all.push(address);
        }
    }
    Ok(all)
}

fn is_on_this_host(address: IpAddr) -> Result<bool, String> {
    let address = address.to_canonical();
    let own = || prefix_len_of(address).map_err(|error| error.to_string());
    Ok(address.is_loopback() || own()?.is_some())
}

/// `ADDR[:PORT]`; a name may have several addresses.
fn resolve(text: &str) -> Result<Vec<SocketAddr>, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(vec![address]);
    }
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, PORT_SMB)]);
    }
    let named = if text.contains(':') { text.to_socket_addrs() } else { (text, PORT_SMB).to_socket_addrs() };
    let found: Vec<SocketAddr> =
        named.map_err(|error| format!("the server '{text}' has no address: {error}"))?.collect();
    if found.is_empty() { Err(format!("the server '{text}' has no address")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<Rule>, String> {
        rules(&Run::default(), &File::parse(text).unwrap())
    }

    /// Each listener as its place, its port and the first server of its backend.
    fn told(text: &str) -> Vec<String> {
        let told = |rule: &Rule| {
            let Rule { place, port, target: backend, .. } = rule;
            let port = port.map_or_else(String::new, |port| format!(" {port}"));
            let place = match place {
                Place::Socket(address) => format!("at {address}"),
                Place::Address(address) => format!("at {address}"),
                Place::Device(device) => format!("on {device}"),
                Place::Any => "everywhere".into(),
                Place::Tcp(_) | Place::Both(_) => panic!("the gateway has no such place"),
            };
            format!("{place}{port} to {backend} {}", backend.servers[0])
        };
        of(text).unwrap().iter().map(told).collect()
    }

    #[test]
    fn a_server_alone_is_reached_by_all_devices() {
        assert_eq!(told("server = ['127.0.0.1']"), ["everywhere to server 127.0.0.1:445"]);
        let only = "[[backend]]\nname = 'a'\nserver = ['[::1]:4450']";
        assert_eq!(told(only), ["everywhere to a [::1]:4450"]);
    }

    #[test]
    fn a_broker_is_there_instead_of_listeners_and_what_the_command_line_names_comes_before_the_file() {
        let path = "server = ['127.0.0.1']\nbroker = '/run/b'\n";
        let seen = |run: &Run, text: &str| {
            places(run, &File::parse(text).unwrap())
                .map(|(broker, rules)| (broker.map(|broker| broker.path), rules.len()))
        };
        let none = Run::default();
        assert_eq!(seen(&none, path), Ok((Some("/run/b".into()), 0)));
        let other = Run { broker: Some("/run/c".into()), ..Run::default() };
        assert_eq!(seen(&other, path), Ok((Some("/run/c".into()), 0)));
        assert_eq!(seen(&other, "server = ['127.0.0.1']\n[[listener]]"), Ok((Some("/run/c".into()), 0)));
        let listen = Run { listen: vec!["10.9.0.1:445".into()], ..Run::default() };
        assert_eq!(seen(&listen, path), Ok((None, 1)));
        assert!(seen(&none, "broker = '/run/b'").unwrap_err().contains("--server is missing"));
        for beside in ["[[listener]]\n", "allow = ['10.0.0.0/8']\n"] {
            let text = "server = ['127.0.0.1']\nbroker = '/run/b'\n".to_owned() + beside;
            assert!(seen(&none, &text).unwrap_err().contains("no [[listener]] and no `allow`"), "{beside}");
        }
    }

    #[test]
    fn each_backend_says_for_itself_whether_its_servers_see_clients() {
        let text = "
            server = ['127.0.0.1']
            transparent = true
            [[backend]]
            name = 'a'
            server = ['127.0.0.1']
            [[listener]]
            [[listener]]
            backend = 'a'";
        let transparent: Vec<_> = of(text).unwrap().iter().map(|rule| rule.target.transparent).collect();
        assert_eq!(transparent, [true, false]);
    }

    #[test]
    fn two_backends_are_there_at_once_by_address_by_device_and_by_port() {
        let text = "
            server = ['127.0.0.9']
            [[backend]]
            name = 'a'
            server = ['127.0.0.1']
            [[backend]]
            name = 'b'
            server = ['127.0.0.2:4450', '127.0.0.3']
            [[listener]]
            address = '10.9.0.1:5445'
            backend = 'a'
            [[listener]]
            address = 'fd09::1'
            port = 4451
            backend = 'b'
            [[listener]]
            address = '[fd09::1]:445'
            [[listener]]
            device = 'mlx5_0'
            backend = 'b'
            [[listener]]
            port = 4452
            allow = ['fd00::/8']";
        let expected = [
            "at 10.9.0.1:5445 to a 127.0.0.1:445",
            "at fd09::1 4451 to b 127.0.0.2:4450",
            "at [fd09::1]:445 to server 127.0.0.9:445",
            "on mlx5_0 to b 127.0.0.2:4450",
            "everywhere 4452 to server 127.0.0.9:445",
        ];
        assert_eq!(told(text), expected);
        assert_eq!(of(text).unwrap()[4].allow, ["fd00::/8".parse().unwrap()]);
    }

    #[test]
    fn what_cannot_be_is_refused_and_named() {
        let a = "[[backend]]\nname = 'a'\nserver = ['127.0.0.1']\n";
        let b = "[[backend]]\nname = 'b'\nserver = ['127.0.0.1']\n";
        let listener = "[[listener]]\n";
        for (text, wanted) in [
            (String::new(), "--server is missing"),
            (format!("{a}{b}"), "or a listener has to name its backend"),
            (format!("{a}{b}{listener}address = '10.9.0.1'"), "or a listener has to name its backend"),
            (format!("{a}{a}"), "two backends 'a'"),
            ("[[backend]]\nname = 'a'".into(), "'a' has no server"),
            (format!("{a}{b}{listener}backend = 'c'"), "the backend 'c'; there are: a, b"),
            (format!("server = ['127.0.0.1']\n{listener}backend = 'c'"), "the backend 'c'; there is none"),
            (format!("{a}{listener}address = '10.9.0.1:445'\nport = 1"), "10.9.0.1:445 has port 1 as well"),
            (format!("{a}{listener}address = '10.9.0.1'\ndevice = 'siw0'"), "10.9.0.1 and the device siw0"),
            (format!("{a}{listener}address = '::'"), "cannot listen at ::"),
            (format!("{a}{listener}address = '0.0.0.0'\nport = 445"), "cannot listen at 0.0.0.0"),
            (format!("{a}{listener}address = '10.9.0.1:0'"), "is 0 at 10.9.0.1:0"),
            (format!("{a}{listener}port = 0"), "the port of a listener is 0"),
            (format!("{a}{listener}address = 'eth0'"), "'eth0' is no address"),
            (format!("{a}{listener}allow = ['fd00::/129']"), "prefix of 129 bits"),
        ] {
            let said = of(&text).unwrap_err();
            assert!(said.contains(wanted), "{wanted} is missing in: {said}");
        }
    }
}
