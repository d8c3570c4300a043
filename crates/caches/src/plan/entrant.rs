//! Entrants of a bake-off: products, running caches, or the origin alone.

use crate::records::NOBODY;
use bakeoff_subject::{Product, ProxyMode as Mode};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Most characters of a configuration's name in its entrant's.
const LONGEST_STEM: usize = 60;

/// An entrant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrant {
    /// Its name in results, which is also the name of files there.
    pub name: String,
    /// Its kind.
    pub kind: EntrantKind,
    /// Name of the baseline that it is the second start of, if it is.
    pub second_of: Option<String>,
}

/// Kind of an entrant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntrantKind {
    /// Robots ask the origin itself.
    Direct,
    /// A product that bakeoff starts.
    Product {
        /// The product.
        product: Product,
        /// The user's configuration; none: ours.
        config: Option<PathBuf>,
    },
    /// A cache that runs already.
    Running {
        /// Its address.
        address: SocketAddr,
        /// The form of the requests that it takes.
        mode: Mode,
    },
}

/// A text that is no entrant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no entrant; write `none`, or one of {known}, and a configuration of your own behind it as in `squid=my.conf`",
    known = known()
)]
pub struct NoEntrant(String);

fn known() -> String {
    Product::caches().map(Product::label).collect::<Vec<_>>().join(", ")
}

impl Entrant {
    /// A cache that runs already.
    pub fn running(address: SocketAddr, mode: Mode) -> Self {
        Self { name: address.to_string(), kind: EntrantKind::Running { address, mode }, second_of: None }
    }

    /// The same once more, as an entrant of its own: started anew if bakeoff starts it.
    #[must_use]
    pub fn second(&self) -> Self {
        Self { name: format!("{}'", self.name), kind: self.kind.clone(), second_of: Some(self.name.clone()) }
    }

    /// The name that both starts of a baseline have in common.
    pub fn subject(&self) -> &str {
        self.second_of.as_deref().unwrap_or(&self.name)
    }

    /// The text to type for it.
    pub fn typed(&self) -> String {
        match &self.kind {
            EntrantKind::Product { product, config: Some(config) } => {
                format!("{}={}", product.label(), config.display())
            }
            _ => self.name.clone(),
        }
    }

    /// Reason why it can have no outage; `None` if it can.
    pub fn why_never_away(&self) -> Option<&'static str> {
        match self.kind {
            EntrantKind::Product { .. } => None,
            EntrantKind::Direct => Some("there is no cache"),
            EntrantKind::Running { .. } => Some("bakeoff kills no process that it has not started"),
        }
    }

    /// Whether there is a cache at all.
    pub fn is_cache(&self) -> bool {
        self.kind != EntrantKind::Direct
    }
}

impl FromStr for Entrant {
    type Err = NoEntrant;

    fn from_str(text: &str) -> Result<Self, NoEntrant> {
        if text == NOBODY {
            return Ok(Self { name: text.to_owned(), kind: EntrantKind::Direct, second_of: None });
        }
        let (name, config) = match text.split_once('=') {
            Some((name, path)) if !path.is_empty() => (name, Some(PathBuf::from(path))),
            Some(_) => return Err(NoEntrant(text.to_owned())),
            None => (text, None),
        };
        let product = Product::caches().find(|product| product.label() == name);
        let product = product.ok_or_else(|| NoEntrant(text.to_owned()))?;
        let name = config.as_deref().map_or_else(|| name.to_owned(), |config| named_after(name, config));
        Ok(Self { name, kind: EntrantKind::Product { product, config }, second_of: None })
    }
}

/// Name of a product with a configuration of the user's, beside which the product with ours may take part: `squid-my`
/// of `squid=my.conf`. It names directories and files, in paths that products read.
fn named_after(product: &str, config: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let stem = config.file_stem().unwrap_or_default().to_string_lossy();
    let stem: String = stem.chars().map(plain).take(LONGEST_STEM).collect();
    format!("{product}-{stem}")
}

impl fmt::Display for Entrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
