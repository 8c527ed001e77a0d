//! The same over IPv6.

use std::net::IpAddr;

use smbd_core::{Access, RdmaVerb};
use smbd_verbs::Buffer;

use super::pair::{Pair, buffer_of, contents, only};
use super::traffic;
use crate::case::{Context, Outcome, Skipped};

pub(super) fn works(context: &Context) -> Outcome {
    let Some(address) = std::env::var("ADDRESS6").ok().filter(|text| !text.is_empty()) else {
        return Err(Skipped::because("ADDRESS6 is empty: the kernel has no IPv6"));
    };
    let address: IpAddr = address.parse()?;
    let mut pair = Pair::new(&Context { address, ..*context }, &traffic::config()?)?;
    let peer = pair.initiator.backend().peer_addr().map(|peer| peer.ip());
    if peer != Some(address) {
        return Err(format!("connected to {peer:?} instead of {address}").into());
    }
    pair.check()?;
    let (source, target) = (buffer_of(1, 100_000)?, Buffer::new(100_000)?);
    let registration = pair.acceptor.register(&target, Access::Write)?;
    let remote = [only(&registration)?].into();
    pair.valid()?;
    pair.initiator.rdma(RdmaVerb::Write, &source, &remote, 0, 100_000)?;
    pair.check()?;
    if contents(&source)? != contents(&target)? {
        return Err("what was written is not there".into());
    }
    pair.close()?;
    Ok(format!("messages and RDMA at {address}"))
}
