//! Fronts on a command line: programs before a server.
//!
//! From words to the text of a plan: `--front PRODUCT[=CONFIG]`, or a product and two configurations of it. Everything is
//! checked as a plan afterwards.

use super::names;
use super::words::{config_lines, quoted};
use crate::Failure;
use bakeoff_subject::Product;

/// The word for nothing in front.
const NONE: &str = "none";
/// Behind the name of an arm: the same with an empty store at each slice.
const FIRST_USE: &str = "first-use";

/// What stands before one arm's server.
#[derive(Debug, PartialEq)]
pub(super) struct Front {
    /// Name of the arm, and of the plan's section.
    pub(super) name: String,
    product: String,
    config: Option<String>,
}

/// The fronts of the arms: one each, from several `--front`; or one for each configuration, from one `--front` that
/// names the product.
pub(super) fn fronts(typed: &[String], configs: &[String]) -> Result<Vec<Front>, Failure> {
    if let ([product], [_, _, ..]) = (typed, configs) {
        if product.contains('=') {
            return Err(Failure::usage(format!(
                "--front {product} has a configuration, and {} more are given: name the product alone",
                configs.len()
            )));
        }
        let of = |(name, config): (String, &String)| Front {
            name,
            product: product.clone(),
            config: Some(config.clone()),
        };
        return Ok(names::of_sides(configs).into_iter().zip(configs).map(of).collect());
    }
    if typed.len() < 2 {
        return Err(Failure::usage(
            "there is nothing to compare: give --front twice, such as --front none --front varnish, or one --front and two \
             configurations of it",
        ));
    }
    let split = |word: &String| match word.split_once('=') {
        Some((product, config)) => (product.to_owned(), Some(config.to_owned())),
        None => (word.clone(), None),
    };
    let pairs: Vec<(String, Option<String>)> = typed.iter().map(split).collect();
    // A product that is there once has its own name, else that of its configuration.
    let label = |(product, config): &(String, Option<String>)| {
        let alone = pairs.iter().filter(|(other, _)| other == product).count() == 1;
        match config {
            Some(config) if !alone => config.clone(),
            _ => product.clone(),
        }
    };
    let labels: Vec<String> = pairs.iter().map(label).collect();
    let named = names::of_sides(&labels).into_iter().zip(&pairs);
    Ok(named
        .map(|(name, (product, config))| Front { name, product: product.clone(), config: config.clone() })
        .collect())
}

impl Front {
    fn is_none(&self) -> bool {
        self.product == NONE
    }

    /// Whether it may keep replies.
    fn has_store(&self) -> bool {
        let Some(product) = Product::caches().find(|product| product.label() == self.product) else {
            return false;
        };
        // A file that cannot be read is refused by `section`.
        let text = self.config.as_ref().and_then(|config| std::fs::read_to_string(config).ok());
        text.is_none_or(|text| product.may_keep(&text))
    }

    /// `[front.NAME]`; nothing where the product's own name says all.
    pub(super) fn section(&self) -> Result<String, Failure> {
        if self.is_none() || (self.config.is_none() && self.name == self.product) {
            return Ok(String::new());
        }
        let mut text =
            format!("\n[front.{}]\nproduct = {}\n", quoted(&self.section_name()), quoted(&self.product));
        if let Some(config) = &self.config {
            text += &config_lines(config)?;
        }
        Ok(text)
    }

    /// Names of arms may have dots.
    fn section_name(&self) -> String {
        self.name.replace('.', "-")
    }

    /// The line of an arm.
    fn key(&self) -> String {
        format!("front = [{}]\n", quoted(&if self.is_none() { NONE.to_owned() } else { self.section_name() }))
    }

    /// `[arm.NAME]` with these lines of the server, and the arm of its first use where it keeps anything.
    pub(super) fn arms(&self, server: &str, with_first_use: bool) -> String {
        let name = &self.name;
        let steady = format!("\n[arm.{}]\n{server}{}", quoted(name), self.key());
        if !with_first_use || self.is_none() || !self.has_store() {
            return steady;
        }
        let first = format!("{name}.{FIRST_USE}");
        let lines = format!("fresh = \"start\"\nfirst_use_of = {}\n", quoted(name));
        format!("{steady}\n[arm.{}]\n{server}{}{lines}", quoted(&first), self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn fronts_are_named_by_product_or_by_configuration() {
        let named = |typed: &[&str], configs: &[&str]| -> Vec<String> {
            fronts(&strings(typed), &strings(configs)).unwrap().into_iter().map(|front| front.name).collect()
        };
        assert_eq!(named(&["none", "varnish=my.vcl"], &[]), ["none", "varnish"]);
        assert_eq!(named(&["none", "varnish=a.vcl", "varnish=b.vcl"], &["site.conf"]), ["none", "a", "b"]);
        assert_eq!(named(&["squid"], &["x/a.conf", "x/b.conf"]), ["a", "b"]);
        assert!(fronts(&strings(&["squid"]), &[]).is_err());
        assert!(fronts(&strings(&["squid=a"]), &strings(&["b", "c"])).is_err());
    }

    #[test]
    fn what_keeps_replies_has_two_rows_and_nothing_has_one() {
        let all = fronts(&strings(&["none", "varnish"]), &[]).unwrap();
        let none = all[0].arms("server = \"origin\"\n", true);
        assert_eq!(none, "\n[arm.\"none\"]\nserver = \"origin\"\nfront = [\"none\"]\n");
        let varnish = all[1].arms("server = \"origin\"\n", true);
        assert!(varnish.contains("[arm.\"varnish.first-use\"]"), "{varnish}");
        assert!(varnish.ends_with("fresh = \"start\"\nfirst_use_of = \"varnish\"\n"), "{varnish}");
    }

    #[test]
    fn a_configuration_without_a_store_has_one_row() {
        let dir = tempfile::tempdir().unwrap();
        let rows = |text: &str| {
            let config = dir.path().join("haproxy.cfg");
            std::fs::write(&config, text).unwrap();
            let typed = format!("haproxy={}", config.display());
            let all = fronts(&strings(&["none", &typed]), &[]).unwrap();
            all[1].arms("server = \"origin\"\n", true).matches("[arm.").count()
        };
        assert_eq!(rows("listen all\n  bind {host}:{port}\n  server a {upstream}\n"), 1);
        assert_eq!(rows("cache small\n  total-max-size 4\n"), 2);
    }
}
