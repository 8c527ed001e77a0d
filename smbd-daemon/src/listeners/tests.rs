use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::admission::Admission;
use crate::log::Format;
use crate::places::Place;

/// What a program wants: a word for each client that it serves.
struct Wanted {
    rules: Vec<Rule<&'static str>>,
    allow: Vec<Network>,
    connections: u32,
}

impl Wishes for Wanted {
    type Target = &'static str;

    fn rules(&self) -> &[Rule<&'static str>] {
        &self.rules
    }

    fn allow(&self) -> &[Network] {
        &self.allow
    }

    fn limits(&self) -> Limits {
        Limits { connections: 2, per_client: 2, pending: 1 }
    }
}

impl Basic for Wanted {
    fn format(&self) -> Format {
        Format::Text
    }

    fn limit(&self, admission: &Admission) {
        admission.set_limits(self.connections, 2);
    }
}

struct Program(Core<Wanted>);

impl Program {
    fn new(addresses: &[SocketAddr], allow: &[&str]) -> Arc<Self> {
        Arc::new(Self(Core::new(wanted_at(addresses, "first", allow), Admission::new(2, 2))))
    }

    fn wants(&self, addresses: &[SocketAddr], target: &'static str, allow: &[&str]) {
        self.0.set_settings(wanted_at(addresses, target, allow));
    }
}

fn wanted_at(addresses: &[SocketAddr], target: &'static str, allow: &[&str]) -> Wanted {
    let rule = |address: &SocketAddr| Rule::new(Place::Tcp(*address), None, target, Vec::new()).unwrap();
    let allow = allow.iter().map(|text| text.parse().unwrap()).collect();
    Wanted { rules: addresses.iter().map(rule).collect(), allow, connections: 2 }
}

impl Service for Program {
    type Wishes = Wanted;

    fn core(&self) -> &Core<Wanted> {
        &self.0
    }

    /// The client is told the target, and has its place until it leaves.
    fn serve_tcp(self: &Arc<Self>, mut stream: TcpStream, _: SocketAddr, pass: Pass, target: &'static str) {
        tokio::spawn(async move {
            stream.write_all(target.as_bytes()).await.unwrap();
            let _ = stream.read(&mut [0]).await;
            drop(pass);
        });
    }
}

const HOME: &[&str] = &["127.0.0.0/8"];

fn any_port() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn places(listeners: &Listeners<Program>) -> Vec<SocketAddr> {
    listeners.open.values().map(|open| open.at).collect()
}

/// What a client is told, which stays connected.
async fn connect(at: SocketAddr, len: usize) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let mut said = vec![0; len];
    stream.read_exact(&mut said).await.unwrap();
    (stream, String::from_utf8(said).unwrap())
}

/// Whether the connection of a client ends without a word.
async fn is_refused(at: SocketAddr) -> bool {
    let mut stream = TcpStream::connect(at).await.unwrap();
    !matches!(stream.read(&mut [0]).await, Ok(1..))
}

#[tokio::test]
async fn a_client_over_tcp_is_served_by_the_rule_of_its_address_and_the_port_is_told() {
    let listeners = Listeners::open(Program::new(&[any_port()], HOME)).await.unwrap();
    let at = places(&listeners)[0];
    assert_ne!(at.port(), 0);
    assert_eq!(connect(at, 5).await.1, "first");
    assert_eq!(listeners.to_string(), format!("listening at tcp:{at}"));
}

#[tokio::test]
async fn clients_beyond_a_limit_are_told_nothing_and_counted() {
    let program = Program::new(&[any_port()], HOME);
    let listeners = Listeners::open(Arc::clone(&program)).await.unwrap();
    let at = places(&listeners)[0];
    let _two = [connect(at, 5).await, connect(at, 5).await];
    assert!(is_refused(at).await);
    assert_eq!(program.0.refused_count(), 1);
    program.0.admission.set_limits(9, 2);
    assert!(is_refused(at).await);
    program.0.admission.set_limits(9, 3);
    assert_eq!(connect(at, 5).await.1, "first");
    assert_eq!(program.0.refused_count(), 2);
}

#[tokio::test]
async fn other_networks_hold_for_the_next_client_of_a_listener_that_stays() {
    let program = Program::new(&[any_port()], HOME);
    let mut listeners = Listeners::open(Arc::clone(&program)).await.unwrap();
    let at = places(&listeners)[0];
    program.wants(&[any_port()], "other", &["192.0.2.0/24"]);
    listeners.look().await.unwrap();
    assert_eq!(places(&listeners), [at]);
    assert!(is_refused(at).await);
    assert_eq!(program.0.refused_count(), 1);
    program.wants(&[any_port()], "other", HOME);
    listeners.look().await.unwrap();
    assert_eq!(connect(at, 5).await.1, "other");
}

#[tokio::test]
async fn a_listener_that_is_wanted_no_more_closes_and_its_clients_stay() {
    let program = Program::new(&[any_port()], HOME);
    let mut listeners = Listeners::open(Arc::clone(&program)).await.unwrap();
    let at = places(&listeners)[0];
    let (mut client, _) = connect(at, 5).await;
    program.wants(&[], "first", HOME);
    listeners.look().await.unwrap();
    assert_eq!(places(&listeners), []);
    // Its task ends when the runtime comes to it.
    while TcpStream::connect(at).await.is_ok() {
        tokio::task::yield_now().await;
    }
    client.write_all(b"x").await.unwrap();
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0, "the client was served to its end");
}

#[tokio::test]
async fn an_address_that_is_taken_ends_the_start_and_later_on_is_tried_again() {
    let other = std::net::TcpListener::bind(any_port()).unwrap();
    let taken = other.local_addr().unwrap();
    let failed = Listeners::open(Program::new(&[taken], HOME)).await.map(drop).unwrap_err();
    let said = format!("{failed:?}");
    assert!(said.contains(&format!("cannot listen at tcp:{taken}: ")), "{said}");
    assert!(said.contains("another program listens there"), "{said}");
    let program = Program::new(&[any_port()], HOME);
    let mut listeners = Listeners::open(Arc::clone(&program)).await.unwrap();
    program.wants(&[any_port(), taken], "first", HOME);
    listeners.look().await.unwrap();
    assert!(!places(&listeners).contains(&taken));
    drop(other);
    listeners.look().await.unwrap();
    assert!(places(&listeners).contains(&taken));
    assert_eq!(connect(taken, 5).await.1, "first");
}

#[tokio::test]
async fn an_address_of_another_host_is_told_with_its_cure() {
    let elsewhere = "192.0.2.1:445".parse().unwrap();
    let unopened = can_listen(elsewhere).unwrap_err();
    assert!(unopened.check.is_some_and(|check| check.contains("`ip address`")), "{unopened:?}");
    can_listen("127.0.0.1:445".parse().unwrap()).unwrap();
}
