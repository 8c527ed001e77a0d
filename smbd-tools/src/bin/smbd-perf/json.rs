//! The result as JSON. Times are in microseconds, sizes in bytes.

use serde_json::{Value, json};

use crate::options::Settings;
use crate::result::{Measurement, Trouble};
use crate::text::name;

/// One object: with `ok` and what was measured, or with `error`.
pub(crate) fn of(settings: &Settings, measured: &Result<Measurement, Trouble>) -> Value {
    let plan = settings.plan;
    let error =
        measured.as_ref().err().map(|Trouble { what, advice }| json!({ "what": what, "advice": advice }));
    let asked = json!({
        "ok": measured.is_ok(),
        "error": error,
        "kind": name(plan.kind),
        "address": settings.address.to_string(),
        "size": plan.size,
        "depth": plan.depth,
        "connections": settings.connections,
        "verified": plan.verify && measured.is_ok(),
    });
    let (Value::Object(mut object), Ok(result)) = (asked.clone(), measured) else { return asked };
    if let Value::Object(more) = result_of(result) {
        object.extend(more);
    }
    Value::Object(object)
}

fn result_of(result: &Measurement) -> Value {
    let counters = &result.counters;
    let each = |count| result.per_operation(count);
    json!({
        "device": result.device.as_ref().map(|(device, _)| device),
        "link": result.device.as_ref().map(|(_, link)| link.to_string()),
        "seconds": result.elapsed.as_secs_f64(),
        "operations": result.operations,
        "bytes": result.bytes,
        "operations_per_second": result.per_second(),
        "megabytes_per_second": result.megabytes_per_second(),
        "micros": {
            "min": result.times.min() as f64 / 1e3,
            "mean": result.times.mean() / 1e3,
            "p50": result.micros_at(0.5),
            "p90": result.micros_at(0.9),
            "p99": result.micros_at(0.99),
            "p999": result.micros_at(0.999),
            "max": result.times.max() as f64 / 1e3,
        },
        "for_each_operation": {
            "send_requests": each(counters.sends),
            "send_posts": each(counters.send_posts),
            "receives": each(counters.recvs),
            "receive_posts": each(counters.recv_posts),
            "send_completions": each(counters.completions_send),
            "receive_completions": each(counters.completions_recv),
            "polls": each(counters.polls),
            "empty_polls": each(counters.empty_polls),
        },
    })
}
