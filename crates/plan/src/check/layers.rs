//! Check of `[layer.NAME]`, and of the layers that arms name.

use super::super::file::{LayerSection, PlanFile, UnderSection};
use super::super::{Extent, PlanError};
use super::named::{Named, text};
use super::{Checked, Context};
use crate::file::Spanned;
use crate::shipped;
use bakeoff_subject::LayerSpec;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The file with the layers that come with bakeoff.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayersFile {
    layer: BTreeMap<Spanned<String>, LayerSection>,
}

/// The layers that come with bakeoff.
///
/// # Errors
/// None, unless the built-in file is wrong.
pub(in super::super) fn shipped_layers() -> Checked<Vec<LayerSpec>> {
    let (origin, text) = ("layers.toml", shipped::LAYERS);
    let file: LayersFile = toml::from_str(text)
        .map_err(|error| PlanError::of_toml(origin, text, error.span().unwrap_or(0..0), error.message()))?;
    let files = BTreeMap::new();
    let (base, extent, elsewhere) = (Path::new("."), Extent::Sample, false);
    let cx = Context { origin, text, base, extent, elsewhere, files: &files };
    file.layer.iter().map(|(name, section)| cx.layer(name, section)).collect()
}

impl Context<'_> {
    /// The plan's own layers, and those that come with bakeoff behind them. One of the plan's
    /// replaces one of the same name.
    pub(super) fn own_layers(&self, file: &PlanFile) -> Checked<Vec<LayerSpec>> {
        let own = file.layer.iter().map(|(name, section)| self.layer(name, section));
        let mut layers = own.collect::<Checked<Vec<_>>>()?;
        layers.extend(shipped_layers()?);
        Ok(layers)
    }

    fn layer(&self, name: &Spanned<String>, section: &LayerSection) -> Checked<LayerSpec> {
        self.demand_section_name(name, LayerSpec::NOUN)?;
        let layer = LayerSpec {
            name: name.as_ref().clone(),
            build: self.hook(&section.build)?,
            up: self.hook(&section.up)?,
            daemon: section.daemon.as_ref().map(|argv| self.argv(argv)).transpose()?,
            ready: text(&section.ready),
            root: text(&section.root),
            proof: section.proof.as_ref().map(|argv| self.argv(argv)).transpose()?,
            status: text(&section.status),
            violations: text(&section.violations),
            kernel_threads: text(&section.kernel_threads),
        };
        self.refuse_idle_layer(name, section, &layer)?;
        Ok(layer)
    }

    fn refuse_idle_layer(
        &self,
        name: &Spanned<String>,
        section: &LayerSection,
        layer: &LayerSpec,
    ) -> Checked<()> {
        let idle = section.ready.as_ref().filter(|_| layer.daemon.is_none());
        self.refuse(idle, "`ready` is about a daemon, and there is none", "add `daemon`")?;
        self.demand_status(&section.violations, &section.status)?;
        let does_nothing = layer.build.is_empty() && layer.up.is_empty() && layer.daemon.is_none();
        let what = format!("the layer `{}` does nothing", name.as_ref());
        self.refuse(name.when(does_nothing), what, "give it `build`, `up` or `daemon`")
    }

    pub(super) fn layers(
        &self,
        name: &Spanned<String>,
        under: &UnderSection,
        known: &[LayerSpec],
    ) -> Checked<Vec<LayerSpec>> {
        let words = under.layers.iter().flat_map(|list| list.as_ref());
        self.named(words, known, &format!("stands under `{}`", name.as_ref()), &[])
    }
}

impl Named for LayerSpec {
    const NOUN: &'static str = "layer";

    fn name(&self) -> &str {
        &self.name
    }
}
