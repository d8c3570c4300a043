//! `[layer.NAME]`, and the layers that arms name.

use super::super::error::suggestion;
use super::super::file::{ArmSection, LayerSection, OneOrMany, PlanFile};
use super::super::{ArmKind, Extent, PlanError};
use super::{Checked, Context};
use crate::plan::file::Spanned;
use crate::shipped;
use bakeoff_subject::{LayerSpec, Product, Spec};
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
/// None, unless the program itself is wrong.
pub(in super::super) fn shipped_layers() -> Checked<Vec<LayerSpec>> {
    let (origin, text) = ("layers.toml", shipped::LAYERS);
    let file: LayersFile = toml::from_str(text)
        .map_err(|error| PlanError::of_toml(origin, text, error.span().unwrap_or(0..0), error.message()))?;
    let cx = Context { origin, text, base: Path::new("."), extent: Extent::Sample };
    file.layer.iter().map(|(name, section)| cx.layer(name, section)).collect()
}

impl Context<'_> {
    /// The plan's own layers, and those that come with bakeoff behind them. One of the plan's
    /// replaces one of the same name.
    pub(super) fn own_layers(&self, file: &PlanFile) -> Checked<Vec<LayerSpec>> {
        let mut layers = Vec::new();
        for (name, section) in &file.layer {
            layers.push(self.layer(name, section)?);
        }
        layers.extend(shipped_layers()?);
        Ok(layers)
    }

    fn layer(&self, name: &Spanned<String>, section: &LayerSection) -> Checked<LayerSpec> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.as_ref().is_empty() || !name.as_ref().chars().all(fits) {
            let what = format!("`{}` is no name for a layer", name.as_ref());
            return self.wrong(name.span(), what, "letters, digits, `-` and `_`");
        }
        let hook = |hook: &Option<Spanned<OneOrMany>>| {
            hook.as_ref().map_or(Ok(Vec::new()), |commands| self.hook(commands))
        };
        let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.as_ref().clone());
        let layer = LayerSpec {
            name: name.as_ref().clone(),
            build: hook(&section.build)?,
            up: hook(&section.up)?,
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
        if let Some(ready) = section.ready.as_ref().filter(|_| layer.daemon.is_none()) {
            return self.wrong(ready.span(), "`ready` is about a daemon, and there is none", "add `daemon`");
        }
        if let Some(counter) = section.violations.as_ref().filter(|_| layer.status.is_none()) {
            let what = "`violations` names a counter of the layer's status, and there is none";
            return self.wrong(counter.span(), what, "add `status`, the file with its counters");
        }
        if layer.build.is_empty() && layer.up.is_empty() && layer.daemon.is_none() {
            let what = format!("the layer `{}` does nothing", name.as_ref());
            return self.wrong(name.span(), what, "give it `build`, `up` or `daemon`");
        }
        Ok(())
    }

    pub(super) fn layers(
        &self,
        name: &Spanned<String>,
        arm: &ArmSection,
        what: &ArmKind,
        known: &[LayerSpec],
    ) -> Checked<Vec<LayerSpec>> {
        let Some(list) = &arm.layers else { return Ok(Vec::new()) };
        let reads_files = match what {
            ArmKind::Server(server) => matches!(server, Spec::Product { .. } | Spec::Command { .. }),
            ArmKind::Command(_) => true,
            ArmKind::Files(_) => false,
        };
        if !reads_files {
            return self.wrong(list.span(), "this arm serves no files", under_whom());
        }
        let mut layers: Vec<LayerSpec> = Vec::new();
        for word in list.as_ref() {
            let Some(layer) = known.iter().find(|layer| layer.name == *word.as_ref()) else {
                let names: Vec<&str> = known.iter().map(|layer| layer.name.as_str()).collect();
                let what = format!("there is no layer `{}`", word.as_ref());
                let help =
                    format!("{}; a layer of your own is a [layer.NAME]", suggestion(word.as_ref(), &names));
                return self.wrong(word.span(), what, help);
            };
            if layers.contains(layer) {
                let what = format!("the layer `{}` stands under `{}` twice", word.as_ref(), name.as_ref());
                let help = "take one out; the layers of an arm and of its levels add up";
                return self.wrong(word.span(), what, help);
            }
            layers.push(layer.clone());
        }
        Ok(layers)
    }
}

/// Whom layers can stand under.
pub(super) fn under_whom() -> String {
    let products: Vec<String> = Product::servers().map(|product| format!("`{}`", product.label())).collect();
    format!("layers stand under {} or a `command`, which serve files", products.join(", "))
}
