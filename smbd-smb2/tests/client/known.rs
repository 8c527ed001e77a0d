//! One known connection, from NEGOTIATE to LOGOFF: every message that the client sends.

use smbd_smb2::client::*;
use smbd_smb2::wire::*;

use crate::flows::{content, read, write};
use crate::server::{FILE, Setup};
use crate::world::{World, rdma};

#[test]
fn a_connection_by_rdma_sends_these_messages() {
    let server_name = "server".to_owned();
    let setup = Setup { dialect: Dialect::SMB_3_1_1, ..Setup::default() };
    let (mut world, session, tree) =
        World::connected(setup, Params { transport: rdma(), server_name, ..Params::default() });
    world.memory.buffers.insert(BufferId(1), content(200_000));
    world.memory.buffers.insert(BufferId(2), vec![0; 200_000]);
    world.segment = 50_000;
    let name = Text::from("file");
    let create = CreateRequest { name, desired_access: AccessMask(3), ..CreateRequest::default() };
    world.act(tree, &Operation::Create(create));
    world.act(tree, &write(&content(200_000), Some(BufferId(1))));
    world.act(tree, &read(0, 200_000, Some(BufferId(2))));
    world.act(tree, &read(199_000, 4096, Some(BufferId(2))));
    world.act(tree, &Operation::Close(CloseRequest { file_id: FILE, ..CloseRequest::default() }));
    let disconnect = world.client.disconnect(world.now, tree).unwrap();
    world.wait(disconnect);
    let logoff = world.client.logoff(world.now, session).unwrap();
    world.wait(logoff);
    insta::assert_snapshot!(world.server.log.join("\n"));
    insta::assert_snapshot!("bytes", world.server.bytes.join("\n"));
}
