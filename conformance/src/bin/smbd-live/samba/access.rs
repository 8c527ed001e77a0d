//! Who is let in, and where the gateway finds the server.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use smbd_tools::exercise::pattern;

use super::ends::ends_well;
use super::lab;
use super::service::{Service, UNCACHED, behind};
use super::sizes::equal;
use crate::case::{Case, Context, Failure, Outcome, Skipped, Target};
use crate::cifs::{self, Mount};
use crate::expect::holds;
use crate::patience::PATIENCE;

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaAccess, about, run }
}

pub(super) const CASES: &[Case] = &[
    case(
        "samba::access::other_subnet",
        "a client of another subnet is refused, and let in once it is allowed",
        other_subnet,
    ),
    case("samba::access::per_client", "no more connections of one client than its limit", per_client),
    case("samba::access::ipv6", "a mount by IPv6", ipv6),
    case("samba::access::two_servers", "the first of two servers is not there", two_servers),
    case("samba::access::two_backends", "two addresses, each with a Samba of its own", two_backends),
];

/// Restores the route to the own address.
struct Route(IpAddr);

impl Drop for Route {
    fn drop(&mut self) {
        let Self(address) = self;
        // Of use to the next test only.
        let _ = lab::shell(&format!(
            r#"ip route replace local {address} dev "$NETDEV" table local proto kernel scope host src {address}"#
        ));
    }
}

fn other_subnet(context: &Context) -> Outcome {
    const OTHER: &str = "10.8.0.7";
    let address = context.address;
    let listen = format!("{address}:{}", cifs::port(address)?);
    let service = Service::begin_with(context, "other-subnet", &[], &["--listen", &listen])?;
    lab::shell(&format!(
        r#"ip address add {OTHER}/24 dev "$NETDEV" &&
           ip route replace local {address} dev "$NETDEV" table local proto kernel scope host src {OTHER}"#
    ))?;
    let route = Route(address);
    let said = service.begin_mount("share", 0, UNCACHED)?.failure(PATIENCE)?;
    let refused = service.gateway().said(0, &["client refused", OTHER])?;
    drop(service);
    let options = ["--listen", &listen, "--allow", "10.8.0.0/24"];
    let service = Service::begin_with(context, "other-subnet-allowed", &[], &options)?;
    let mounted = service.mount(UNCACHED)?;
    service.gateway().said(0, &["client connected", OTHER])?;
    fs::write(mounted.file("file"), pattern(1, 50_000))?;
    equal("behind the share", &fs::read(behind("file"))?, &pattern(1, 50_000))?;
    ends_well(&service, mounted)?;
    drop(route);
    Ok(format!("{refused}; the mount: {said}"))
}

fn per_client(context: &Context) -> Outcome {
    let config = "/run/gateway.toml";
    fs::write(config, "[limits]\nper_client = 1\n")?;
    let service = Service::begin_with(context, "per-client", &[], &["--config", config])?;
    let mounted = service.mount(UNCACHED)?;
    let apart = format!("{UNCACHED},nosharesock");
    let said = service.begin_mount("share", 1, &apart)?.failure(PATIENCE)?;
    let refused = service.gateway().said(0, &["client refused", "limits.per_client"])?;
    fs::write(mounted.file("file"), pattern(1, 50_000))?;
    equal("behind the share", &fs::read(behind("file"))?, &pattern(1, 50_000))?;
    let how = ends_well(&service, mounted)?;
    service.mount_beside("share", &apart)?.unmount()?;
    Ok(format!("{refused}; the mount: {said}; {how}"))
}

fn ipv6(context: &Context) -> Outcome {
    let address = std::env::var("ADDRESS6").ok().and_then(|text| text.parse::<IpAddr>().ok());
    let address = address.ok_or_else(|| Skipped::because("the kernel has no IPv6"))?;
    let service = Service::begin(&Context { address, ..*context }, "ipv6")?;
    let mounted = service.mount(UNCACHED)?;
    service.gateway().said(0, &["client connected", &format!("client=[{address}]")])?;
    let contents = pattern(1, 3_000_000);
    fs::write(mounted.file("file"), &contents)?;
    equal("behind the share", &fs::read(behind("file"))?, &contents)?;
    equal("read again", &fs::read(mounted.file("file"))?, &contents)?;
    ends_well(&service, mounted)
}

fn two_servers(context: &Context) -> Outcome {
    let service = Service::begin_with(context, "two-servers", &[], &["--server", "127.0.0.9:445"])?;
    let mounted = service.mount(UNCACHED)?;
    let line = service.gateway().said(0, &["client connected"])?;
    holds(line.contains("server=127.0.0.1:445"), || format!("another server: {line}"))?;
    fs::write(mounted.file("file"), pattern(1, 50_000))?;
    equal("behind the share", &fs::read(behind("file"))?, &pattern(1, 50_000))?;
    ends_well(&service, mounted)
}

/// A second Samba beside the usual one; ended when dropped.
struct Second;

impl Second {
    const FOLDER: &str = "/run/share-second";

    fn begin() -> Result<Self, Failure> {
        lab::shell("SAMBA=/run/samba-second SAMBA_PORT=1445 SAMBA_SHARE=/run/share-second samba_start")?;
        Ok(Self)
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // The next test does not depend on it.
        let _ = lab::shell("SAMBA=/run/samba-second samba_stop KILL");
    }
}

fn two_backends(context: &Context) -> Outcome {
    const OTHER: &str = "10.9.0.78";
    let (first, config) = (context.address, "/run/gateway.toml");
    let port = cifs::port(first)?;
    let text = format!(
        "[[backend]]\nname = \"second\"\nserver = [\"127.0.0.1:1445\"]\n\
         [[listener]]\naddress = \"{first}:{port}\"\n[[listener]]\naddress = \"{OTHER}:{port}\"\nbackend = \"second\"\n"
    );
    fs::write(config, text)?;
    lab::shell(&format!(r#"ip address add {OTHER}/24 dev "$NETDEV""#))?;
    let second = Second::begin()?;
    let service = Service::begin_with(context, "two-backends", &[], &["--config", config])?;
    let mounted = service.mount(UNCACHED)?;
    let other =
        Mount::begin_at(&format!("//{OTHER}/share"), Path::new("/mnt/other"), &format!("rdma,{UNCACHED}"))?;
    let other = other.mounted(PATIENCE)?;
    service.gateway().said(0, &["client connected", "server=127.0.0.1:1445"])?;
    fs::write(mounted.file("file"), pattern(1, 50_000))?;
    fs::write(other.file("file"), pattern(2, 60_000))?;
    equal("behind the first", &fs::read(behind("file"))?, &pattern(1, 50_000))?;
    equal("behind the second", &fs::read(Path::new(Second::FOLDER).join("file"))?, &pattern(2, 60_000))?;
    equal("read from the second", &fs::read(other.file("file"))?, &pattern(2, 60_000))?;
    let mark = service.gateway().mark();
    other.unmount()?;
    service.ended(mark)?;
    let how = ends_well(&service, mounted)?;
    drop(second);
    Ok(how)
}
