use std::cell::{Cell, RefCell};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::process::{Signal, getpid, kill_process};

use super::*;
use crate::admission::Admission;
use crate::listeners::{Limits, Wishes};
use crate::log::Format;
use crate::network::Network;
use crate::places::Rule;
use crate::tasks::{Basic, Core};

/// Settings of a program that listens nowhere: a number.
struct Number(u32);

impl Basic for Number {
    fn format(&self) -> Format {
        Format::Text
    }

    fn limit(&self, admission: &Admission) {
        admission.set_limits(self.0, self.0);
    }
}

impl Wishes for Number {
    type Target = ();

    fn rules(&self) -> &[Rule<()>] {
        &[]
    }

    fn allow(&self) -> &[Network] {
        &[]
    }

    fn limits(&self) -> Limits {
        Limits { connections: self.0, per_client: self.0, pending: 1 }
    }
}

struct Program(Core<Number>);

impl Service for Program {
    type Wishes = Number;

    fn core(&self) -> &Core<Number> {
        &self.0
    }
}

/// The keys of the messages to a service manager until now.
fn told(socket: &UnixDatagram) -> Vec<String> {
    let mut bytes = [0; 500];
    let next = || socket.recv(&mut bytes).ok().map(|len| String::from_utf8_lossy(&bytes[..len]).into_owned());
    std::iter::from_fn(next).map(|text| text.split('=').next().unwrap_or_default().to_owned()).collect()
}

fn raise(signal: Signal) {
    kill_process(getpid(), signal).unwrap();
}

#[tokio::test]
async fn settings_are_taken_after_reloading_is_told_and_before_ready_is_until_a_signal_stops_it() {
    let name = format!("smbd-daemon-reload-{}", std::process::id());
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut notify = Notify::to(Some(format!("@{name}").as_ref()), None).unwrap();
    let mut signals = Signals::new().unwrap();
    let program = Arc::new(Program(Core::new(Number(1), Admission::new(1, 1))));
    let mut listeners = Listeners::open(Arc::clone(&program)).await.unwrap();
    let before = RefCell::new(Vec::new());
    raise(Signal::HUP);
    let take = |read: Result<Number, String>| {
        before.borrow_mut().push(told(&socket));
        program.0.set_settings(read.unwrap());
        raise(Signal::TERM);
    };
    let never = || Duration::from_secs(3600);
    follow(&mut listeners, &mut signals, &mut notify, never, || Ok(Number(7)), take).await.unwrap();
    assert_eq!(program.0.settings().0, 7);
    assert_eq!(*before.borrow(), [["RELOADING"]]);
    assert_eq!(told(&socket), ["READY"]);
}

#[test]
fn settings_that_cannot_be_read_change_nothing() {
    let log = || Log::new(Format::Text);
    let kept = |_: &mut Number| panic!("nothing was read");
    assert!(!reload(log, Err("no file\n".into()), kept, |_| panic!("nothing was read")));
}

#[test]
fn what_cannot_change_stays_and_the_rest_is_taken() {
    let log = || Log::new(Format::Text);
    let taken = Cell::new(None);
    let old = "of the start";
    let restore = |new: &mut (&str, u32)| keep("name", &old, &mut new.0).into_iter().collect();
    let take = |new: (&'static str, u32)| {
        taken.set(Some(new));
        vec![("number", new.1.into())]
    };
    assert!(reload(log, Ok(("other", 7)), restore, take));
    assert_eq!(taken.get(), Some((old, 7)));
    let mut new = 3;
    assert_eq!((keep("number", &2, &mut new), new), (Some("number"), 2));
    assert_eq!((keep("number", &2, &mut new), new), (None, 2));
}
