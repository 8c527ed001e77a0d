//! Tables for a person: columns, bytes and times.

use std::fmt::Write as _;

/// Where a table is shown: columns and rows of a terminal. Without a terminal there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Characters of a line.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

/// How the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left: texts.
    Left,
    /// At the right: numbers.
    Right,
}

/// Lines that are cut at the width of what they are shown on.
#[derive(Debug)]
pub struct Lines {
    size: Size,
    text: String,
}

impl Size {
    /// No limit.
    pub const ANY: Self = Self { columns: usize::MAX, rows: usize::MAX };
}

impl Lines {
    /// None yet.
    #[must_use]
    pub const fn new(size: Size) -> Self {
        Self { size, text: String::new() }
    }

    /// Adds a line, cut if it is too long.
    pub fn line(&mut self, line: &str) {
        let end = line.char_indices().nth(self.size.columns).map_or(line.len(), |(at, _)| at);
        self.text.push_str(line.get(..end).unwrap_or(line).trim_end());
        self.text.push('\n');
    }

    /// Adds a table: a line of names, and one for each row, of which `rows_max` are shown at most and the others counted.
    pub fn table<const N: usize>(
        &mut self,
        columns: [(&str, Align); N],
        rows: &[[String; N]],
        rows_max: usize,
    ) {
        let shown = rows.get(..rows_max).unwrap_or(rows);
        let width = |at: usize| {
            let cells = shown.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
            cells.chain(columns.get(at).map(|(name, _)| name.len())).max().unwrap_or(0)
        };
        let widths: [usize; N] = std::array::from_fn(width);
        let aligns = columns.map(|(_, align)| align);
        self.line(&aligned(&columns.map(|(name, _)| name.to_owned()), &aligns, &widths));
        for row in shown {
            self.line(&aligned(row, &aligns, &widths));
        }
        let missing = rows.len().saturating_sub(shown.len());
        if missing > 0 {
            self.line(&format!("and {missing} more"));
        }
    }

    /// All of them.
    #[must_use]
    pub fn text(self) -> String {
        self.text
    }
}

fn aligned<const N: usize>(cells: &[String; N], aligns: &[Align; N], widths: &[usize; N]) -> String {
    let mut line = String::new();
    for ((cell, align), width) in cells.iter().zip(aligns).zip(widths) {
        // Text can be written to a text.
        let _ = match align {
            Align::Right => write!(line, "{cell:>width$}  "),
            Align::Left => write!(line, "{cell:<width$}  "),
        };
    }
    line
}

/// Without what a terminal would take for a command.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}

/// Bytes with a unit: at most four digits.
#[must_use]
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    // Tenths of the unit.
    let (mut left, mut unit) = (u128::from(count).saturating_mul(10) >> 10, UNITS[0]);
    for larger in UNITS.into_iter().skip(1) {
        if left < 10_240 {
            break;
        }
        (left, unit) = (left >> 10, larger);
    }
    format!("{}.{} {unit}", left / 10, left % 10)
}

/// Seconds as the two largest units.
#[must_use]
pub fn time(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{:02}s", seconds % 60),
        (0, ..) => format!("{hours}h{:02}m", minutes % 60),
        _ => format!("{days}d{:02}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(size: Size, rows_max: usize) -> String {
        let mut lines = Lines::new(size);
        lines.line("three of them");
        let rows = [["a", "5"], ["longer", "17"], ["b", "123456"]].map(|row| row.map(str::to_owned));
        lines.table([("NAME", Align::Left), ("COUNT", Align::Right)], &rows, rows_max);
        lines.text()
    }

    #[test]
    fn columns_are_as_wide_as_their_cells_and_numbers_stand_at_the_right() {
        let expected =
            ["three of them", "NAME     COUNT", "a            5", "longer      17", "b       123456", ""];
        assert_eq!(lines(Size::ANY, usize::MAX), expected.join("\n"));
    }

    #[test]
    fn long_lines_are_cut_and_rows_without_room_are_counted() {
        let expected = ["three of", "NAME  COU", "a", "and 2 mor", ""];
        assert_eq!(lines(Size { columns: 9, rows: 9 }, 1), expected.join("\n"));
    }

    #[test]
    fn bytes_and_times_have_units_and_few_digits() {
        let counts = [0, 1023, 1024, 1_048_575, 1 << 20, 5_000_000_000, u64::MAX];
        let texts = ["0 B", "1023 B", "1.0 KiB", "1023.9 KiB", "1.0 MiB", "4.6 GiB", "15.9 EiB"];
        assert_eq!(counts.map(bytes), texts);
        let ages = [0, 59, 60, 3599, 3600, 86_399, 86_400, 900_000];
        assert_eq!(ages.map(time), ["0s", "59s", "1m00s", "59m59s", "1h00m", "23h59m", "1d00h", "10d10h"]);
    }

    #[test]
    fn a_text_has_no_command_for_a_terminal() {
        assert_eq!(plain("its session\x1b[2J is signed\n"), "its session[2J is signed");
    }
}
