//! The document: what every kind of report is made into, and two renderers show.
//!
//! Cold, pure. A kind of run gives a head and sections; how a terminal or a page shows them is said here alone. A block
//! that has nothing in it vanishes, and with it a section of which only remarks are left.

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

/// What stands above all sections.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Head {
    pub(crate) name: String,
    /// Heading of the page.
    pub(crate) title: String,
    /// First line in the terminal.
    pub(crate) line: String,
    /// To its right there.
    pub(crate) extent: String,
    /// What the page says more.
    pub(crate) load: String,
    pub(crate) started: String,
    /// Version that made the run.
    pub(crate) bakeoff: String,
    /// The file beside the page that has every figure.
    pub(crate) figures: &'static str,
    pub(crate) alarms: Vec<Alarm>,
    /// Flags that changed the plan.
    pub(crate) flags: Option<String>,
}

/// What must be known before anything is read.
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
    /// The run ended early.
    pub(crate) fn partial(why: &str) -> Self {
        Self { word: "Partial results", sentence: format!("{why}."), shown: Shown::Both }
    }

    /// Nothing of it may be used.
    pub(crate) fn invalid(why: &str) -> Self {
        Self { word: "Invalid", sentence: why.to_owned(), shown: Shown::Both }
    }

    /// Some plots of the page have not all that was measured.
    pub(crate) fn incomplete(why: String) -> Self {
        Self { word: "Incomplete plots", sentence: why, shown: Shown::Page }
    }
}

/// Where something is shown.
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
    /// What links lead to; numbered where it is empty.
    id: String,
    /// Its name in the page's list of sections.
    nav: Option<String>,
    title: String,
    /// Its title in the terminal, where that is another one.
    line: Option<String>,
    shown: Shown,
    /// Whether the title is read aloud and not seen.
    quiet: bool,
    /// Whether it stands there whatever it says.
    always: bool,
    blocks: Vec<(Shown, Block)>,
}

/// Positions, as the template reads them.
pub(crate) type Drawing = serde_json::Value;

/// What a section consists of.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "lowercase")]
pub(crate) enum Block {
    Cards(Vec<Card>),
    Alarm(Alarm),
    Paragraph(String, State),
    Note(String),
    /// What is said in place of something that is not there.
    Absent(String),
    Heading(String),
    Table(Table),
    Entries(Vec<Entry>),
    Bullets(Vec<String>),
    /// A few at once, the rest on demand.
    Warnings(Vec<String>),
    /// What colours stand for.
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
    /// Something to be copied, before the link.
    pub(crate) command: Option<String>,
}

/// What is shown on demand.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Details {
    summary: Cell,
    open: bool,
    blocks: Vec<Block>,
}

impl Document {
    /// Sections that have nothing to say are left out; no link leads to what is not there.
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

    /// The answers, which need no title.
    pub(crate) fn verdicts(title: &str) -> Self {
        Self { quiet: true, always: true, ..Self::new(title).id("verdicts") }
    }

    /// What spoils figures: once on the page's first screen, and where `place` puts it in the terminal.
    pub(crate) fn warnings(line: &str, warnings: &[String]) -> [Self; 2] {
        let page = Self::on_page("warnings", "Before you believe it");
        let terminal = Self::in_terminal(line);
        [page, terminal].map(|section| section.add(Block::Warnings(warnings.to_vec())))
    }

    /// The plan as it was run, and how to run it again; none where there is none.
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

    /// Even where only remarks are in it.
    pub(crate) fn always(self) -> Self {
        Self { always: true, ..self }
    }

    pub(crate) fn add(self, block: Block) -> Self {
        self.put(Shown::Both, block)
    }

    /// Where there is room for it.
    pub(crate) fn page(self, block: Block) -> Self {
        self.put(Shown::Page, block)
    }

    /// In place of what the page has more.
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

    /// Words on the page, before what they are about.
    pub(crate) fn about(self, text: impl Into<String>) -> Self {
        self.page(Block::Paragraph(text.into(), State::Plain))
    }

    /// What the page says where nothing else came together so far.
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
    /// What is shown on demand, or at once.
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

    /// Whether it is about something else that stands beside it.
    const fn is_remark(&self) -> bool {
        matches!(self, Self::Note(_) | Self::Paragraph(..) | Self::Keys(_) | Self::Heading(_))
    }
}
