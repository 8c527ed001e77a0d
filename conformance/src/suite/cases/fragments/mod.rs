//! Fragments of messages.

mod bounds;
mod cutting;
mod layout;
mod offsets;
mod sequences;
mod together;
mod tolerated;

use smbd_core::Params;

use super::Entry;
use crate::suite::{Data, Peer, Play, Stop};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("fragments::a_message_is_cut_exactly", cutting::exactly),
    Entry::new("fragments::nothing_comes_between_fragments", cutting::nothing_between),
    Entry::new("fragments::fragments_must_continue_exactly", sequences::continue_exactly),
    Entry::new("fragments::a_sequence_cannot_grow", sequences::cannot_grow),
    Entry::new("fragments::empty_messages_between_fragments_are_taken", tolerated::empties_between)
        .with(tolerant),
    Entry::new("fragments::fragments_of_no_bytes_are_fragments", sequences::of_no_bytes),
    Entry::new("fragments::the_next_message_starts_from_nothing", sequences::starts_from_nothing),
    Entry::new("fragments::an_unfinished_sequence_is_left_alone", sequences::left_alone)
        .with(sequences::idle_5_s),
    Entry::new("fragments::data_may_begin_at_any_multiple_of_8", offsets::any_multiple_of_8),
    Entry::new("fragments::data_inside_the_header_end_the_connection", offsets::inside_the_header),
    Entry::new("fragments::an_offset_without_data_is_taken", tolerated::offset_without_data).with(tolerant),
    Entry::new("fragments::an_empty_message_has_an_aligned_offset_inside_it", offsets::of_empty_messages),
    Entry::new("fragments::unknown_flags_are_ignored", tolerated::unknown_flags),
    Entry::new("fragments::what_has_no_meaning_is_ignored", tolerated::no_meaning).with(tolerant),
    Entry::new("fragments::strict_settings_refuse_what_is_tolerated", tolerated::refused_if_strict)
        .with(strict),
    Entry::new("fragments::nothing_reserved_is_used", layout::nothing_reserved),
    Entry::new("fragments::a_message_is_as_long_as_max_receive_size_at_most", bounds::max_receive_size),
    Entry::new("fragments::a_short_message_ends_the_connection", bounds::short),
    Entry::new("fragments::sums_do_not_wrap", bounds::sums),
    Entry::new("fragments::nothing_of_a_bad_message_takes_effect", bounds::no_effect),
    Entry::new("fragments::a_message_may_have_max_fragmented_size", bounds::max_fragmented_size),
    Entry::new("fragments::many_small_fragments_need_few_receives", together::many_small),
    Entry::new("fragments::an_empty_message_is_nothing_to_the_upper_layer", together::empties_are_nothing),
    Entry::new("fragments::both_sides_send_at_once", together::at_once),
];

fn tolerant(params: &mut Params) {
    params.strict = false;
}

fn strict(params: &mut Params) {
    params.strict = true;
}

/// A usual connection on which nothing is under way.
fn settled(play: &mut Play) -> Result<Peer<'_>, Stop> {
    let mut peer = play.established()?;
    peer.settle();
    Ok(peer)
}

/// A message that breaks one of the five rules of 3.1.5.8 ends the connection, and has no effect.
const BAD: &str = "3.1.5.8-07";

/// A new connection on which the last of these messages is bad: it has to end, and nothing may come. Where it goes on, `rule` is
/// broken, and otherwise `ending`, which says that it ends; they are the same where nothing says so.
fn ends_after(play: &mut Play, (rule, ending): (&str, &str), all: &[Data]) -> Result<(), Stop> {
    let mut peer = settled(play)?;
    let Some((bad, good)) = all.split_last() else { return Ok(()) };
    for data in good {
        peer.send(data)?;
    }
    // What the good ones set in motion is over.
    peer.settle();
    peer.send(bad)?;
    if rule == ending {
        peer.ends(rule);
        return Ok(());
    }
    peer.ends_by(rule, ending).map(|_| ())
}
