//! When the upper layer gets a connection, and what it can query of it.

use std::time::Duration;

use smbd_core::error::{CommandError, RdmaError, RegisterError, SendError};
use smbd_core::{Access, BufferDescriptorV1, Negotiated, RdmaVerb, Token};

use crate::suite::rig::{Opening, Told};
use crate::suite::words::{self, Words};
use crate::suite::{Data, Peer, Play, Request, Response, Stop, Terms, pattern};

/// Nothing was told so far.
fn nothing_told(peer: &mut Peer<'_>, statements: &str) {
    let told = peer.told();
    let told: Vec<_> = told.into_iter().map(|(_, told)| told).collect();
    peer.check(statements, told.is_empty(), || {
        format!("nothing should be told yet, told was: {}", told.words())
    });
}

pub(super) fn told_when_usable(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let all = if accepts { "3.1.5.6-19" } else { "3.1.5.7-23 +3.1.4.1-15" };
    let mut peer = play.connect()?;
    peer.play().pass(Duration::from_secs(1));
    nothing_told(&mut peer, all);
    if accepts {
        peer.request(&Request::default())?;
        let (response, _) = peer.response("")?;
        peer.accepted("", &response)?;
        peer.post_receives(10)?;
    } else {
        peer.asked("")?;
        nothing_told(&mut peer, all);
        peer.respond(&Response::default())?;
    }
    let told = peer.until_told(Duration::from_secs(1), |told| matches!(told, Told::Established(_)));
    peer.check(all, told, || "the connection should have been told of within 1 s".into());
    // The acceptor's response was with the device by then; the initiator's request, of course.
    let sent = peer.upper()?.sends_when_told().first().copied();
    peer.check(all, sent == Some(1), || {
        let sent = words::number(sent);
        format!("1 message should have been posted before the connection was told of, it was {sent}")
    });
    peer.send(&Data::empty().granting(10))?;
    peer.play().pass(Duration::from_secs(1));
    let told = peer.told();
    let told: Vec<_> = told.into_iter().map(|(_, told)| told).collect();
    peer.check(all, matches!(told[..], [Told::Established(_)]), || {
        format!("of the connection should be told once, and of nothing else; told was: {}", told.words())
    });
    Ok(())
}

/// No command is taken.
fn too_early(peer: &mut Peer<'_>, statements: &str) -> Result<(), Stop> {
    let remote = [BufferDescriptorV1 { offset: 0, token: Token(1), length: 10 }];
    let bytes = pattern(178, 10);
    let early = CommandError::NotEstablished;
    let upper = peer.upper()?;
    let sent = upper.send(bytes.clone(), None);
    let operations =
        [RdmaVerb::Read, RdmaVerb::Write].map(|verb| upper.rdma(verb, &bytes, &remote, 0).map(|_| ()));
    let registered = upper.register(&bytes, Access::Read);
    let right = sent == Err(SendError::Command(early))
        && operations == [Err(RdmaError::Command(early)); 2]
        && registered == Err(RegisterError::Command(early));
    peer.check(statements, right, || {
        let [read, write] = operations.map(|ended| words::result(&ended));
        let (sent, registered) = (words::result(&sent), words::result(&registered));
        format!("all should be refused as too early: message {sent}, read {read}, write {write}, registration {registered}")
    });
    Ok(())
}

pub(super) fn nothing_before(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let all = if accepts { "3.1.5.1-01 +3.1.7.2-02" } else { "3.1.5.1-01 +3.1.4.1-02" };
    let id = play.prepare(&Opening::default())?;
    too_early(&mut play.peer(id), all)?;
    let payload = pattern(179, 10);
    play.peer(id).upper()?.greet(payload.clone());
    play.go(id)?;
    too_early(&mut play.peer(id), all)?;
    play.pass(Duration::from_secs(1));
    let mut peer = play.peer(id);
    too_early(&mut peer, all)?;
    if accepts {
        peer.request(&Request::default())?;
        too_early(&mut peer, all)?;
        let (response, _) = peer.response("")?;
        peer.accepted("", &response)?;
        peer.post_receives(10)?;
        peer.send(&Data::empty().granting(10))?;
    } else {
        peer.asked("")?;
        too_early(&mut peer, all)?;
        peer.respond(&Response::default())?;
        too_early(&mut peer, all)?;
    }
    // What was commanded when the connection was told of: once, and nothing that was commanded before.
    peer.echoed("3.1.5.1-17", &payload)?;
    let more = peer.all_within("3.1.5.1-01", Duration::from_secs(3))?;
    let data = more.iter().filter(|seen| seen.header.data_length > 0).count();
    peer.check("3.1.5.1-01", data == 0, || format!("one message should come, {data} more came"));
    let told = peer.told();
    let sent = told.iter().filter(|(_, told)| matches!(told, Told::Sent(_, Ok(())))).count();
    let told: Vec<_> = told.into_iter().map(|(_, told)| told).collect();
    peer.check("3.1.5.1-01", sent == 1, || format!("one message should be sent, told was: {}", told.words()));
    Ok(())
}

pub(super) fn query(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let terms = Terms {
        request: Request {
            preferred_send_size: 1500,
            max_receive_size: 1700,
            max_fragmented_size: 150_000,
            ..Request::default()
        },
        response: Response {
            preferred_send_size: Some(1500),
            max_receive_size: 1700,
            max_fragmented_size: 150_000,
            max_read_write_size: 4_000_000,
            ..Response::default()
        },
        ..Terms::default()
    };
    let mut peer = play.established_on(&terms)?;
    let told = peer.until_told(Duration::from_secs(5), |told| matches!(told, Told::Established(_)));
    peer.check("3.1.4.7-01", told, || "the upper layer should be told of the connection".into());
    let settled = Negotiated {
        protocol: 0x0100,
        max_send_size: 1700,
        max_receive_size: 1500,
        max_fragmented_send_size: 150_000,
        max_fragmented_recv_size: 200_000,
        max_read_write_size: if accepts { 5_000_000 } else { 4_000_000 },
        keepalive_interval: Some(Duration::from_secs(60)),
    };
    let told = peer.told().into_iter().map(|(_, told)| told).next();
    let asked = peer.upper()?.endpoint().connection().negotiated();
    // What is told is what can be asked for; whether it is right comes next.
    let same = asked.is_some_and(|asked| told == Some(Told::Established(asked)));
    peer.check("3.1.4.7-01", same, || {
        format!("told should be: established with {}; told was: {}", settled.words(), told.words())
    });
    let found = match told {
        Some(Told::Established(told)) => Some(told),
        _ => asked,
    };
    let mut value = |statements: &str, name: &str, of: fn(&Negotiated) -> Option<u64>| {
        let (wanted, found) = (of(&settled), found.as_ref().and_then(of));
        let statements = if statements.is_empty() { "3.1.4.7-01" } else { statements };
        peer.check(&format!("{statements} +3.1.4.7-01"), found == wanted, || {
            format!("{name} should be {}, it is {}", words::number(wanted), words::number(found))
        });
    };
    let by_role = |acceptor, initiator| if accepts { acceptor } else { initiator };
    value(by_role("3.1.5.6-12", "3.1.5.7-10"), "the version", |all| Some(all.protocol.into()));
    value(by_role("3.1.5.6-14", "3.1.5.7-14"), "MaxSendSize", |all| Some(all.max_send_size.into()));
    value(by_role("", "3.1.5.7-12"), "MaxReceiveSize", |all| Some(all.max_receive_size.into()));
    value(by_role("3.1.5.6-15", "3.1.5.7-17"), "MaxFragmentedSendSize", |all| {
        Some(all.max_fragmented_send_size.into())
    });
    value(by_role("", "3.1.5.7-15"), "MaxReadWriteSize", |all| Some(all.max_read_write_size.into()));
    value("", "KeepaliveInterval", |all| all.keepalive_interval.map(|interval| interval.as_secs()));
    Ok(())
}
