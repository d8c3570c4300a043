//! The document: form of every report, with a renderer for terminals and one for pages.
//!
//! Cold, pure. A kind of run gives a head and sections; this module alone knows how a terminal or a page shows them. An
//! empty block is dropped, and so is a section that has nothing but remarks.

mod card;
mod html;
mod layout;
mod table;
mod text;
mod typeset;

pub(crate) use card::{Card, State};
pub(crate) use layout::Page;
pub(crate) use table::{Bar, Bars, Cell, Entry, Part, Row, Table};

use crate::words;
use serde::Serialize;

/// A report: [`text`](Self::text) shows it in a terminal, [`html`](Self::html) as a page.
#[derive(Debug, Serialize)]
pub struct Document {
    head: Head,
    sections: Vec<Section>,
    /// JSON of the interactive plots, for a page that has any.
    plots: Option<String>,
}

/// Title, extent and alarms, above all sections.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Head {
    pub(crate) name: String,
    /// Heading of the page.
    pub(crate) title: String,
    /// First line in the terminal.
    pub(crate) line: String,
    /// To its right there.
    pub(crate) extent: String,
    /// Load, on the page alone.
    pub(crate) load: String,
    pub(crate) started: String,
    /// Version that made the run.
    pub(crate) bakeoff: String,
    /// The file beside the page that has every figure.
    pub(crate) figures: &'static str,
    pub(crate) alarms: Vec<Alarm>,
    /// Command line that began the run, on the page alone; empty where it is not known.
    pub(crate) command: String,
    /// Flags that changed the plan.
    pub(crate) flags: Option<String>,
}

/// A warning above all sections.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Alarm {
    word: &'static str,
    sentence: String,
    #[serde(skip)]
    shown: Shown,
}

impl Head {
    /// Of a run with a directory.
    pub(crate) fn of(name: &str, title: &str, extent: String, started: &str, bakeoff: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            line: format!("{name}: {title}"),
            extent,
            started: words::moment(started),
            bakeoff: bakeoff.to_owned(),
            figures: "results.json",
            ..Self::default()
        }
    }
}

impl Alarm {
    /// For a run that ended early.
    pub(crate) fn partial(why: &str) -> Self {
        Self { word: "Partial results", sentence: format!("{why}."), shown: Shown::Both }
    }

    /// For a run whose figures must not be used.
    pub(crate) fn invalid(why: &str) -> Self {
        Self { word: "Invalid", sentence: why.to_owned(), shown: Shown::Both }
    }

    /// For a page whose plots lack some of the measured times.
    pub(crate) fn incomplete(why: String) -> Self {
        Self { word: "Incomplete plots", sentence: why, shown: Shown::Page }
    }
}

/// Place of a section or a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Shown {
    #[default]
    Both,
    Terminal,
    Page,
}

/// A part of the report.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Section {
    /// Target of links; numbered where it is empty.
    id: String,
    /// Name in the page's list of sections.
    nav: Option<String>,
    title: String,
    /// Title in the terminal, where that differs.
    line: Option<String>,
    shown: Shown,
    /// The title is for screen readers alone.
    quiet: bool,
    /// The section stays even if it has only remarks.
    always: bool,
    /// The brief report in the terminal leaves it out.
    #[serde(skip)]
    detail: bool,
    blocks: Vec<(Shown, Block)>,
}

/// Positions, as the template reads them.
pub(crate) type Drawing = serde_json::Value;

/// Part of a section.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "lowercase")]
pub(crate) enum Block {
    Cards(Vec<Card>),
    Alarm(Alarm),
    Paragraph(String, State),
    Note(String),
    /// Substitute for a missing figure or table.
    Absent(String),
    Heading(String),
    Table(Table),
    Entries(Vec<Entry>),
    Bullets(Vec<String>),
    /// Bullets of which the page shows three at once.
    Warnings(Vec<String>),
    /// Legend of colours.
    Keys(Vec<Cell>),
    Charts(Vec<Drawing>),
    Forest(Vec<Drawing>),
    Bars(Vec<Bars>),
    /// Room for interactive plots: id and style class.
    Plots(&'static str, &'static str),
    Link(Link),
    Preformatted(String),
    Details(Details),
}

/// A link with words before it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Link {
    pub(crate) before: String,
    pub(crate) address: String,
    pub(crate) label: String,
    pub(crate) after: String,
    /// Command to copy, before the link.
    pub(crate) command: Option<String>,
}

/// Blocks below a summary that opens them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Details {
    summary: Cell,
    open: bool,
    blocks: Vec<Block>,
}

impl Document {
    /// Without empty sections, and without links to sections that show nothing.
    pub(crate) fn new(head: Head, sections: impl IntoIterator<Item = Section>) -> Self {
        let mut sections: Vec<Section> =
            sections.into_iter().filter(|section| section.always || section.says_something()).collect();
        for section in &mut sections {
            section.nav = section.nav.take().filter(|_| section.shown(Shown::Page).any(Block::is_led_to));
        }
        Self { head, sections, plots: None }
    }

    /// With the data of interactive plots.
    pub(crate) fn with_plots(self, data: String) -> Self {
        Self { plots: Some(data), ..self }
    }
}

impl Section {
    /// In the terminal and on the page.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// On the page alone, where links lead to it.
    pub(crate) fn on_page(id: &str, title: impl Into<String>) -> Self {
        Self { shown: Shown::Page, ..Self::new(title).id(id) }
    }

    /// In the terminal alone.
    pub(crate) fn in_terminal(title: impl Into<String>) -> Self {
        Self { shown: Shown::Terminal, ..Self::new(title) }
    }

    /// The answers. Their title is for screen readers alone.
    pub(crate) fn verdicts(title: &str) -> Self {
        Self { quiet: true, always: true, ..Self::new(title).id("verdicts") }
    }

    /// Warnings: one section for the page's first screen, one for the terminal, which has it elsewhere.
    pub(crate) fn warnings(line: &str, warnings: &[String]) -> [Self; 2] {
        let page = Self::on_page("warnings", "Before you believe it");
        let terminal = Self::in_terminal(line);
        [page, terminal].map(|section| section.add(Block::Warnings(warnings.to_vec())))
    }

    /// The plan as it was run, and the command that runs it again.
    pub(crate) fn plan(before: &str, flags: Option<&str>, plan: &str) -> Self {
        let flags = flags.map_or_else(String::new, |flags| format!(" {flags}"));
        let link = Link {
            before: before.to_owned(),
            command: Some(format!("bakeoff run plan.toml{flags}")),
            address: "plan.toml".to_owned(),
            label: "plan.toml".to_owned(),
            after: " as it stands in the results directory:".to_owned(),
        };
        let section = Self::on_page("plan", "Plan").nav("Plan").add(Block::Link(link));
        section.add(Block::Preformatted(plan.to_owned()))
    }

    pub(crate) fn id(self, id: impl Into<String>) -> Self {
        Self { id: id.into(), ..self }
    }

    pub(crate) fn nav(self, name: impl Into<String>) -> Self {
        Self { nav: Some(name.into()), ..self }
    }

    /// With another title in the terminal; none where it is empty.
    pub(crate) fn line(self, title: impl Into<String>) -> Self {
        Self { line: Some(title.into()), ..self }
    }

    /// Kept even with nothing but remarks.
    pub(crate) fn always(self) -> Self {
        Self { always: true, ..self }
    }

    /// Left out of the brief report in the terminal.
    pub(crate) fn detail(self) -> Self {
        Self { detail: true, ..self }
    }

    pub(crate) fn add(self, block: Block) -> Self {
        self.put(Shown::Both, block)
    }

    /// On the page alone.
    pub(crate) fn page(self, block: Block) -> Self {
        self.put(Shown::Page, block)
    }

    /// In the terminal alone.
    pub(crate) fn terminal(self, block: Block) -> Self {
        self.put(Shown::Terminal, block)
    }

    pub(crate) fn table(self, table: Table) -> Self {
        self.add(Block::Table(table))
    }

    pub(crate) fn entries(self, entries: impl IntoIterator<Item = impl Into<Entry>>) -> Self {
        self.add(Block::Entries(entries.into_iter().map(Into::into).collect()))
    }

    pub(crate) fn bullets(self, lines: &[String]) -> Self {
        self.add(Block::Bullets(lines.to_vec()))
    }

    pub(crate) fn note(self, text: impl Into<String>) -> Self {
        self.add(Block::Note(text.into()))
    }

    pub(crate) fn notes(self, texts: impl IntoIterator<Item = String>) -> Self {
        texts.into_iter().fold(self, Self::note)
    }

    /// Paragraph on the page, above what it explains.
    pub(crate) fn about(self, text: impl Into<String>) -> Self {
        self.page(Block::Paragraph(text.into(), State::Plain))
    }

    /// Substitute on the page, where the section has only remarks so far.
    pub(crate) fn absent(self, text: impl Into<String>) -> Self {
        match self.says_something() {
            true => self,
            false => Self { blocks: Vec::new(), ..self }.page(Block::Absent(text.into())),
        }
    }

    fn put(mut self, shown: Shown, block: Block) -> Self {
        if !block.is_empty() {
            self.blocks.push((shown, block));
        }
        self
    }

    fn says_something(&self) -> bool {
        self.blocks.iter().any(|(_, block)| !block.is_remark())
    }

    fn shown(&self, here: Shown) -> impl Iterator<Item = &Block> {
        self.blocks
            .iter()
            .filter(move |(shown, _)| [here, Shown::Both].contains(shown))
            .map(|(_, block)| block)
    }
}

impl Block {
    /// Blocks below a summary, open or closed at first.
    pub(crate) fn details(
        open: bool,
        summary: impl Into<Cell>,
        blocks: impl IntoIterator<Item = Self>,
    ) -> Self {
        let blocks = blocks.into_iter().filter(|block| !block.is_empty()).collect();
        Self::Details(Details { summary: summary.into(), open, blocks })
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Table(table) => table.is_empty(),
            Self::Entries(entries) => entries.is_empty(),
            Self::Bullets(lines) | Self::Warnings(lines) => lines.is_empty(),
            Self::Cards(cards) => cards.is_empty(),
            Self::Charts(charts) => charts.is_empty(),
            Self::Forest(panels) => panels.is_empty(),
            Self::Bars(panels) => panels.iter().all(Bars::is_empty),
            Self::Keys(keys) => keys.is_empty(),
            Self::Note(text) | Self::Paragraph(text, _) | Self::Preformatted(text) => text.is_empty(),
            Self::Details(details) => details.blocks.is_empty(),
            Self::Alarm(_) | Self::Absent(_) | Self::Heading(_) | Self::Plots(..) | Self::Link(_) => false,
        }
    }

    const fn is_led_to(&self) -> bool {
        !self.is_remark() && !matches!(self, Self::Absent(_))
    }

    /// A remark is about other blocks of its section.
    const fn is_remark(&self) -> bool {
        matches!(self, Self::Note(_) | Self::Paragraph(..) | Self::Keys(_) | Self::Heading(_))
    }
}
