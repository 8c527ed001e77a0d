//! Properties of diagrams: nothing is lost when folding, nothing overlaps.

use proptest::prelude::*;
use smbd_core::Instant;

use super::fold::{Item, items};
use super::layout::{NAMES, places};
use super::rows::{Look, rows};
use crate::suite::outcome::{Finding, Outcome, Played};
use crate::suite::trace::{By, Kind, Packet, What};

fn empty() -> Played {
    Played { outcome: Outcome::Failed, ..Played::new("a case", "acceptor", "a variant") }
}

fn finding(text: &str, at: u64) -> Finding {
    Finding {
        statements: Vec::new(),
        text: text.into(),
        at,
        connection: None,
        sent: None,
        came: None,
        known: None,
    }
}

fn push(played: &mut Played, at: u64, connection: usize, by: By, what: What) {
    played.trace.push(Instant::from_nanos(at), connection, by, what);
}

fn data(remaining: u32) -> What {
    let mut bytes = [0; 24];
    bytes[0] = 10;
    bytes[8..12].copy_from_slice(&remaining.to_le_bytes());
    bytes[12] = 24;
    bytes[16..20].copy_from_slice(&1000_u32.to_le_bytes());
    What::Message(Packet::of(Kind::DataTransfer, &bytes, None))
}

fn what() -> impl Strategy<Value = What> {
    let text = "[ -~]{0,300}";
    let message = (any::<bool>(), prop::collection::vec(any::<u8>(), 0..120)).prop_map(|(data, bytes)| {
        let kind = if data { Kind::DataTransfer } else { Kind::NegotiateResponse };
        What::Message(Packet::of(kind, &bytes, data.then_some(7)))
    });
    prop_oneof![
        4 => message,
        2 => any::<u32>().prop_map(data),
        2 => (any::<u32>(), any::<u32>()).prop_map(|(count, len)| What::Receives { count, len }),
        1 => text.prop_map(|text| What::Rdma { text }),
        1 => text.prop_map(|text| What::Upper { text }),
        1 => text.prop_map(|text| What::Step { text }),
        1 => text.prop_map(|reason| What::ConnectFailed { reason }),
        1 => Just(What::Connected),
        1 => Just(What::Disconnect),
    ]
}

/// Some events again and again, with findings here and there; some findings are not in the recording.
fn play() -> impl Strategy<Value = Played> {
    let event = (any::<bool>(), 0..3_usize, what());
    let part = (prop::collection::vec(event, 0..6), 1..200_usize, "[ -~]{0,200}", any::<bool>());
    prop::collection::vec(part, 0..8).prop_map(|parts| {
        let mut played = empty();
        let mut at = 0;
        for (events, times, text, marked) in parts {
            for (by, connection, what) in std::iter::repeat_n(&events, times).flatten() {
                at += 1500;
                let by = if *by { By::Script } else { By::Subject };
                push(&mut played, at, *connection, by, what.clone());
            }
            let index = played.findings.len();
            played.findings.push(finding(&text, at));
            if marked {
                push(&mut played, at, 0, By::Script, What::Finding { index });
            }
        }
        played
    })
}

proptest! {
    // A play has up to a few thousand events.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_event_is_shown_or_counted(played in play()) {
        let shown = items(&played);
        let count = |item: &Item<'_>| if let Item::More(more) = item { more.events() } else { 1 };
        let recorded = played.trace.events().count() as u64 + played.trace.left_out();
        let marks = played.trace.events().filter(|event| matches!(event.what, What::Finding { .. })).count();
        let unmarked = (played.findings.len() - marks) as u64;
        prop_assert_eq!(shown.iter().map(count).sum::<u64>(), recorded + unmarked);
        prop_assert!(shown.len() < 300, "{}", shown.len());
        // There are fewer than are shown in any case.
        for index in 0..played.findings.len() {
            prop_assert!(shown.contains(&Item::Finding(index)), "finding {} of {}", index, played.findings.len());
        }
    }

    #[test]
    fn rows_lie_below_each_other_and_texts_within_them(played in play()) {
        let numbers: Vec<_> = (1..=played.findings.len()).collect();
        let rows = rows(&items(&played), &played, &numbers);
        let (places, height) = places(&rows);
        prop_assert_eq!(places.len(), rows.len());
        let mut above = NAMES;
        for (row, place) in rows.iter().zip(&places) {
            prop_assert!(place.top >= above && place.bottom > place.top, "{:?} below {}", place, above);
            above = place.bottom;
            prop_assert_eq!(place.baselines.len(), row.lines.len());
            // 11 units of text are above its baseline, 4 below.
            let mut below = place.top;
            for baseline in &place.baselines {
                prop_assert!(baseline - 11 >= below && baseline + 4 <= place.bottom, "{:?}", place);
                below = *baseline;
            }
            if let Look::Arrow(..) = row.look {
                let crossed = |baseline: &u32| *baseline > place.line - 4 && baseline - 9 < place.line + 4;
                prop_assert!(!place.baselines.iter().any(crossed), "{:?}", place);
                prop_assert!(place.line > place.top + 4 && place.line + 4 < place.bottom, "{:?}", place);
            }
        }
        prop_assert!(above <= height);
    }
}

#[test]
fn many_fragments_are_three_and_a_band() {
    let mut played = empty();
    for left in (0..300).rev() {
        push(&mut played, 0, 0, By::Subject, data(1000 * left));
    }
    let said: Vec<_> =
        rows(&items(&played), &played, &[]).into_iter().map(|row| row.lines.join(" ")).collect();
    // The last one differs: nothing remains behind it.
    assert_eq!(said.len(), 5, "{said:?}");
    assert!(said[1].contains("RemainingDataLength 298000"), "{said:?}");
    assert_eq!(said[2], "296 more like these: 296 messages of the subject");
    assert!(said[3].contains("RemainingDataLength 1000") && !said[4].contains("Remaining"), "{said:?}");
}

#[test]
fn a_finding_interrupts_what_repeats_itself() {
    let mut played = empty();
    for index in 0..100 {
        push(&mut played, index, 0, By::Script, data(1));
        if index == 50 {
            played.findings.push(finding("wrong", index));
            push(&mut played, index, 0, By::Script, What::Finding { index: 0 });
        }
    }
    let rows = rows(&items(&played), &played, &[7]);
    let bands: Vec<_> = rows.iter().filter(|row| matches!(row.look, Look::Band(_))).collect();
    assert_eq!(bands.len(), 3, "{bands:?}");
    assert_eq!((bands[1].finding, bands[1].lines[0].as_str()), (Some(7), "Finding 7: wrong"));
}

#[test]
fn what_was_not_recorded_is_told() {
    let mut played = empty();
    for index in 0..900 {
        push(&mut played, index, 0, By::Script, What::Upper { text: index.to_string() });
    }
    let rows = rows(&items(&played), &played, &[]);
    let said: Vec<_> =
        rows.iter().filter(|row| row.look == Look::Band("more")).map(|row| &row.lines).collect();
    assert_eq!(said, [&["825 more: 725 other events, 100 not recorded"]]);
}

#[test]
fn steps_are_kept_where_a_long_play_is_cut() {
    let mut played = empty();
    for index in 0..400_u64 {
        let text = index.to_string();
        let what = if index % 40 == 0 { What::Step { text } } else { What::Upper { text } };
        push(&mut played, index, 0, By::Script, what);
    }
    let rows = rows(&items(&played), &played, &[]);
    let of = |look| rows.iter().filter(|row| row.look == look).count();
    assert_eq!(of(Look::Band("step")), 10);
    // Between the steps of the middle: from 45 to 80 up to from 360 to 370.
    assert_eq!(of(Look::Band("more")), 9);
}
