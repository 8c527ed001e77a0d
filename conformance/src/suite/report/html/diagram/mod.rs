//! A play as a sequence diagram: two lifelines, and the messages between them.
//!
//! Recorded events are [folded](fold), written as [rows], [laid out](layout), and [drawn](draw).

mod draw;
mod fold;
mod layout;
mod rows;
#[cfg(test)]
mod tests;

use maud::Markup;

use crate::suite::outcome::Played;

/// The diagram. `numbers` are those of the play's findings on this page, in its order.
pub(super) fn diagram(played: &Played, numbers: &[usize]) -> Markup {
    let rows = rows::rows(&fold::items(played), played, numbers);
    draw::draw(played, &rows)
}
