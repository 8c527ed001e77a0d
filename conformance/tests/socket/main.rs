//! The suite over sockets: the examples of an implementer's side pass all that applies to them.

mod broken;
mod field;
mod program;
mod python;
#[expect(dead_code, reason = "its main is the example's")]
#[path = "../../examples/socket_echo.rs"]
mod socket_echo;

use std::collections::BTreeSet;
use std::thread;

use field::{Implementation, failures, plays};
use python::Python;
use smbd_conformance::socket::Address;
use smbd_conformance::suite::{Outcome, Played, SIDES};

/// The example in Rust, in threads of this program.
struct Rust;

impl Implementation for Rust {
    fn accept(&self, at: &Address) {
        let listener = at.listen().unwrap();
        thread::spawn(move || socket_echo::accept(&listener));
    }

    fn connect(&self, to: &Address) {
        let to = to.clone();
        thread::spawn(move || socket_echo::connect(&to));
    }
}

/// Why cases are not played, however a peer is made that is another program and has no RDMA device.
const NOT_APPLICABLE: [&str; 6] = [
    "private data are not the script's matter here",
    "the case is about an SMB2",
    "the peer's settings are its own",
    "the peer's upper layer cannot be looked at",
    "the peer's upper layer is not SMB2",
    "this network cannot be told to fail",
];

/// And of one whose upper layer only returns messages.
const NO_BUFFERS: &str = "the peer's upper layer uses no buffers";

/// An implementation passes in both roles, in each at least so many cases.
fn passes(name: &str, implementation: &dyn Implementation, excepted: &[&str], least: usize) {
    thread::scope(|scope| {
        for role in SIDES {
            scope.spawn(move || judged(&plays(name, implementation, role, |_| true), excepted, least));
        }
    });
}

fn judged(played: &[Played], excepted: &[&str], least: usize) {
    let failed = failures(played);
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
    let passed = played.iter().filter(|played| played.outcome == Outcome::Passed).count();
    assert!(passed >= least, "{passed} passed");
    let reasons: BTreeSet<_> = played
        .iter()
        .filter_map(|played| match &played.outcome {
            Outcome::NotApplicable(why) => Some(why.as_str()),
            _ => None,
        })
        .filter(|why| !NOT_APPLICABLE.iter().chain(excepted).any(|known| why.starts_with(known)))
        .collect();
    assert!(reasons.is_empty(), "{reasons:?}");
}

#[test]
fn the_example_in_rust_passes_all_that_applies_to_it() {
    passes("rust", &Rust, &[], 80);
}

#[test]
fn the_example_in_python_passes_all_that_applies_to_it() {
    passes("python", &Python::example(), &[NO_BUFFERS], 60);
}
