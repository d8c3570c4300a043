//! Apache httpd as a subject, with our configuration or the user's.
//!
//! Everything it writes is below its private directory, which is its `ServerRoot`. Started by root
//! it runs wholly as `nobody`.

use crate::SubjectError;
use crate::config::{demand_port, quoted, sets};
use crate::includes;
use crate::product::nginx::MIME_TYPES;
use crate::program::{self, Place, Recipe, Subject};
use crate::user::Runner;
use std::path::{Path, PathBuf};

pub(crate) struct Apache {
    pub(crate) config: Option<PathBuf>,
    pub(crate) tls: bool,
}

/// Where distributions keep the modules.
const MODULE_PLACES: [&str; 4] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/libexec/apache2",
];

/// Threads above the connections: for those of health checks, and of the last slice that close.
const SPARE_THREADS: usize = 32;

/// Apache's own bound of `ThreadLimit`.
const MOST_THREADS: usize = 20_000;

impl Subject for Apache {
    fn tls(&self) -> bool {
        self.tls
    }

    fn runner(&self) -> Option<Runner> {
        Runner::unprivileged()
    }

    fn environment(&self, place: &Place<'_>) -> Result<Vec<(String, String)>, SubjectError> {
        Ok(debian_environment(&place.dir.display().to_string()))
    }

    fn recipe(&self, place: &Place<'_>) -> Result<Recipe, SubjectError> {
        let missing = || SubjectError::NoProgram {
            arm: place.arm(),
            program: "apache2".to_owned(),
            remedy: "install it (Debian, Ubuntu: `apt-get install apache2`)".to_owned(),
        };
        let httpd = program::find(&["apache2", "httpd"]).ok_or_else(missing)?;
        let config = match &self.config {
            None => self.own_config(place, &httpd, modules().ok_or_else(missing)?)?,
            Some(path) => users_config(place, path)?,
        };
        let file = place.write("httpd.conf", &config)?;
        let log = place.dir.join("error.log");
        let dir = place.dir.display().to_string();
        let mut argv = vec![httpd.display().to_string(), "-d".into(), dir, "-f".into()];
        argv.extend([file.display().to_string(), "-DFOREGROUND".into()]);
        for directive in missing_globals(&config, &place.dir) {
            argv.extend(["-C".into(), directive]);
        }
        let said = program::ask(&httpd, "-v").unwrap_or_default();
        let version = said.lines().next().map(|line| line.trim_start_matches("Server version: ").to_owned());
        Ok(Recipe {
            argv,
            cwd: place.dir.clone(),
            version,
            config: Some(config),
            logs: vec![log],
            ..Recipe::default()
        })
    }
}

impl Apache {
    fn own_config(&self, place: &Place<'_>, httpd: &Path, modules: &Path) -> Result<String, SubjectError> {
        let types = place.write("mime.types", &mime_types())?;
        let (root, host, port) = (quoted(&place.root), place.context.host(), place.port);
        let mut names = vec!["mpm_event", "authz_core", "unixd", "dir", "rewrite", "mime"];
        let tls = if self.tls {
            names.extend(["socache_shmcb", "ssl"]);
            let made = place.demand_certificate()?;
            let cache = place.dir.join("sessions");
            format!(
                "SSLEngine on\nSSLProtocol -all +TLSv1.2 +TLSv1.3\nSSLSessionCache {}\nSSLCertificateFile {}\nSSLCertificateKeyFile {}\n",
                quoted(Path::new(&format!("shmcb:{}(512000)", cache.display()))),
                quoted(&made.cert),
                quoted(&made.key)
            )
        } else {
            String::new()
        };
        let mut protocols = "";
        if place.context.http2 {
            demand_http2(&place.arm(), httpd, modules)?;
            names.push("http2");
            protocols =
                if self.tls { "Protocols h2 http/1.1\n" } else { "Protocols h2c http/1.1\nH2Direct on\n" };
        }
        let loads: String = names.iter().filter_map(|name| load(modules, name)).collect();
        let globals = missing_globals("", &place.dir).join("\n");
        // DirectorySlash Off with the rule gives a directory's index with 200, as nginx's
        // try_files does, where Apache would redirect.
        let directives = place.directives("the directives for Apache")?;
        let threads = threads_for(place.context.connections);
        Ok(format!(
            "{globals}
LogLevel warn
ServerName localhost
Listen {host}:{port}
{loads}TypesConfig {types}
{threads}Timeout 60
EnableSendfile On
DocumentRoot {root}
DirectoryIndex index.html
DirectorySlash Off
<Directory {root}>
    Options FollowSymLinks
    AllowOverride None
    Require all granted
</Directory>
RewriteEngine On
RewriteCond %{{DOCUMENT_ROOT}}%{{REQUEST_URI}} -d
RewriteRule [^/]$ %{{REQUEST_URI}}/index.html [PT,L]
{tls}{protocols}{directives}",
            types = quoted(&types),
        ))
    }
}

/// The directives for so many connections at once, which are kept open. When all threads of a process are
/// busy, Apache closes kept-alive connections that wait. A load generator would count that as errors, so
/// there are more threads than connections, in one process (several share connections unevenly), all there
/// from the start.
pub(crate) fn threads_for(connections: usize) -> String {
    let threads = connections.saturating_add(SPARE_THREADS).min(MOST_THREADS);
    format!(
        "StartServers 1
ServerLimit 1
ThreadLimit {threads}
ThreadsPerChild {threads}
MinSpareThreads 1
MaxSpareThreads {threads}
MaxRequestWorkers {threads}
MaxConnectionsPerChild 0
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 600
"
    )
}

/// The module is there, or built in.
fn demand_http2(arm: &str, httpd: &Path, modules: &Path) -> Result<(), SubjectError> {
    let built_in = || program::ask(httpd, "-l").is_ok_and(|said| said.contains("mod_http2.c"));
    if load(modules, "http2").is_some() || built_in() {
        return Ok(());
    }
    Err(SubjectError::NoHttp2 {
        arm: arm.to_owned(),
        program: "Apache",
        missing: format!("there is no mod_http2.so in {}", modules.display()),
        remedy: "install mod_http2",
    })
}

pub(crate) fn modules() -> Option<&'static Path> {
    MODULE_PLACES.iter().map(Path::new).find(|place| place.is_dir())
}

/// None for a module that is built in.
pub(crate) fn load(modules: &Path, name: &str) -> Option<String> {
    let file = modules.join(format!("mod_{name}.so"));
    file.exists().then(|| format!("LoadModule {name}_module {}\n", quoted(&file)))
}

fn mime_types() -> String {
    MIME_TYPES.iter().map(|(kind, ends)| format!("{kind} {ends}\n")).collect()
}

pub(crate) fn users_config(place: &Place<'_>, path: &Path) -> Result<String, SubjectError> {
    let text = place.read(path)?;
    let original = place.context.at_home(path);
    let wrong =
        |source| SubjectError::Config { arm: place.arm(), origin: original.display().to_string(), source };
    demand_port(&text, "Listen {host}:{port}").map_err(wrong)?;
    let text = place.substitutions().file(&text).map_err(wrong)?;
    if sets(&text, "ServerRoot") {
        return Ok(text); // relative paths mean what they meant
    }
    let homes =
        [original.parent().unwrap_or(Path::new("/")), Path::new("/etc/apache2"), Path::new("/etc/httpd")];
    Ok(includes::absolute(&text, &["includeoptional", "include"], &homes))
}

/// What bakeoff needs and the configuration does not say.
pub(crate) fn missing_globals(config: &str, dir: &Path) -> Vec<String> {
    let wanted = [
        ("DefaultRuntimeDir", dir.to_owned()),
        ("PidFile", dir.join("httpd.pid")),
        ("ErrorLog", dir.join("error.log")),
    ];
    wanted
        .iter()
        .filter(|(directive, _)| !sets(config, directive))
        .map(|(directive, path)| format!("{directive} {}", quoted(path)))
        .collect()
}

/// What Debian's configuration files expect from its start script.
pub(crate) fn debian_environment(dir: &str) -> Vec<(String, String)> {
    [
        ("APACHE_RUN_DIR", dir.to_owned()),
        ("APACHE_LOCK_DIR", dir.to_owned()),
        ("APACHE_LOG_DIR", dir.to_owned()),
        ("APACHE_PID_FILE", format!("{dir}/httpd.pid")),
        ("APACHE_RUN_USER", "nobody".to_owned()),
        ("APACHE_RUN_GROUP", "nogroup".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http2_without_its_module_is_refused_by_name() {
        // `true -l` says nothing of a module that is built in.
        let refused = demand_http2("a", Path::new("/bin/true"), Path::new("/nowhere")).unwrap_err();
        let said = refused.to_string();
        for word in
            ["arm `a`", "Apache", "no mod_http2.so in /nowhere", "install mod_http2", "take `http2` out"]
        {
            assert!(said.contains(word), "{said}");
        }
    }
}
