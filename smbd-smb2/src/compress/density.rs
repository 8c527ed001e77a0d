//! Parts of a message that no algorithm makes shorter.

/// Data are judged in steps of this size.
const STEP: usize = 4096;
/// A part is cut off from another if it has at least this number of steps: each payload costs a header, and the search begins anew.
const STEPS_MIN: usize = 4;
/// Bytes of a step that are counted: four groups of [`GROUP`].
const SAMPLE: usize = 1024;
const GROUP: usize = 256;
/// Sum of the squares of all counts of bytes. It is 5116 on average, and rarely above 5500, if all bytes are equally likely.
const SQUARES_MAX: u32 = 5900;

/// Cuts data into the first part that is alike, which may shrink or may not, and the rest.
pub(super) fn split(data: &[u8]) -> (bool, &[u8], &[u8]) {
    let mut steps = data.chunks(STEP).map(may_shrink);
    let first = steps.next().unwrap_or(true);
    let (mut same, mut others) = (1_usize, 0_usize);
    for step in steps {
        if step == first {
            same = same.wrapping_add(others).wrapping_add(1);
            others = 0;
        } else {
            others = others.wrapping_add(1);
            if others >= STEPS_MIN {
                break;
            }
        }
    }
    // What is too short to be cut off belongs to the part before it.
    if others < STEPS_MIN {
        return (first, data, &[]);
    }
    let (part, rest) = data.split_at_checked(same.wrapping_mul(STEP)).unwrap_or((data, &[]));
    (first, part, rest)
}

/// Whether some bytes are more frequent than others. A step that is not complete may shrink.
fn may_shrink(step: &[u8]) -> bool {
    let mut counts = [0_u16; 256];
    let mut sampled = 0_usize;
    for group in step.chunks(STEP / (SAMPLE / GROUP)).filter_map(|part| part.first_chunk::<GROUP>()) {
        for byte in group {
            if let Some(count) = counts.get_mut(usize::from(*byte)) {
                *count = count.wrapping_add(1);
            }
        }
        sampled = sampled.wrapping_add(GROUP);
    }
    let squares = counts
        .iter()
        .fold(0_u32, |sum, count| sum.wrapping_add(u32::from(*count).wrapping_mul(u32::from(*count))));
    sampled < SAMPLE || squares > SQUARES_MAX
}
