//! Processes that connect, and are killed.

use super::siege::Siege;
use crate::case::{Context, Outcome};
use crate::ours::victim::{Part, Victim};

pub(super) fn few(context: &Context) -> Outcome {
    killed(context, "killed", 4)
}

pub(super) fn dozens(context: &Context) -> Outcome {
    killed(context, "killed-dozens", 50)
}

/// One half is killed in the middle of transfers, the other as soon as it was started, wherever it is then.
fn killed(context: &Context, name: &'static str, count: usize) -> Outcome {
    let siege = Siege::begin(context, name)?;
    let mark = siege.echo.mark();
    for number in 0..count {
        let victim = if number % 2 == 0 {
            Victim::start(Part::Client, siege.echo.at)?
        } else {
            Victim::begin(Part::Client, siege.echo.at)?
        };
        victim.kill()?;
    }
    siege.honest.goes_on(1)?;
    siege.echo.said(mark, &[&siege.attacker, "was ended by the client"])?;
    let admitted = siege.admits_another()?;
    let ends = siege.echo.count(mark, &[&siege.attacker, "; "]);
    siege.end(format!("{count} killed, {ends} ends in the log; {admitted}"))
}
