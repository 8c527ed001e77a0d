//! Numbers for the parts of a state.

use super::{PipeView, Space};
use crate::search::pipe::{Listens, Pipe};
use crate::search::wire::{Cut, Out, Packet};

impl Space<'_> {
    pub(super) fn out(&mut self, out: Vec<Out>) -> u32 {
        if let Some(known) = self.by_out.get(&out) {
            return *known;
        }
        let next = number(self.outs.len());
        self.by_out.insert(out.clone(), next);
        self.outs.push(out);
        next
    }

    fn packet(&mut self, packet: &Packet) -> u16 {
        if let Some(known) = self.by_packet.get(packet) {
            return *known;
        }
        let next = u16::try_from(self.packets.len()).unwrap_or(u16::MAX);
        self.by_packet.insert(packet.clone(), next);
        self.packets.push(packet.clone());
        next
    }

    pub(super) fn pipe(&mut self, pipe: Pipe) -> u32 {
        if let Some(known) = self.by_pipe.get(&pipe) {
            return *known;
        }
        let next = number(self.pipes.len());
        self.by_pipe.insert(pipe.clone(), next);
        self.pipes.push(pipe);
        self.pipe_views.push(None);
        next
    }

    pub(super) fn pipe_view(&mut self, pipe: u32) -> PipeView {
        if let Some(view) = self.pipe_views[pipe as usize] {
            return view;
        }
        let whole = self.pipes[pipe as usize].clone();
        let mut view = PipeView {
            ends: whole.ends(),
            whole: whole.cut == Cut::Whole,
            listens: whole.listens,
            ..PipeView::default()
        };
        for packet in &whole.packets {
            if let Packet::Message(message) = &self.packets[usize::from(*packet)] {
                view.granted += u32::from(message.granted);
                view.spending += u32::from(message.spends);
            }
        }
        let mut rest = whole.clone();
        if let Some(first) = whole.packets.first() {
            rest.packets.remove(0);
            view.packet = Some((*first, self.pipe(rest)));
        }
        if whole.answers > 0 {
            view.answered = Some(self.pipe(Pipe { answers: whole.answers - 1, ..whole.clone() }));
        }
        if let Some(word) = whole.words.first() {
            view.word = Some((*word, self.pipe(Pipe { words: whole.words[1..].to_vec(), ..whole.clone() })));
        }
        self.pipe_views[pipe as usize] = Some(view);
        view
    }

    /// What leaves a side goes into the pipe to the other.
    pub(super) fn push(&mut self, pipe: u32, out: u32) -> u32 {
        if out == 0 {
            return pipe;
        }
        if let Some(known) = self.pushes.get(&(pipe, out)) {
            return *known;
        }
        let mut longer = self.pipes[pipe as usize].clone();
        for item in self.outs[out as usize].clone() {
            let packet = if let Out::Packet(packet) = &item { Some(self.packet(packet)) } else { None };
            longer.push(&item, packet);
        }
        let longer = self.pipe(longer);
        self.pushes.insert((pipe, out), longer);
        longer
    }

    pub(super) fn mute(&mut self, pipe: u32, listens: Listens) -> u32 {
        if listens == Listens::All || self.pipes[pipe as usize].listens >= listens {
            return pipe;
        }
        if let Some(known) = self.mutes.get(&(pipe, listens)) {
            return *known;
        }
        let mut muted = self.pipes[pipe as usize].clone();
        muted.mute(listens);
        let muted = self.pipe(muted);
        self.mutes.insert((pipe, listens), muted);
        muted
    }

    pub(super) fn cut(&mut self, pipe: u32, cut: Cut) -> u32 {
        if let Some(known) = self.cuts.get(&(pipe, cut)) {
            return *known;
        }
        let mut lost = self.pipes[pipe as usize].clone();
        lost.cut(cut);
        let lost = self.pipe(lost);
        self.cuts.insert((pipe, cut), lost);
        lost
    }
}

pub(super) fn number(len: usize) -> u32 {
    // A search is stopped long before.
    u32::try_from(len).unwrap_or(u32::MAX)
}
