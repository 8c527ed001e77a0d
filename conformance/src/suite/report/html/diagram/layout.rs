//! The position of each row of a diagram.

use super::rows::{Look, Row};

/// Width of the picture, and the unit of all that follows: a pixel at the size it is made for.
pub(super) const WIDTH: u32 = 800;
/// The script's lifeline.
pub(super) const SCRIPT: u32 = 96;
/// The subject's.
pub(super) const SUBJECT: u32 = 704;
/// Height of the names above the lifelines.
pub(super) const NAMES: u32 = 38;

/// From one line of text to the next.
const LINE: u32 = 14;
/// From the top of a row to the first baseline.
const FIRST: u32 = 14;
/// From the text above an arrow to the arrow.
const ABOVE: u32 = 6;
/// Below the last baseline.
const BELOW: u32 = 9;
/// Around a band.
const MARGIN: u32 = 4;

/// The place of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) top: u32,
    /// The first that is no longer part of it.
    pub(super) bottom: u32,
    /// Baselines of its lines.
    pub(super) baselines: Vec<u32>,
    /// Of an arrow, or of a note's dot.
    pub(super) line: u32,
}

/// Places of all rows, one below the other, and the height of the picture.
pub(super) fn places(rows: &[Row]) -> (Vec<Place>, u32) {
    let mut top = NAMES + MARGIN;
    let mut places = Vec::with_capacity(rows.len());
    for row in rows {
        let place = place(row, top);
        top = place.bottom;
        places.push(place);
    }
    (places, top + MARGIN)
}

fn place(row: &Row, top: u32) -> Place {
    let lines = u32::try_from(row.lines.len()).unwrap_or(u32::MAX).max(1);
    let (first, behind) = match row.look {
        Look::Arrow(..) => (top + FIRST, ABOVE),
        Look::Note(..) => (top + FIRST, 0),
        Look::Band(_) => (top + FIRST + MARGIN, 0),
    };
    let baselines: Vec<_> = (0..lines).map(|at| first + at * LINE + behind * at.min(1)).collect();
    let last = baselines.last().copied().unwrap_or(first);
    let bottom = match row.look {
        // Below an arrow alone there is room for its head.
        Look::Arrow(..) => last.max(first + ABOVE) + BELOW,
        Look::Note(..) => last + BELOW,
        Look::Band(_) => last + BELOW + MARGIN,
    };
    let line = if matches!(row.look, Look::Arrow(..)) { first + ABOVE } else { first - MARGIN };
    Place { top, bottom, baselines, line }
}
