//! The result as text.

use std::io::{self, Write};

use smbd_tools::load::Kind;

use crate::options::Settings;
use crate::result::Measurement;

pub(crate) fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Send => "send",
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Latency => "latency",
    }
}

/// # Errors
/// Those of `out`.
pub(crate) fn print(settings: &Settings, result: &Measurement, out: &mut impl Write) -> io::Result<()> {
    let plan = settings.plan;
    let over =
        result.device.as_ref().map_or_else(String::new, |(device, link)| format!(" over {device} ({link})"));
    writeln!(
        out,
        "{} of {} bytes to {}{over}; connections {}, depth {}",
        name(plan.kind),
        plan.size,
        settings.address,
        settings.connections,
        plan.depth
    )?;
    let Measurement { operations, elapsed, counters, .. } = result;
    writeln!(out, "  operations   {operations} in {:.3} s", elapsed.as_secs_f64())?;
    writeln!(
        out,
        "  throughput   {:.1} MB/s, {:.0} operations/s",
        result.megabytes_per_second(),
        result.per_second()
    )?;
    let at = |share| result.micros_at(share);
    writeln!(
        out,
        "  time (us)    {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "min", "50 %", "90 %", "99 %", "99.9 %", "max"
    )?;
    let (least, greatest) = (result.times.min() as f64 / 1e3, result.times.max() as f64 / 1e3);
    writeln!(
        out,
        "               {least:>10.1} {:>10.1} {:>10.1} {:>10.1} {:>10.1} {greatest:>10.1}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999)
    )?;
    let each = |count| result.per_operation(count);
    writeln!(out, "  for each operation:")?;
    writeln!(
        out,
        "    work requests sent   {:>8.3} in {:.3} calls",
        each(counters.sends),
        each(counters.send_posts)
    )?;
    writeln!(
        out,
        "    receives posted      {:>8.3} in {:.3} calls",
        each(counters.recvs),
        each(counters.recv_posts)
    )?;
    writeln!(
        out,
        "    completions          {:>8.3} of sends, {:.3} of receives",
        each(counters.completions_send),
        each(counters.completions_recv)
    )
}
