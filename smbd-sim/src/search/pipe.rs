//! The packets under way to one side.

use super::wire::{Cut, Out, Word};

/// Packets in order; answers to RDMA Reads and words of connection management beside them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pipe {
    /// By the numbers of the search.
    pub(super) packets: Vec<u16>,
    pub(super) answers: u8,
    pub(super) words: Vec<Word>,
    pub(super) cut: Cut,
    pub(super) listens: Listens,
}

/// What still has an effect on the side that it leads to. What has none is not kept: states that differ in nothing else
/// are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Listens {
    #[default]
    All,
    /// Its device is down.
    Words,
    Nothing,
}

impl Pipe {
    /// Takes what leaves the other side, packets by their numbers.
    pub(super) fn push(&mut self, out: &Out, packet: Option<u16>) {
        if self.cut != Cut::Whole {
            return;
        }
        match (out, self.listens) {
            (_, Listens::Nothing) => {}
            (Out::Word(word), _) => self.words.push(*word),
            (Out::Packet(_), Listens::All) => self.packets.extend(packet),
            (Out::Answer, Listens::All) => self.answers += 1,
            (Out::Packet(_) | Out::Answer, Listens::Words) => {}
        }
    }

    /// The connection is lost.
    pub(super) fn cut(&mut self, cut: Cut) {
        if self.listens == Listens::Nothing {
            return;
        }
        self.cut = cut;
        if cut == Cut::Silent {
            self.packets.clear();
            self.answers = 0;
            self.words.clear();
        }
    }

    /// The side it leads to listens to less.
    pub(super) fn mute(&mut self, listens: Listens) {
        self.listens = self.listens.max(listens);
        if self.listens >= Listens::Words {
            self.packets.clear();
            self.answers = 0;
        }
        if self.listens == Listens::Nothing {
            self.words.clear();
            self.cut = Cut::Whole;
        }
    }

    /// Whether the end of the connection can be noticed: behind all that was sent before, unless it was lost.
    pub(super) fn ends(&self) -> bool {
        let last = self.packets.is_empty() && self.answers == 0;
        self.cut == Cut::Told || (last && self.words.first() == Some(&Word::Gone))
    }
}
