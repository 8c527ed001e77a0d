//! Data that look like some that are copied, from a seed.

const SIZE: usize = 256 << 10;

/// A linear congruence.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn cut(mut data: Vec<u8>) -> Vec<u8> {
    data.truncate(SIZE);
    data
}

/// Lines with a time, a name, and numbers.
pub fn log() -> Vec<u8> {
    let mut chance = Chance(1);
    let mut text = String::new();
    let mut time = 0;
    while text.len() < SIZE {
        time += chance.below(900);
        let name = ["READ", "WRITE", "CREATE", "CLOSE", "QUERY_INFO"][chance.below(5) as usize];
        let (client, file, size) = (chance.below(40), chance.below(400), chance.below(1 << 20));
        text += &format!(
            "2026-11-30T{:02}:{:02}:{:02}Z INFO serve: client 10.0.0.{client} {name} file={file} length={size} status=SUCCESS\n",
            time / 3_600_000 % 24,
            time / 60_000 % 60,
            time / 1000 % 60,
        );
    }
    cut(text.into_bytes())
}

/// Instructions of few kinds with operands of many, and tables.
pub fn program() -> Vec<u8> {
    let mut chance = Chance(2);
    let mut data = Vec::new();
    while data.len() < SIZE {
        match chance.below(8) {
            0..3 => data.extend([0x48, 0x8b, 0x40 | chance.below(64) as u8, chance.below(32) as u8 * 8]),
            3 | 4 => data.extend([0xe8, chance.below(256) as u8, chance.below(256) as u8, 0xfe, 0xff]),
            5 => data.extend([0x0f, 0x84, chance.below(256) as u8, 0, 0, 0]),
            6 => data.extend([0x89, 0xc0 | chance.below(64) as u8]),
            _ => data.extend([chance.below(256) as u8, chance.below(4) as u8, 0, 0, 0, 0, 0, 0]),
        }
    }
    cut(data)
}

/// A message of any bytes.
pub fn noise() -> Vec<u8> {
    let mut chance = Chance(3);
    let bytes = std::iter::repeat_with(|| chance.below(256) as u8);
    b"\xfeSMB".iter().copied().chain(bytes).take(SIZE).collect()
}

/// A message with data between zeros.
pub fn image() -> Vec<u8> {
    let mut data = vec![0; SIZE];
    data[..4].copy_from_slice(b"\xfeSMB");
    data[SIZE / 2..][..4096].copy_from_slice(&log()[..4096]);
    data
}
