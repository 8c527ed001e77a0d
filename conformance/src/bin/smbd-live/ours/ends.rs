//! What the other side is told when one closes.

use smbd_core::{Config, Params};

use super::pair::{Pair, closed};
use crate::case::{Context, Outcome};

/// Each side closes once, when all is quiet and right behind a message.
pub(super) fn in_order(context: &Context) -> Outcome {
    let config = Config::try_from(Params::example())?;
    let mut told = Vec::new();
    for busy in [false, true] {
        for acceptor_closes in [false, true] {
            let mut pair = Pair::new(context, &config)?;
            pair.check()?;
            let Pair { initiator, acceptor } = pair;
            let (mut closer, other) =
                if acceptor_closes { (acceptor, initiator) } else { (initiator, acceptor) };
            if busy {
                closer.send(vec![7; 100].into())?;
            }
            told.push(closed(closer, other)?);
        }
    }
    told.dedup();
    let words: Vec<_> = told.iter().map(|reason| format!("'{reason}'")).collect();
    Ok(words.join(", "))
}
