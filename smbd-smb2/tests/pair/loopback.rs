//! A client that talks to a server and its files in memory.

use smbd_core::Instant;
use smbd_smb2::client::{
    Arrived, Client, Config, Operation, Output, Params, Reply, SessionHandle, TreeHandle,
};
use smbd_smb2::security::{Credentials, Fresh, Initiator, NtHash};
use smbd_smb2::server::{self, Loopback, Memory, Server, Share};
use smbd_smb2::wire::{
    AccessMask, ChangeNotifyRequest, CloseRequest, CreateDisposition, CreateRequest, FileId, Guid,
    LockElement, LockFlags, LockRequest, Response, SessionId, ShareAccess,
};

const NOW: Instant = Instant::ORIGIN;
const TODAY: u64 = 0x01dc_5000_0000_0000;

fn server() -> Loopback<Memory> {
    let mut params = server::Params::new(Guid([1; 16]), "SERVER");
    params.shares.push(Share::new("data"));
    let accounts = |user: &str, _: &str| (user == "tester").then(|| NtHash::of_password("secret"));
    let server = Server::new(params, accounts).expect("valid");
    Loopback::new(server, vec![Memory::new("data", TODAY)], TODAY, [7; 32])
}

enum Got {
    Session(SessionHandle),
    Tree(TreeHandle),
    File(FileId),
    Other,
    Failure(String),
}

/// The results that come until both have nothing to do.
fn run(client: &mut Client, server: &mut Loopback<Memory>) -> Vec<Got> {
    let (mut results, mut answer) = (Vec::new(), None::<Vec<u8>>);
    loop {
        let mut arrived = answer.as_deref_mut().map_or(Arrived::nothing(), Arrived::new);
        loop {
            match client.poll(NOW, &mut arrived) {
                Output::Idle(_) => break,
                Output::Send { message, .. } => server.received(TODAY, &mut message.concat()),
                Output::Done { result, .. } => results.push(match result {
                    Ok(Reply::Session(session)) => Got::Session(session),
                    Ok(Reply::Tree(tree, _)) => Got::Tree(tree),
                    Ok(Reply::Answer(_, Response::Create(create))) => Got::File(create.file_id),
                    Ok(_) => Got::Other,
                    Err(failure) => Got::Failure(failure.to_string()),
                }),
                _ => {}
            }
        }
        answer = server.poll(TODAY);
        if answer.is_none() {
            return results;
        }
    }
}

/// A file that two opens have: a lock waits for the other to go, and what waits for ever can be cancelled.
#[test]
fn a_lock_waits_until_the_file_that_has_it_is_closed_and_a_notification_until_it_is_cancelled() {
    let (mut client, mut server) = (Client::new(Config::new(Params::default()).expect("valid")), server());
    run(&mut client, &mut server);
    let tester = Initiator::ntlm(Credentials::of_password("tester", "secret"), "CLIENT", "cifs/server");
    client.login(NOW, tester, Fresh::new(TODAY, [5; 32]), SessionId::NONE).expect("negotiated");
    let [Got::Session(session)] = run(&mut client, &mut server)[..] else { panic!("no session") };
    client.connect(NOW, session, r"\\server\data").expect("logged in");
    let [Got::Tree(tree)] = run(&mut client, &mut server)[..] else { panic!("no tree connect") };
    let mut ask = |operation: &Operation<'_>| {
        let id = client.submit(NOW, tree, operation).expect("room");
        (id, run(&mut client, &mut server))
    };
    let mut open = |name| {
        let create = CreateRequest::new(name, AccessMask::MAXIMUM_ALLOWED, CreateDisposition::OPEN_IF);
        let create = CreateRequest { share_access: ShareAccess(7), ..create };
        match ask(&Operation::Create(create)).1[..] {
            [Got::File(file_id)] => file_id,
            _ => panic!("no file"),
        }
    };
    let [first, second, folder] = [open("file"), open("file"), open("")];
    let locks = [LockElement { offset: 0, length: 9, flags: LockFlags::EXCLUSIVE_LOCK }];
    let lock =
        |file_id| Operation::Lock(LockRequest { file_id, locks: (&locks).into(), ..Default::default() });
    assert!(matches!(ask(&lock(first)).1[..], [Got::Other]));
    assert!(ask(&lock(second)).1.is_empty(), "it waits");
    let close = Operation::Close(CloseRequest { file_id: first, ..CloseRequest::default() });
    assert!(matches!(ask(&close).1[..], [Got::Other, Got::Other]), "the CLOSE and the LOCK");

    let notify = ChangeNotifyRequest { file_id: folder, ..ChangeNotifyRequest::default() };
    let (id, results) = ask(&Operation::ChangeNotify(notify));
    assert!(results.is_empty(), "it waits");
    client.cancel(NOW, id).expect("it is under way");
    let [Got::Failure(failure)] = &run(&mut client, &mut server)[..] else { panic!("no failure") };
    assert!(failure.contains("STATUS_CANCELLED"), "{failure}");
}

#[test]
fn nothing_comes_after_the_end() {
    let mut server = server();
    assert!(server.closed().is_none());
    server.received(TODAY, &mut [0xEE; 70]);
    assert!(server.poll(TODAY).is_none());
    assert!(server.closed().is_some(), "no header");
    server.connection().closed();
    assert!(server.poll(TODAY).is_none());
}
