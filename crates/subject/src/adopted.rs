//! Adopted configurations: those of running servers, of which a private copy is started.
//!
//! Measuring side, cold path. Decides which configurations are adopted, and sets a copy up in a private directory; what
//! is changed in it is `bakeoff-adopt`'s.

use crate::SubjectError;
use crate::certificate::Certificate;
use crate::context::Context;
use crate::key_kind::{KeyKind, key_kind_of};
use crate::product::Product;
use crate::program::StartSite;
use crate::spec::Spec;
use bakeoff_adopt::{
    Adoptable, Application, Copies, Entrance, Language, Setting, StandIns, is_caddyfile_for_bakeoff,
};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// Substitutions of which any one makes a configuration one that was written for bakeoff.
const OURS: [&str; 6] = ["{host}", "{port}", "{root}", "{cert}", "{key}", "{dir}"];

/// The language of a running server's configuration, which is to be adopted; none: it was written for bakeoff, or nobody
/// here reads the product's language.
pub fn language(product: Product, text: &str) -> Option<Language> {
    let language = match product {
        Product::Apache => Language::Apache,
        Product::Nginx => Language::Nginx,
        // Most of these names are Caddy's as well.
        Product::Caddy => return (!is_caddyfile_for_bakeoff(text)).then_some(Language::Caddy),
        _ => return None,
    };
    (!OURS.iter().any(|name| is_in(text, name))).then_some(language)
}

/// Whether the text has this substitution. `${port}` and `%{port}` are variables of the language.
fn is_in(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| !text[..at].ends_with(['$', '%']))
}

/// A running server's configuration, and the server that is asked in it.
type Adopted = (Box<dyn Adoptable>, Entrance);

/// The running server's configuration of an arm; none: it has no such.
pub(crate) fn configuration(spec: &Spec, context: &Context<'_>) -> Result<Option<Adopted>, SubjectError> {
    let Spec::Product { product, config: Some(path), tls } = spec else { return Ok(None) };
    let Some(language) = language(*product, &context.read(path, &context.arm)?) else { return Ok(None) };
    let wrong = |source| SubjectError::Adopt { arm: context.arm.clone(), source };
    let configuration = bakeoff_adopt::read(language, &context.at_home(path)).map_err(wrong)?;
    let entrance = configuration.entrance(Some(*tls), context.asked_host.as_deref()).map_err(wrong)?;
    Ok(Some((configuration, entrance)))
}

/// The application behind an arm's server that a stand-in plays. One that may be asked itself does not know the log's
/// pages, so that they stay files.
///
/// # Errors
/// The configuration cannot be read.
pub fn application(spec: &Spec, context: &Context<'_>) -> Result<Option<Application>, SubjectError> {
    if !context.allowed_upstreams.is_empty() {
        return Ok(None);
    }
    Ok(configuration(spec, context)?.and_then(|(_, entrance)| entrance.application))
}

/// The kind of the key that an arm's server has where it runs, as far as its certificate's file says it.
///
/// # Errors
/// The configuration cannot be read.
pub fn key_kind(spec: &Spec, context: &Context<'_>) -> Result<Option<KeyKind>, SubjectError> {
    let entrance = configuration(spec, context)?.map(|(_, entrance)| entrance);
    Ok(entrance.and_then(|entrance| key_kind_of(&entrance.certificates)?.ok()))
}

/// Writes the copies for one start. `prefix`: where the program itself begins relative paths; `lines`: directives that the
/// copy gets besides.
pub(crate) fn copies(
    place: &StartSite<'_>,
    (language, path): (Language, &Path),
    tls: bool,
    (prefix, lines): (&Path, &str),
) -> Result<Copies, SubjectError> {
    let wrong = |source| SubjectError::Adopt { arm: place.arm(), source };
    let made = match &place.certificate {
        Some(made) => made.clone(),
        None => Certificate::create(&place.dir)?,
    };
    let configuration = bakeoff_adopt::read(language, &place.context.at_home(path)).map_err(wrong)?;
    let entrance = configuration.entrance(Some(tls), place.context.asked_host.as_deref()).map_err(wrong)?;
    let further: Vec<u16> = place.further_ports.iter().map(|(_, port)| *port).collect();
    let known = place.context.stand_ins;
    let unused = SocketAddr::from((place.context.host(), place.port)); // asked by none of its lines
    // Its files may be none, where an application makes all of its pages.
    let objects = place.context.catalogue.as_ref().and_then(|catalogue| fs::metadata(catalogue).ok());
    let has_site = objects.is_some_and(|objects| objects.len() > 0)
        || fs::read_dir(&place.root).is_ok_and(|mut site| site.next().is_some());
    let setting = Setting {
        address: place.context.host(),
        entrance: entrance.port,
        port: place.port,
        further: &further,
        dir: &place.dir,
        site: has_site.then_some(&*place.root),
        certificate: (&made.cert, &made.key),
        stand_ins: StandIns {
            http: known.http.unwrap_or(unused),
            https: known.https.unwrap_or(unused),
            fastcgi: known.fastcgi.unwrap_or(unused),
        },
        allowed: &place.context.allowed_upstreams,
        prefix,
        lines,
    };
    let copies = configuration.adopt(&setting).map_err(wrong)?;
    copies.write().map_err(wrong)?;
    Ok(copies)
}
