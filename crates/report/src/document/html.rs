//! The document as a page: one self-contained HTML file that opens offline, prints, and fits a phone.
//!
//! There is one template, `assets/page.html.j2`; style, script and the plotting library stand inside the file, and a
//! content security policy forbids it to load anything. Every value is escaped by the template engine; the plots' data
//! is JSON in a data block with all markup characters escaped. Only the interactive plots need a script.

use super::Document;
use super::typeset::typeset;
use minijinja::HtmlEscape;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, escape_formatter};

/// The page, and its macros: blocks and drawings.
const TEMPLATES: [(&str, &str); 3] = [
    ("chart.svg.j2", include_str!("../../assets/chart.svg.j2")),
    ("blocks.html.j2", include_str!("../../assets/blocks.html.j2")),
    ("page.html.j2", include_str!("../../assets/page.html.j2")),
];
/// Style and scripts. They are ours, hence not escaped.
const ASSETS: [(&str, &str); 6] = [
    ("style", include_str!("../../assets/report.css")),
    ("script", include_str!("../../assets/report.js")),
    ("plot_style", include_str!("../../assets/uplot/uPlot.min.css")),
    ("plot_script", include_str!("../../assets/uplot/uPlot.iife.min.js")),
    ("plot_licence", include_str!("../../assets/uplot/LICENSE")),
    ("plot_versions", include_str!("../../assets/uplot/VERSIONS")),
];

impl Document {
    /// One HTML file.
    pub fn html(&self) -> String {
        let environment = environment();
        let page = environment.get_template("page.html.j2").and_then(|page| page.render(Serde(self)));
        page.expect("the template is a constant, and every name in it is a field of `Document` or an asset")
    }
}

/// Running text: what stands between two backquotes is code, as it is written; the rest is typeset.
fn words(text: &str) -> String {
    let mut pieces = text.split('`');
    let plain = |text: &str| HtmlEscape(&typeset(text)).to_string();
    // A backquote without a partner stands for itself.
    if text.matches('`').count() % 2 == 1 {
        return plain(text);
    }
    let mut html = plain(pieces.next().unwrap_or_default());
    while let (Some(code), Some(after)) = (pieces.next(), pieces.next()) {
        html += &format!("<code>{}</code>{}", HtmlEscape(code), plain(after));
    }
    html
}

/// All text is typeset when it is put down, but for what somebody may want to copy, which goes through the filter
/// `verbatim`. JSON inside a `script` element goes through `embedded`: no character of markup is left.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(typeset(text))),
        _ => escape_formatter(out, state, value),
    });
    environment.add_filter("verbatim", |text: &str| Value::from_safe_string(HtmlEscape(text).to_string()));
    environment.add_filter("words", |text: &str| Value::from_safe_string(words(text)));
    environment.add_filter("embedded", |json: &str| {
        let json = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        Value::from_safe_string(json)
    });
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the standard ones"));
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).expect("the template is a constant");
    }
    for (name, text) in ASSETS {
        environment.add_global(name, Value::from_safe_string(text.to_owned()));
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn code_stands_between_backquotes_and_nothing_of_it_is_markup() {
        for (text, html) in [
            ("`more`: a < b", "<code>more</code>: a &lt; b"),
            ("set `<i>` or `x`", "set <code>&lt;i&gt;</code> or <code>x</code>"),
            ("one ` alone", "one ` alone"),
            ("none", "none"),
        ] {
            assert_eq!(words(text), html);
        }
    }
}
