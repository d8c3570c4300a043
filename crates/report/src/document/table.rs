//! Tables, lists of named values, and bars.

use super::State;
use serde::Serialize;

/// Figures in columns; the first column names the row.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Table {
    /// Caption on the page.
    pub(super) caption: String,
    /// The terminal has the caption too.
    #[serde(skip)]
    pub(super) captioned: bool,
    pub(super) head: Vec<Cell>,
    pub(super) rows: Vec<Row>,
    /// So many columns after the first hold numbers; words behind them may wrap.
    pub(super) figures: usize,
    /// Style class.
    class: &'static str,
}

/// A row, or a heading between rows where it has one cell.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Row {
    pub(super) cells: Vec<Cell>,
    state: State,
    mark: &'static str,
}

/// Text in a place of a table, with its marks.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Cell {
    pub(super) text: String,
    /// Style class of the colour that stands before it.
    key: Option<String>,
    /// The figure must not be used.
    pub(super) struck: bool,
    glyph: Option<&'static str>,
    /// Smaller words behind it.
    small: Vec<String>,
}

/// A name and a sentence about it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    pub(super) name: Cell,
    pub(super) said: String,
    pub(super) state: State,
    /// Text to copy: not typeset.
    exact: bool,
}

/// A figure of several, as bars from 0 on one scale.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Bars {
    pub(crate) caption: String,
    pub(crate) rows: Vec<Bar>,
}

/// One bar, in consecutive parts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Bar {
    pub(crate) name: Cell,
    pub(crate) key: String,
    pub(crate) value: Cell,
    pub(crate) parts: Vec<Part>,
}

/// Positions are percent of the drawing's width.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Part {
    pub(crate) from: f64,
    pub(crate) width: f64,
    pub(crate) title: String,
}

impl Bars {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Table {
    /// All columns after the first are figures.
    pub(crate) fn new(
        head: impl IntoIterator<Item = impl Into<Cell>>,
        rows: impl IntoIterator<Item = impl Into<Row>>,
    ) -> Self {
        let head: Vec<Cell> = head.into_iter().map(Into::into).collect();
        let figures = head.len().saturating_sub(1);
        Self { figures, head, rows: rows.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    pub(crate) fn figures(self, figures: usize) -> Self {
        Self { figures, ..self }
    }

    pub(crate) fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    /// With words above it, on the page alone.
    pub(crate) fn caption(self, caption: impl Into<String>) -> Self {
        Self { caption: caption.into(), ..self }
    }

    /// With words above it everywhere.
    pub(crate) fn captioned(self, caption: &str) -> Self {
        Self { captioned: true, ..self.caption(caption) }
    }

    /// Blank cells in the first columns where the row above says the same.
    pub(crate) fn without_repeats(mut self, columns: usize) -> Self {
        for at in (1..self.rows.len()).rev() {
            let (above, below) = self.rows.split_at_mut(at);
            let (above, below) = (&above[at - 1].cells, &mut below[0].cells);
            let same = (0..columns).take_while(|column| above[*column].text == below[*column].text).count();
            below[..same].iter_mut().for_each(|cell| cell.text.clear());
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Row {
    /// In the colour of what it came to, and with other style classes.
    pub(crate) fn state(self, state: State, mark: &'static str) -> Self {
        Self { state, mark, ..self }
    }
}

impl Cell {
    /// A name with the colour that it has everywhere.
    pub(crate) fn keyed(text: impl Into<String>, key: String) -> Self {
        Self { key: Some(key), ..Self::from(text.into()) }
    }

    /// A figure that must not be used is in brackets in the terminal, struck through on the page.
    pub(crate) fn struck(text: impl Into<String>, struck: bool) -> Self {
        let text = text.into();
        let shows = !matches!(text.as_str(), "" | crate::figures::NONE);
        Self { struck: struck && shows, text, ..Self::default() }
    }

    pub(crate) fn glyph(self, glyph: &'static str) -> Self {
        Self { glyph: Some(glyph), ..self }
    }

    pub(crate) fn small(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.small.extend(words.into_iter().map(Into::into));
        self
    }

    /// As a terminal can mark it.
    pub(super) fn plain(&self) -> String {
        if self.struck { format!("({})", self.text) } else { self.text.clone() }
    }
}

impl Entry {
    pub(crate) fn new(name: impl Into<Cell>, said: impl Into<String>) -> Self {
        Self { name: name.into(), said: said.into(), state: State::Plain, exact: false }
    }

    pub(crate) fn state(self, state: State) -> Self {
        Self { state, ..self }
    }

    /// Not typeset.
    pub(crate) fn exact(self) -> Self {
        Self { exact: true, ..self }
    }
}

impl<N: Into<Cell>, S: Into<String>> From<(N, S)> for Entry {
    fn from((name, said): (N, S)) -> Self {
        Self::new(name, said)
    }
}

impl<C: Into<Cell>> From<Vec<C>> for Row {
    fn from(cells: Vec<C>) -> Self {
        Self { cells: cells.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

impl<C: Into<Cell>, const N: usize> From<[C; N]> for Row {
    fn from(cells: [C; N]) -> Self {
        Self { cells: cells.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}
