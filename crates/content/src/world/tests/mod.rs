//! Worlds from outside: properties that are known by arithmetic.

mod life;
mod objects;
mod toml;

use super::{Model, Object, ObjectName};

/// PolyMix-4's contents, with Web Polygraph's figures.
pub(super) const POLYMIX_4: &str = r#"
[[content]]
name = "image"
size = "exp:4.5KB"
cachable = "80%"
share = "0%"
media_type = "image/png"
extensions = [".gif", ".jpeg", ".png"]
life = { length = "logn:30day,7day", variance = "50%", expires = "nmt+0s" }

[[content]]
name = "html"
size = "exp:8.5KB"
cachable = "90%"
share = "42.86%"
media_type = "text/html"
extensions = [".html 60%", ".htm"]
life = { length = "logn:7day,1day", variance = "33%", last_modified = "100%", expires = "nmt+0s" }
embeds = { kind = "image", count = "zipf:13" }
compressibility = "60%"

[[content]]
name = "download"
size = "logn:300KB,300KB"
cachable = "95%"
share = "1.43%"
extensions = [".exe 40%", ".zip", ".gz"]
life = { length = "logn:0.5year,30day", variance = "33%", expires = "nmt+0s" }

[[content]]
name = "other"
size = "logn:25KB,10KB"
cachable = "72%"
life = { length = "unif:1day,1year", variance = "50%", expires = "nmt+0s" }
"#;

/// One kind with these further keys, after `name`.
fn model(keys: &str) -> Model {
    Model::from_toml(&format!("[[content]]\nname = \"any\"\n{keys}")).unwrap()
}

fn name(kind: u8, number: u64) -> ObjectName {
    ObjectName { world: 0x0123_4567_89ab_cdef, server: 7, kind, number }
}

fn objects(model: &Model, kind: u8, n: u64) -> Vec<Object> {
    (0..n).map(|number| model.object(&name(kind, number)).unwrap()).collect()
}

/// Whether `hits` of `n` tries are what `chance` gives, within four standard errors.
fn about(hits: usize, n: usize, chance: f64) -> bool {
    let error = (chance * (1.0 - chance) / n as f64).sqrt();
    (hits as f64 / n as f64 - chance).abs() <= 4.0 * error
}

/// The mean of these values, and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    (mean, (variance / n).sqrt())
}
