//! Log lines of what a broker tells.

use smbd_broker::broker::{ConnectionId, Log as News, OwnerId};
use smbd_broker::wire::Rule;
use smbd_daemon::log::{Line, Log};

/// The rule in a word.
pub(crate) const fn word(rule: Rule) -> &'static str {
    match rule {
        Rule::SessionId => "session",
        Rule::ClientGuid => "client",
        Rule::Default => "default",
    }
}

/// Writes a line about it.
pub(crate) fn tell(log: Log, news: &News) {
    line(log, news).write();
}

fn line(log: Log, news: &News) -> Line {
    let of_owner = |what, owner: OwnerId| log.line(what).number("owner", owner.0);
    let of_connection = |what, connection: ConnectionId| log.line(what).number("connection", connection.0);
    match news {
        News::OwnerJoined { owner, name } => of_owner("owner joined", *owner).with("name", name),
        News::OwnerLeft { owner, fault } => of_owner("owner left", *owner).maybe("fault", fault.as_ref()),
        News::Listens { owner, is_on: true } => of_owner("owner takes the rest", *owner),
        News::Listens { owner, is_on: false } => of_owner("owner takes the rest no more", *owner),
        News::Routed { connection, owner, rule } => {
            of_connection("connection routed", *connection).number("owner", owner.0).with("rule", word(*rule))
        }
        News::Moved { connection, from, to } => {
            of_connection("connection moved", *connection).number("from", from.0).number("to", to.0)
        }
        News::Ends { connection, reason } => {
            of_connection("connection ends", *connection).with("why", reason)
        }
        News::Ended { connection, owner, counts, why } => {
            let line = of_connection("connection ended", *connection);
            let line = match owner {
                Some(owner) => line.number("owner", owner.0),
                None => line,
            };
            line.number("bytes_in", counts.bytes_in)
                .number("bytes_out", counts.bytes_out)
                .number("rdma_in", counts.rdma_in)
                .number("rdma_out", counts.rdma_out)
                .with("why", why)
        }
    }
}
