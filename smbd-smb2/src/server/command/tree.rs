//! TREE_CONNECT, TREE_DISCONNECT (3.3.5.7, 3.3.5.8).

use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::server::answer::success;
use crate::server::chain::Asked;
use crate::server::inner::Inner;
use crate::server::pending::Outcome;
use crate::server::reason::Reason;
use crate::server::session::{Open, Tree};
use crate::wire::{
    AccessMask, Dialect, NtStatus, ShareFlags, ShareType, Text, TreeConnectRequest, TreeConnectResponse,
    TreeDisconnectResponse,
};

type Opens = BTreeMap<u64, Open>;

/// What may be done with IPC$.
const PIPES_ACCESS: AccessMask = AccessMask(0x001F_01FF);

/// 3.3.5.7.
pub(in crate::server) fn connect(
    inner: &mut Inner,
    asked: &Asked,
    request: &TreeConnectRequest<'_>,
) -> Result<Outcome, NtStatus> {
    let (dialect, trees_max) = (inner.dialect(), inner.params().trees_max);
    let session = inner.session(asked)?;
    if dialect == Dialect::SMB_3_1_1 && !session.is_nobody() && !asked.is_signed && !asked.is_encrypted {
        return Ok(Outcome::Close(Reason::UnprotectedTreeConnect));
    }
    if session.trees.len() >= trees_max {
        return Err(NtStatus::INSUFFICIENT_RESOURCES);
    }
    let name = share_name(request.path)?;
    let (tree, response) = if name.eq_ignore_ascii_case("IPC$") {
        let response = TreeConnectResponse {
            share_type: ShareType::PIPE,
            maximal_access: PIPES_ACCESS,
            ..TreeConnectResponse::default()
        };
        (Tree::Pipes, response)
    } else {
        files(inner, asked, &name)?
    };
    let tree_id = inner.new_tree_id();
    inner.session(asked)?.trees.insert(tree_id.0, tree);
    Ok(success(&mut inner.chunks, &Asked { tree_id, ..*asked }, &response))
}

fn files(inner: &mut Inner, asked: &Asked, name: &str) -> Result<(Tree, TreeConnectResponse), NtStatus> {
    let server = alloc::sync::Arc::clone(&inner.server);
    let index = server.share(name).ok_or(NtStatus::BAD_NETWORK_NAME)?;
    let share = server.params().shares.get(index).ok_or(NtStatus::BAD_NETWORK_NAME)?;
    let session = inner.session(asked)?;
    let can_encrypt = session.channels.encryption().is_some();
    if !share.lets_in(&session.identity) || (share.is_encrypted && !can_encrypt) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let maximal_access = share.maximal_access();
    let tree = Tree::Files { share: index, maximal_access, is_encrypted: share.is_encrypted };
    let response = TreeConnectResponse {
        share_type: ShareType::DISK,
        share_flags: ShareFlags::NONE.with(ShareFlags::ENCRYPT_DATA, share.is_encrypted),
        maximal_access,
        ..TreeConnectResponse::default()
    };
    Ok((tree, response))
}

/// The share of `\\server\share` (2.2.9). Any name of the server is taken for its own.
fn share_name(path: Text<'_>) -> Result<String, NtStatus> {
    let path: Result<String, _> = char::decode_utf16(path.units()).collect();
    let path = path.map_err(|_| NtStatus::INVALID_PARAMETER)?;
    let name = path.strip_prefix("\\\\").and_then(|rest| rest.split_once('\\')).map(|(_, name)| name);
    let name = name.ok_or(NtStatus::INVALID_PARAMETER)?;
    if name.is_empty() || name.contains('\\') {
        return Err(NtStatus::BAD_NETWORK_NAME);
    }
    Ok(name.into())
}

/// 3.3.5.8.
pub(in crate::server) fn disconnect(inner: &mut Inner, asked: &Asked) -> Result<Outcome, NtStatus> {
    inner.tree(asked)?;
    let session = inner.session(asked)?;
    session.trees.remove(&asked.tree_id.0);
    let all = core::mem::take(&mut session.opens).into_iter();
    let (gone, left): (Opens, Opens) = all.partition(|(_, open)| open.tree == asked.tree_id);
    session.opens = left;
    inner.close_all(gone.values());
    Ok(success(&mut inner.chunks, asked, &TreeDisconnectResponse::default()))
}
