//! Lines of a given width: wrapping, tables that turn into blocks when they do not fit, colour.
//!
//! Knows nothing of measurements. All text goes through [`clean`] first.

use super::{Cell, Entry, State, Table};
use comfy_table::{CellAlignment, ContentArrangement, presets};

/// Columns that are used at least, whatever the terminal says.
const NARROWEST: usize = 24;
/// Running text wider than this is hard to read.
const WIDEST: usize = 100;

/// Units that stay with their number.
const UNITS: [&str; 11] = ["%", "points", "ns", "us", "ms", "s", "min", "h", "B", "KB", "MB"];

/// The report as it grows.
pub(crate) struct Page {
    width: usize,
    colour: bool,
    /// Leaves out details.
    brief: bool,
    lines: Vec<String>,
}

impl Page {
    pub(crate) fn new(width: usize, colour: bool) -> Self {
        Self { width: width.clamp(NARROWEST, WIDEST), colour, brief: false, lines: Vec::new() }
    }

    pub(crate) fn brief(self) -> Self {
        Self { brief: true, ..self }
    }

    pub(crate) const fn is_brief(&self) -> bool {
        self.brief
    }

    /// The title, and what belongs to its right where there is room.
    pub(crate) fn title(&mut self, left: &str, right: &str) {
        let (left, right) = (clean(left), clean(right));
        let room = self.width.saturating_sub(left.chars().count() + right.chars().count());
        if room >= 2 {
            let line = format!("{}{}{right}", self.painted(&left, State::Open), " ".repeat(room));
            self.lines.push(line);
        } else {
            for text in [left, right] {
                let wrapped = wrap(&text, self.width);
                self.lines.extend(wrapped);
            }
        }
        self.lines.push(String::new());
    }

    pub(crate) fn heading(&mut self, text: &str) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
        for line in wrap(&clean(text), self.width) {
            let painted = self.painted(&line, State::Open);
            self.lines.push(painted);
        }
    }

    pub(crate) fn paragraph(&mut self, text: &str, state: State) {
        self.hanging("", "", text, state);
        self.lines.push(String::new());
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.hanging("  ", "  ", text, State::Plain);
    }

    pub(crate) fn bullet(&mut self, text: &str) {
        self.hanging("  - ", "    ", text, State::Plain);
    }

    /// `name  said`, all names one column wide; below each other when names take too much room.
    pub(crate) fn definitions(&mut self, entries: &[Entry]) {
        let names: Vec<String> = entries.iter().map(|entry| clean(&entry.name.text)).collect();
        let column = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let beside = column + 4 <= self.width / 3;
        for (Entry { said, state, .. }, name) in entries.iter().zip(&names) {
            if beside {
                let first = format!("  {name:column$}  ");
                self.hanging(&first, &" ".repeat(column + 4), said, *state);
            } else {
                if !name.is_empty() {
                    self.hanging("  ", "  ", name, State::Plain);
                }
                self.hanging("    ", "    ", said, *state);
            }
        }
    }

    /// A table whose first `figures` columns after the name are numbers; blocks, one per row, where
    /// the table is wider than the page.
    pub(crate) fn table(&mut self, table: &Table) {
        let texts =
            |cells: &[Cell]| -> Vec<String> { cells.iter().map(|cell| clean(&cell.plain())).collect() };
        let head = texts(&table.head);
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let rows: Vec<Vec<String>> = table.rows.iter().map(|row| texts(&row.cells)).collect();
        let lines = grid(&head, &rows, table.figures);
        if lines.iter().all(|line| line.chars().count() <= self.width) {
            self.lines.extend(lines);
        } else {
            rows.iter().for_each(|row| self.block(&head, row));
        }
    }

    /// One row as `name` and its labelled figures, as many on a line as fit.
    fn block(&mut self, head: &[&str], row: &[String]) {
        let Some((name, cells)) = row.split_first() else { return };
        let labelled = head.iter().skip(1).zip(cells).filter(|(_, cell)| !cell.is_empty());
        let items: Vec<String> = labelled
            .map(|(label, cell)| match *label {
                // These say themselves what they are.
                "verdict" | "figure" | "value" | "change" | "interval" | "by itself" | "standing" | "arm" => {
                    cell.clone()
                }
                "x noise" => format!("{cell} x noise"),
                label => format!("{label} {cell}"),
            })
            .collect();
        if !name.is_empty() {
            self.hanging("  ", "  ", name, State::Plain);
        }
        let mut line = String::from("   ");
        for item in items {
            if line.trim().is_empty() || line.chars().count() + item.chars().count() + 2 <= self.width {
                line += &format!("{}{item}", if line.trim().is_empty() { " " } else { "; " });
            } else {
                self.lines.push(std::mem::replace(&mut line, format!("    {item}")));
            }
        }
        self.lines.push(line);
    }

    fn hanging(&mut self, first: &str, next: &str, text: &str, state: State) {
        let room = self.width.saturating_sub(next.chars().count()).max(8);
        for (number, line) in wrap(&clean(text), room).into_iter().enumerate() {
            let indent = if number == 0 { first } else { next };
            let painted = self.painted(&line, state);
            self.lines.push(format!("{indent}{painted}"));
        }
    }

    fn painted(&self, text: &str, state: State) -> String {
        match state.code() {
            code if self.colour && !code.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            _ => text.to_owned(),
        }
    }

    pub(crate) fn finish(self) -> String {
        let mut text = self.lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
        text.push('\n');
        text
    }
}

fn grid(head: &[&str], rows: &[Vec<String>], figures: usize) -> Vec<String> {
    let mut table = comfy_table::Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.to_vec());
    table.add_rows(rows.iter().cloned());
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((2, 0));
        // The name and words read from the left, figures from the right.
        if index > 0 && index <= figures && !matches!(head[index], "figure" | "arm") {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Without anything that a terminal obeys: control characters, and marks that turn the writing
/// direction, become a visible replacement.
fn clean(text: &str) -> String {
    let directs =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let visible = |c: char| match c {
        '\n' | '\t' => ' ',
        c if c.is_control() || directs(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(visible).collect()
}

/// Breaks at spaces, not between a number and its unit; a word longer than the line is broken
/// inside.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in words(text) {
        let letters: Vec<char> = word.chars().collect();
        for (part, piece) in letters.chunks(width.max(1)).enumerate() {
            let space = usize::from(used > 0 && part == 0);
            if used > 0 && (part > 0 || used + space + piece.len() > width) {
                lines.push(String::new());
                used = 0;
            } else if space == 1 {
                lines.last_mut().into_iter().for_each(|line| line.push(' '));
                used += 1;
            }
            lines.last_mut().into_iter().for_each(|line| line.extend(piece));
            used += piece.len();
        }
    }
    lines
}

/// The words, each number with the unit behind it.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = UNITS.contains(&word.trim_end_matches([',', ';', '.', ')', ':']));
        match words.last_mut() {
            Some(number) if unit && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_every_word_and_no_line_is_too_long() {
        let lines = wrap("a bb ccc dddddddddddd e", 5);
        assert_eq!(lines, ["a bb", "ccc", "ddddd", "ddddd", "dd e"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("up to 32 % busy", 9), ["up to", "32 % busy"]);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        assert_eq!(clean("a\u{1b}[2Jb\u{202e}c\r\n"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd} ");
    }

    #[test]
    fn a_table_that_does_not_fit_becomes_blocks() {
        let row = vec!["tls".to_owned(), "33.4 us".to_owned(), "costs".to_owned()];
        let of_width = |width| {
            let mut page = Page::new(width, false);
            page.table(&Table::new(["arm", "CPU/request", "verdict"], [row.clone()]).figures(1));
            page.finish()
        };
        assert_eq!(of_width(80), "  arm  CPU/request  verdict\n  tls      33.4 us  costs\n");
        assert_eq!(of_width(24), "  tls\n    CPU/request 33.4 us\n    costs\n");
    }
}
