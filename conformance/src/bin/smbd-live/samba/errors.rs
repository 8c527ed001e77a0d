//! Requests that the server refuses: the registration of each has to be given back like that of one that succeeded.

use std::fs::{self, File};
use std::io::ErrorKind;

use smbd_tools::exercise::pattern;

use super::ends::ends_well;
use super::service::{Service, UNCACHED};
use super::sizes::equal;
use super::traffic::goes_on;
use crate::case::{Case, Context, Failure, Outcome, Target};

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaErrors, about, run }
}

pub(super) const CASES: &[Case] =
    &[case("samba::errors::read_only", "a share that cannot be written, then 10,000 operations", read_only)];

/// The kind of an error that has to come.
fn refused<T>(what: &str, result: std::io::Result<T>, kinds: &[ErrorKind]) -> Result<String, Failure> {
    match result {
        Err(error) if kinds.contains(&error.kind()) => Ok(error.to_string()),
        Err(error) => Err(format!("{what}: {error}").into()),
        Ok(_) => Err(format!("{what} was not refused").into()),
    }
}

fn read_only(context: &Context) -> Outcome {
    let still = ["[still]", "path = /run/share", "read only = yes"];
    let service = Service::begin_with(context, "read-only", &still, &[])?;
    let mounted = service.mount(UNCACHED)?;
    let beside = service.mount_beside("still", UNCACHED)?;
    let contents = pattern(1, 200_000);
    fs::write(mounted.file("file"), &contents)?;
    let mut said = String::new();
    let kinds = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    for _ in 0..100 {
        said = refused("a new file", File::create(beside.file("new")), &kinds)?;
        refused("an open", File::options().write(true).open(beside.file("file")), &kinds)?;
        equal("what can be read", &fs::read(beside.file("file"))?, &contents)?;
    }
    beside.unmount()?;
    goes_on(&mounted, 10_000)?;
    Ok(format!("{said}; {}", ends_well(&service, mounted)?))
}
