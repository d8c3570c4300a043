//! The document in a terminal.
//!
//! Reads well without colour, on 80 columns and on 40; every text that came from outside passes `layout::clean`, so that
//! no name or error can move the cursor.

use super::{Alarm, Block, Card, Document, Entry, Head, Page, Section, Shown, State};

/// Warnings of the brief report, as many as the page shows at once.
const SHOWN_AT_ONCE: usize = 3;

impl Document {
    /// For a terminal of `width` columns (at least 24 are used). With `colour`, verdicts carry ANSI colours beside their
    /// words. Ends with a newline.
    pub fn text(&self, width: usize, colour: bool) -> String {
        self.printed(Page::new(width, colour))
    }

    /// The same as far as one screen has room: answers, their figures, and the first reasons to doubt them.
    pub fn brief(&self, width: usize, colour: bool) -> String {
        self.printed(Page::new(width, colour).brief())
    }

    /// Whether [`brief`](Self::brief) leaves anything out.
    pub fn has_more(&self) -> bool {
        self.sections.iter().any(Section::has_more)
    }

    fn printed(&self, mut page: Page) -> String {
        self.head.print(&mut page);
        self.sections.iter().for_each(|section| section.print(&mut page));
        page.finish()
    }
}

impl Head {
    fn print(&self, page: &mut Page) {
        if !self.line.is_empty() {
            page.title(&self.line, &self.extent);
        }
        self.alarms.iter().filter(|alarm| alarm.shown == Shown::Both).for_each(|alarm| alarm.print(page));
        if let Some(flags) = &self.flags {
            page.note(&format!("run with {flags}"));
        }
    }
}

impl Alarm {
    fn print(&self, page: &mut Page) {
        page.paragraph(&format!("{}: {}", self.word.to_uppercase(), self.sentence), State::Invalid);
    }
}

impl Section {
    fn has_more(&self) -> bool {
        let is_cut = |block: &Block| matches!(block, Block::Warnings(lines) if lines.len() > SHOWN_AT_ONCE);
        self.shown != Shown::Page && (self.detail || self.shown(Shown::Terminal).any(is_cut))
    }

    /// Below what stands there already.
    pub(crate) fn print(&self, page: &mut Page) {
        if self.shown == Shown::Page || (self.detail && page.is_brief()) {
            return;
        }
        let title = self.line.as_ref().unwrap_or(&self.title);
        if !self.quiet && !title.is_empty() {
            page.heading(title);
        }
        self.shown(Shown::Terminal).for_each(|block| block.print(page));
    }
}

impl Block {
    fn print(&self, page: &mut Page) {
        match self {
            Self::Cards(cards) => page.definitions(&cards.iter().flat_map(Card::entries).collect::<Vec<_>>()),
            Self::Alarm(alarm) => alarm.print(page),
            Self::Paragraph(text, state) => page.paragraph(text, *state),
            Self::Note(text) => page.note(text),
            Self::Heading(text) => page.heading(text),
            Self::Table(table) => {
                table.captioned.then(|| page.note(&table.caption));
                page.table(table);
            }
            Self::Entries(entries) => page.definitions(entries),
            Self::Warnings(lines) if page.is_brief() => {
                lines.iter().take(SHOWN_AT_ONCE).for_each(|line| page.bullet(line));
                match lines.len().saturating_sub(SHOWN_AT_ONCE) {
                    0 => {}
                    more => page.bullet(&format!("{more} more: --verbose, or the page")),
                }
            }
            Self::Bullets(lines) | Self::Warnings(lines) => lines.iter().for_each(|line| page.bullet(line)),
            Self::Details(details) => details.blocks.iter().for_each(|block| block.print(page)),
            // There is no room for these.
            Self::Absent(_)
            | Self::Keys(_)
            | Self::Charts(_)
            | Self::Forest(_)
            | Self::Bars(_)
            | Self::Plots(..)
            | Self::Link(_)
            | Self::Preformatted(_) => {}
        }
    }
}

impl Card {
    fn entries(&self) -> Vec<Entry> {
        if self.shown == Shown::Page {
            return Vec::new();
        }
        let beside = (!self.beside.is_empty()).then(|| Entry::new("", self.beside.as_str()));
        let own = Entry::new(self.name.as_str(), self.sentence.as_str()).state(self.state);
        [own].into_iter().chain(beside).collect()
    }
}
