//! Sessions that are signed or encrypted: they work without RDMA, or end with a line that says why and what to do.

use std::fs;

use smbd_tools::exercise::pattern;

use super::service::{Ended, Service, behind};
use super::sizes::equal;
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::cifs::Mounted;
use crate::expect::{holds, same};

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaSecurity, about, run }
}

pub(super) const CASES: &[Case] = &[
    case("samba::security::sign", "a client that signs", sign),
    case("samba::security::signing_required", "a server that requires signing", signing_required),
    case("samba::security::sign_and_seal", "a client that signs and encrypts", sign_and_seal),
    case(
        "samba::security::seal",
        "a client that encrypts and does not sign, with messages that are short enough",
        seal,
    ),
    case(
        "samba::security::encryption_required",
        "a server that requires encryption, the same",
        encryption_required,
    ),
    case(
        "samba::security::long_writes",
        "the same with requests that are as long as cifs makes them",
        long_writes,
    ),
    // The last one: for the reader that is killed in it cifs may still connect again.
    case(
        "samba::security::too_long_to_read",
        "the same with answers that are too long: the log says what to do",
        too_long_to_read,
    ),
];

/// Beyond this cifs does not receive a message.
const SHORT: &str = "rsize=131072";

fn sign(context: &Context) -> Outcome {
    works(context, ("sign", &[]), "sign", "signed")
}

fn signing_required(context: &Context) -> Outcome {
    works(context, ("signing-required", &["server signing = mandatory"]), "", "signed")
}

fn sign_and_seal(context: &Context) -> Outcome {
    works(context, ("sign-and-seal", &[]), "sign,seal", "encrypted")
}

fn seal(context: &Context) -> Outcome {
    works(context, ("seal", &[]), &format!("seal,{SHORT}"), "encrypted")
}

fn encryption_required(context: &Context) -> Outcome {
    works(context, ("encryption-required", &["server smb encrypt = required"]), SHORT, "encrypted")
}

fn mount(service: &Service, options: &str) -> Result<Mounted, Failure> {
    let comma = if options.is_empty() { "" } else { "," };
    service.mount(&format!("vers=3.1.1,cache=none{comma}{options}"))
}

/// Files are the same on both sides, nothing goes by RDMA, and the log says why.
fn works(context: &Context, (name, settings): (&'static str, &[&str]), options: &str, kind: &str) -> Outcome {
    let service = Service::begin_with(context, name, settings, &[])?;
    let mounted = mount(&service, options)?;
    for (seed, size) in (0..).zip([0, 1, 4096, 65_537, 131_072, 1 << 20, 5_000_000]) {
        let (up, down) = (format!("up-{size}"), format!("down-{size}"));
        fs::write(mounted.file(&up), pattern(seed, size))?;
        equal(&up, &fs::read(behind(&up))?, &pattern(seed, size))?;
        fs::write(behind(&down), pattern(!seed, size))?;
        equal(&down, &fs::read(mounted.file(&down))?, &pattern(!seed, size))?;
    }
    let mark = service.gateway().mark();
    mounted.unmount()?;
    let ended = service.ended(mark)?;
    ended.is("session", kind)?;
    same("bytes by RDMA", (ended.number("rdma_in")?, ended.number("rdma_out")?), (0, 0))?;
    holds(ended.text().contains("the client has left"), || format!("it ended otherwise: {}", ended.text()))?;
    same("connections", service.gateway().count(0, &["client connected "]), 1)?;
    let why = ended.field("no_rdma").ok_or("no word about RDMA")?;
    Ok(why.to_owned())
}

/// A connection that was ended by the gateway for what came through it, with its line.
fn ends(service: &Service, mark: usize) -> Result<Ended, Failure> {
    let ended = service.ended(mark)?;
    ended.is("session", "encrypted")?;
    Ok(ended)
}

/// cifs asks for up to 4 MiB and announces that it receives 173,910 bytes.
fn too_long_to_read(context: &Context) -> Outcome {
    let service = Service::begin(context, "too-long-to-read")?;
    let mounted = mount(&service, "seal,soft")?;
    let contents = pattern(1, 1 << 20);
    fs::write(behind("small"), &contents[..50_000])?;
    equal("a small file", &fs::read(mounted.file("small"))?, &contents[..50_000])?;
    fs::write(behind("large"), &contents)?;
    let mark = service.gateway().mark();
    // cifs goes on asking, on a new connection each time.
    let mut reader = std::process::Command::new("cat");
    let mut reader = reader.arg(mounted.file("large")).stdout(std::process::Stdio::null()).spawn()?;
    let ended = ends(&service, mark);
    reader.kill()?;
    let ended = ended?;
    drop(mounted);
    reader.wait()?;
    let why = ended.field("why").unwrap_or_default();
    for word in ["sign,seal", "rsize"] {
        holds(why.contains(word), || format!("it does not say {word}: {}", ended.text()))?;
    }
    Ok(why.to_owned())
}

/// cifs encrypts up to 4 MiB in one message.
fn long_writes(context: &Context) -> Outcome {
    let service = Service::begin(context, "long-writes")?;
    let mounted = mount(&service, "seal,soft")?;
    let contents = pattern(1, 6 << 20);
    fs::write(mounted.file("large"), &contents)?;
    equal("behind the share", &fs::read(behind("large"))?, &contents)?;
    let mark = service.gateway().mark();
    mounted.unmount()?;
    let ended = ends(&service, mark)?;
    same("connections", service.gateway().count(0, &["client connected "]), 1)?;
    Ok(format!("{} bytes came", ended.number("bytes_in")?))
}
