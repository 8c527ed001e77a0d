//! What is counted, held against what is recorded.

use super::record::Record;

/// A number may rise by this factor before it counts as worse.
const TOLERANCE: f64 = 1.02;
/// The file holds one decimal.
const ROUNDED: f64 = 0.05;

/// Every number that is worse than in `committed`, or not in it; and what is in it and not there, or there with other words.
pub(super) fn complaints(measured: &Record, committed: &Record) -> Vec<String> {
    let worse = measured.numbers().filter_map(|(name, now, unit)| match committed.number(name) {
        None => Some(format!("{name}: no number is recorded")),
        Some(before) if now > before * TOLERANCE + ROUNDED => {
            let more = 100.0 * (now / before - 1.0);
            Some(format!(
                "{name}: {now:.1} {unit}, recorded are {before:.1}: {more:.1} % more, 2 % are allowed"
            ))
        }
        Some(_) => None,
    });
    let gone = committed.numbers().filter(|(name, ..)| measured.number(name).is_none());
    let gone = gone.map(|(name, ..)| format!("{name}: a number is recorded, and there is no such operation"));
    let said = |record: &Record, name: &String| {
        let what = record.what.iter().find(|(known, _)| known == name).map(|(_, what)| what.clone());
        (what, record.goal.get(name).copied(), record.beside.get(name).cloned())
    };
    let is_other =
        |name: &&String| committed.number(name).is_some() && said(measured, name) != said(committed, name);
    let other = measured.numbers().map(|(name, ..)| name).filter(is_other);
    let other =
        other.map(|name| format!("{name}: it is described, or has a goal, otherwise than is recorded"));
    worse.chain(gone).chain(other).collect()
}

/// Every number that is so much better that it could rise unseen.
pub(super) fn better(measured: &Record, committed: &Record) -> Vec<String> {
    let better = measured.numbers().filter_map(|(name, now, unit)| {
        let before = committed.number(name)?;
        (now * TOLERANCE + ROUNDED < before).then(|| {
            format!(
                "{name}: {now:.1} {unit}, recorded are {before:.1}: it may rise again until that is recorded"
            )
        })
    });
    better.collect()
}

/// Why the numbers may differ although the code does not.
pub(super) fn difference(measured: &Record, committed: &Record) -> Option<String> {
    let (own, theirs) = ((&measured.rustc, &measured.target), (&committed.rustc, &committed.target));
    (own != theirs).then(|| {
        format!("the recorded numbers are of rustc {} on {}, not {} on {}", theirs.0, theirs.1, own.0, own.1)
    })
}

#[cfg(test)]
mod tests {
    use super::{Record, better, complaints, difference};

    fn record(numbers: &[(&str, f64)]) -> Record {
        Record {
            rustc: "1.95.0".to_owned(),
            target: "anywhere".to_owned(),
            instructions: numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect(),
            what: numbers.iter().map(|(name, _)| ((*name).to_owned(), format!("what {name} is"))).collect(),
            ..Record::default()
        }
    }

    #[test]
    fn a_number_that_rises_by_more_than_2_percent_is_a_complaint_and_2_percent_are_none() {
        let committed = record(&[("one", 1000.0), ("other", 16.0)]);
        for (one, other, complained) in [
            (1000.0, 16.0, 0),
            (1020.0, 16.3, 0),
            (1021.0, 16.0, 1),
            (1000.0, 17.0, 1),
            (2000.0, 17.0, 2),
            (1.0, 1.0, 0),
        ] {
            let found = complaints(&record(&[("one", one), ("other", other)]), &committed);
            assert_eq!(found.len(), complained, "{one}, {other}: {found:?}");
        }
        let found = complaints(&record(&[("one", 1021.0), ("other", 16.0)]), &committed);
        assert_eq!(found, ["one: 1021.0 instructions, recorded are 1000.0: 2.1 % more, 2 % are allowed"]);
    }

    #[test]
    fn an_operation_without_a_record_is_a_complaint_and_so_is_a_record_without_an_operation() {
        let (one, both) = (record(&[("one", 1000.0)]), record(&[("one", 1000.0), ("other", 16.0)]));
        assert_eq!(complaints(&both, &one), ["other: no number is recorded"]);
        assert_eq!(complaints(&one, &both), ["other: a number is recorded, and there is no such operation"]);
        assert_eq!(complaints(&one, &Record::default()), ["one: no number is recorded"]);
    }

    #[test]
    fn an_operation_that_is_described_otherwise_than_its_record_is_a_complaint() {
        let committed = record(&[("one", 1000.0)]);
        let changes: [fn(&mut Record); 3] = [
            |record| record.what[0].1 = "another thing".to_owned(),
            |record| {
                record.goal.insert("one".to_owned(), 900.0);
            },
            |record| {
                record.beside.insert("one".to_owned(), "one".to_owned());
            },
        ];
        for change in changes {
            let mut measured = committed.clone();
            change(&mut measured);
            let found = complaints(&measured, &committed);
            assert_eq!(
                found,
                ["one: it is described, or has a goal, otherwise than is recorded"],
                "{measured:?}"
            );
        }
    }

    #[test]
    fn a_number_that_falls_by_more_than_2_percent_is_said() {
        let committed = record(&[("one", 1000.0)]);
        assert_eq!(better(&record(&[("one", 990.0)]), &committed), [""; 0]);
        assert_eq!(better(&record(&[("one", 970.0)]), &committed).len(), 1);
        assert_eq!(better(&record(&[("new", 970.0)]), &committed), [""; 0]);
    }

    #[test]
    fn another_compiler_is_named() {
        let committed = record(&[("one", 1000.0)]);
        assert_eq!(difference(&committed, &committed), None);
        let other = Record { rustc: "1.96.0".to_owned(), ..committed.clone() };
        let said = difference(&other, &committed).unwrap();
        assert_eq!(said, "the recorded numbers are of rustc 1.95.0 on anywhere, not 1.96.0 on anywhere");
    }
}
