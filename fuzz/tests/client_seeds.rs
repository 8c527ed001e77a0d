//! Seeds of the target `smb2_client`: a client that is connected to a share, in each way that messages can be protected, and a session on
//! two connections.

mod common;

/// Steps of the target, of which there are so many: their numbers.
const STEPS: u64 = 13;
const OPERATION: u64 = 0;
const CHANGE: u64 = 1;
const AGAIN: u64 = 6;
const REPLAY: u64 = 9;
const SEQUENCE: u64 = 10;
const BIND: u64 = 11;
const OTHER: u64 = 12;

const READ: u8 = 3;
const WRITE: u8 = 5;

/// Flags of the setting.
const SIGN: u8 = 1;
const ENCRYPT: u8 = 2;
const RDMA: u8 = 16;
const TRANSFORMS: u8 = 32;
const CHANNELS: u8 = 64;

struct Run(Vec<u8>);

impl Run {
    /// A client that is connected, in 3.1.1 with a cipher and a signing algorithm.
    fn new(cipher: u8, signing: u8, flags: u8) -> Self {
        let dialect = 2 + 3 * (cipher + 4 * signing);
        let mut bytes = vec![dialect, flags, 64, 3];
        bytes.extend_from_slice(&[0; 8]);
        Self(bytes)
    }

    /// A variant is the upper half of its number's product with 32 bits.
    fn step(mut self, number: u64, fields: &[u8]) -> Self {
        let word = (number << 32).div_ceil(STEPS) as u32;
        self.0.extend_from_slice(&word.to_le_bytes());
        self.0.extend_from_slice(fields);
        self
    }

    fn operation(self, kind: u8, length: u16) -> Self {
        let [low, high] = length.to_le_bytes();
        self.step(OPERATION, &[kind, low, high])
    }

    fn replay(self, kind: u8, length: u16) -> Self {
        let [low, high] = length.to_le_bytes();
        self.step(REPLAY, &[kind, low, high])
    }

    fn transfers(self) -> Self {
        self.operation(0, 0).operation(WRITE, 20_000).operation(READ, 20_000).operation(READ, 100)
    }

    /// The next answer is another one by a bit.
    fn changed(self, is_late: bool, at: u8) -> Self {
        self.step(CHANGE, &[is_late.into(), 0, at, 1])
    }
}

fn seeds() -> Vec<(String, Run)> {
    let mut seeds = Vec::new();
    let data = RDMA | TRANSFORMS;
    for cipher in 0..4 {
        let run = Run::new(cipher, 0, ENCRYPT | data).transfers();
        seeds.push((format!("sealed-{cipher}"), run.changed(true, 70).operation(READ, 50)));
    }
    for signing in 0..3 {
        let run = Run::new(1, signing, SIGN | data).transfers();
        seeds.push((format!("signed-{signing}"), run.changed(false, 80).operation(READ, 9000)));
    }
    for (name, flags) in [("plain", 0), ("signed", SIGN), ("sealed", ENCRYPT | data)] {
        let run = Run::new(1, 0, CHANNELS | flags).transfers().step(BIND, &[1, 0]);
        let run = run.step(OTHER, &[]).transfers().step(SEQUENCE, &[1, 0]).replay(WRITE, 20_000);
        let run = run.replay(6, 0).step(OTHER, &[]).transfers().step(AGAIN, &[1]);
        seeds.push((format!("bound-{name}"), run));
    }
    for says in [1, 2, 4, 8] {
        let run = Run::new(1, 1, CHANNELS | SIGN).step(BIND, &[1, says]).step(OTHER, &[]).transfers();
        seeds.push((format!("bound-badly-{says}"), run));
    }
    let wrong = Run::new(3, 0, CHANNELS | ENCRYPT).step(BIND, &[0, 0]).step(OTHER, &[]).transfers();
    seeds.push(("bound-with-a-wrong-password".into(), wrong));
    seeds
}

#[test]
fn the_seeds_are_those_of_a_client_that_is_connected() {
    common::kept(seeds().into_iter().map(|(name, Run(bytes))| (format!("smb2_client/seed-{name}"), bytes)));
}
