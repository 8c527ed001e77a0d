//! A session on connections that come and go, in any order of requests, operations and losses: each request has one answer, or none if its
//! connection is lost; each byte is what was written last; no nonce comes twice.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use smbd_smb2::wire::{
    Cipher, Dialect, FileId, Flags, Header, MessageId, NtStatus, ReadRequest, ReadResponse, SigningAlgorithm,
    WriteRequest, transform,
};

use crate::bound::several;
use crate::rig::{Protect, Rig, TCP};

/// Bytes of the file, each of which is written for itself.
const LEN: usize = 16;
/// STATUS_FILE_NOT_AVAILABLE.
const NOT_AVAILABLE: NtStatus = NtStatus(0xC000_0467);

/// What the client wants done: a byte.
#[derive(Clone, Copy, Debug)]
struct Job {
    at: usize,
    value: u8,
    /// Its connection was lost, so it is asked for again.
    is_replay: bool,
}

struct World {
    /// All connections that there were, and whether each is left.
    rigs: Vec<(Rig, bool)>,
    file_id: FileId,
    protect: Protect,
    /// Session.ChannelSequence of the client.
    sequence: u16,
    /// What is under way, by connection and MessageId.
    asked: BTreeMap<(usize, MessageId), Job>,
    /// What is to be asked for again.
    lost: Vec<Job>,
    content: [u8; LEN],
}

impl World {
    fn new(protect: Protect, signing: SigningAlgorithm) -> Self {
        let mut first = Rig::new(several(), TCP);
        first.signings = vec![signing];
        first.negotiate(&[Dialect::SMB_3_1_1], &[Cipher::AES_128_GCM]);
        first.give_echoes(20);
        first.log_in("tester", "correct horse");
        if signing == SigningAlgorithm::AES_GMAC {
            first.keys.as_mut().unwrap().signer.leave(MessageId(20));
        }
        first.connect("data");
        let file_id = first.file("a");
        let (rigs, asked, lost) = (vec![(first, true)], BTreeMap::new(), Vec::new());
        let mut world = Self { rigs, file_id, protect, sequence: 0, asked, lost, content: [0; LEN] };
        world.write_all();
        world.prepare(0);
        world
    }

    /// The file has its length.
    fn write_all(&mut self) {
        let (rig, _) = &mut self.rigs[0];
        let header = rig.header::<WriteRequest<'_>>(0);
        let request = WriteRequest { file_id: self.file_id, data: &[0; LEN], ..WriteRequest::default() };
        assert_eq!(rig.ask(&header, &request).status(), NtStatus::SUCCESS);
    }

    fn prepare(&mut self, which: usize) {
        let (rig, _) = &mut self.rigs[which];
        rig.protect = self.protect;
        rig.holds = true;
    }

    fn left(&self) -> Vec<usize> {
        (0..self.rigs.len()).filter(|which| self.rigs[*which].1).collect()
    }

    fn ask(&mut self, choice: usize, job: Job) {
        let left = self.left();
        let which = left[choice % left.len()];
        let (rig, _) = &mut self.rigs[which];
        let header = rig.header::<WriteRequest<'_>>(0);
        let flags = header.flags.with(Flags::REPLAY_OPERATION, job.is_replay);
        let header = Header { status: NtStatus(self.sequence.into()), flags, ..header };
        let (data, offset) = ([job.value], job.at as u64);
        let request = WriteRequest { file_id: self.file_id, offset, data: &data, ..WriteRequest::default() };
        let mut message = Vec::new();
        smbd_smb2::wire::write_element(&mut message, &header, &request).unwrap();
        rig.send(message);
        self.asked.insert((which, header.message_id), job);
        self.listen();
    }

    /// A byte is written that nobody is writing.
    fn write(&mut self, choice: usize, at: usize, value: u8) {
        let is_busy = |job: &Job| job.at == at;
        if self.asked.values().any(is_busy) || self.lost.iter().any(is_busy) {
            return;
        }
        self.content[at] = value;
        self.ask(choice, Job { at, value, is_replay: false });
    }

    /// An operation is carried out, of whichever connection asked for it.
    fn release(&mut self, choice: usize) {
        let held: Vec<usize> = (0..self.rigs.len()).filter(|at| !self.rigs[*at].0.held.is_empty()).collect();
        let Some(which) = held.get(choice % held.len().max(1)) else { return };
        let (rig, _) = &mut self.rigs[*which];
        let last = rig.held.len() - 1;
        rig.held.swap(0, choice % (last + 1));
        rig.release();
        self.listen();
    }

    /// A connection is lost; there is another. What it was asked for is asked for again some time.
    fn lose(&mut self, choice: usize) {
        let left = self.left();
        if left.len() < 2 {
            return;
        }
        let which = left[choice % left.len()];
        self.rigs[which].0.connection.closed();
        self.rigs[which].1 = false;
        self.sequence += 1;
        let own: Vec<_> = self.asked.keys().filter(|(on, _)| *on == which).copied().collect();
        for key in own {
            let job = self.asked.remove(&key).unwrap();
            self.lost.push(Job { is_replay: true, ..job });
        }
        self.listen();
    }

    fn replay(&mut self, choice: usize) {
        if self.lost.is_empty() {
            return;
        }
        let job = self.lost.remove(choice % self.lost.len());
        self.ask(choice, job);
    }

    fn bind(&mut self) {
        // A client gives its session away fifteen times at most, since each channel has a number of its own.
        if self.left().len() >= 3 || self.rigs.len() > 9 {
            return;
        }
        let mut rig = self.rigs[0].0.another(TCP);
        rig.signings.clone_from(&self.rigs[0].0.signings);
        rig.negotiate(&[Dialect::SMB_3_1_1], &[Cipher::AES_128_GCM]);
        let is_gmac = rig.signings == [SigningAlgorithm::AES_GMAC];
        let (first, _) = &mut self.rigs[0];
        let status = if is_gmac { rig.bind_with_nonces(first) } else { rig.bind(first) };
        assert_eq!(status, NtStatus::SUCCESS);
        self.rigs.push((rig, true));
        self.prepare(self.rigs.len() - 1);
    }

    /// Takes all answers.
    fn listen(&mut self) {
        for which in 0..self.rigs.len() {
            let (rig, is_left) = &mut self.rigs[which];
            let sent = rig.sent.len();
            rig.drive();
            if !*is_left {
                // What was said before the end may still be there.
                assert!(rig.closed.is_some() || rig.sent.len() == sent);
                rig.skip();
                continue;
            }
            assert_eq!(rig.closed, None);
            for answer in rig.answers() {
                let key = (which, answer.header.message_id);
                let job = self.asked.remove(&key).expect("an answer to each request, and one");
                match answer.status() {
                    NtStatus::SUCCESS => {}
                    NOT_AVAILABLE if job.is_replay => self.lost.push(job),
                    // It was sent before the loss of another connection was known here: never, since the client tells all.
                    status => panic!("{job:?}: {status}"),
                }
            }
        }
    }

    /// All is done.
    fn finish(&mut self) {
        for choice in 0..10_000 {
            if self.asked.is_empty() && self.lost.is_empty() {
                break;
            }
            self.release(choice);
            self.replay(choice);
        }
        assert!(self.asked.is_empty() && self.lost.is_empty(), "it ends");
        while self.rigs.iter().any(|(rig, _)| !rig.held.is_empty()) {
            self.release(0);
        }
        let which = self.left()[0];
        let (rig, _) = &mut self.rigs[which];
        rig.holds = false;
        let header = rig.header::<ReadRequest<'_>>(0);
        let request = ReadRequest { file_id: self.file_id, length: LEN as u32, ..ReadRequest::default() };
        let answer = rig.ask(&header, &request);
        assert_eq!(ReadResponse::parse(&answer.bytes).unwrap().data, self.content);
        self.nonces();
    }

    /// No two messages have one nonce, whatever their connections.
    fn nonces(&self) {
        let messages = self.rigs.iter().flat_map(|(rig, _)| rig.sent.iter().map(|(message, _)| message));
        let sealed = messages.filter(|message| message.starts_with(&transform::PROTOCOL_ID));
        let nonces: Vec<_> = sealed.map(|message| transform::field::NONCE.get(message).unwrap()).collect();
        let different: BTreeSet<_> = nonces.iter().collect();
        assert_eq!(different.len(), nonces.len());
    }
}

fn step() -> impl Strategy<Value = (u8, usize, usize, u8)> {
    (0..12_u8, 0..64_usize, 0..LEN, any::<u8>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn each_request_has_one_answer_and_each_byte_its_last_value_whichever_connections_are_lost(
        steps in prop::collection::vec(step(), 0..80),
        how in 0..4,
    ) {
        let (protect, signing) = match how {
            0 => (Protect::Nothing, SigningAlgorithm::AES_CMAC),
            1 => (Protect::Sign, SigningAlgorithm::AES_CMAC),
            2 => (Protect::Sign, SigningAlgorithm::AES_GMAC),
            _ => (Protect::Seal, SigningAlgorithm::AES_CMAC),
        };
        let mut world = World::new(protect, signing);
        world.bind();
        for (kind, choice, at, value) in steps {
            match kind {
                0..=4 => world.write(choice, at, value),
                5..=7 => world.release(choice),
                8 => world.lose(choice),
                9 => world.bind(),
                _ => world.replay(choice),
            }
        }
        world.finish();
    }
}
