//! Reader of the files in which a Linux kernel describes itself and the machine.
//!
//! Thin: a text, or the reason why there is none. Everything is below one root, so that tests can lay out machines that
//! they do not run on.

use flate2::read::GzDecoder;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// A file system that describes a machine.
#[derive(Debug)]
pub(super) struct Host {
    root: PathBuf,
}

/// A value, or the reason why there is none.
pub(super) type Found<T> = Result<T, String>;

impl Host {
    /// This machine.
    pub(super) fn here() -> Self {
        Self::below(Path::new("/"))
    }

    /// A machine laid out below a directory.
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The real path of an absolute one.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The file's text without the white space around it.
    pub(super) fn text(&self, path: &str) -> Found<String> {
        let bytes = fs::read(self.path(path)).map_err(|why| reason(path, why.kind(), &why))?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The file's text as a value of one line.
    pub(super) fn line(&self, path: &str) -> Found<String> {
        self.text(path).and_then(|text| match one_line(&text) {
            line if line.is_empty() => Err(format!("{path} is empty")),
            line => Ok(line),
        })
    }

    /// Names in a directory, sorted; none if it cannot be read.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(directory)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// `cpu0`, `cpu1`, ... in rising order.
    pub(super) fn cpus(&self) -> Vec<usize> {
        let number = |name: String| name.strip_prefix("cpu")?.parse().ok();
        let mut cpus: Vec<usize> =
            self.names("/sys/devices/system/cpu").into_iter().filter_map(number).collect();
        cpus.sort_unstable();
        cpus
    }

    /// The configuration that the running kernel was built with.
    pub(super) fn kernel_configuration(&self) -> Found<KernelConfiguration> {
        if let Some(text) = fs::read(self.path("/proc/config.gz")).ok().and_then(|packed| unpacked(&packed)) {
            return Ok(KernelConfiguration(text));
        }
        let release = self.line("/proc/sys/kernel/osrelease")?;
        let places = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
        let found = places.iter().find_map(|path| self.text(path).ok());
        found.map(KernelConfiguration).ok_or_else(|| {
            format!(
                "the kernel's configuration is readable neither in /proc/config.gz nor {}",
                places.join(" nor ")
            )
        })
    }
}

/// Text of a kernel's `.config`.
pub(super) struct KernelConfiguration(String);

impl KernelConfiguration {
    /// Whether an option is built in.
    pub(super) fn is_on(&self, option: &str) -> bool {
        self.value(option) == Some("y")
    }

    /// An option's value, if set.
    pub(super) fn value(&self, option: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(option)?.strip_prefix('='))
    }
}

/// Replaces white space of any kind by one space and drops other control characters.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).collect()
}

/// A kernel configuration is some 0.3 MB; a file that unpacks to more than this is not one.
const MOST_UNPACKED: u64 = 8_000_000;

fn unpacked(packed: &[u8]) -> Option<String> {
    let mut text = String::new();
    GzDecoder::new(packed).take(MOST_UNPACKED).read_to_string(&mut text).ok()?;
    Some(text)
}

fn reason(path: &str, kind: ErrorKind, why: &std::io::Error) -> String {
    match kind {
        ErrorKind::NotFound => format!("no {path}"),
        ErrorKind::PermissionDenied => format!("{path} may not be read"),
        _ => format!("{path}: {why}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    use tempfile::TempDir;

    /// A made-up machine: absolute paths and their texts.
    pub(crate) fn machine(files: &[(&str, &str)]) -> (TempDir, Host) {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::below(directory.path());
        for (path, text) in files {
            let path = host.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (directory, host)
    }

    const CONFIGURATION: &str = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_AB=m\nCONFIG_HZ=250\n";

    fn judge(configuration: &KernelConfiguration) {
        assert!(configuration.is_on("CONFIG_A"));
        assert!(!configuration.is_on("CONFIG_AB"));
        assert!(!configuration.is_on("CONFIG_B"));
        assert_eq!(configuration.value("CONFIG_HZ"), Some("250"));
        assert_eq!(configuration.value("CONFIG_H"), None);
    }

    #[test]
    fn the_configuration_is_found_packed_or_in_boot() {
        let (_directory, host) =
            machine(&[("/proc/sys/kernel/osrelease", "6.1.0\n"), ("/boot/config-6.1.0", CONFIGURATION)]);
        judge(&host.kernel_configuration().unwrap());

        let (_directory, host) = machine(&[("/proc/sys/kernel/osrelease", "6.1.0\n")]);
        assert!(host.kernel_configuration().err().unwrap().contains("/boot/config-6.1.0"));
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(CONFIGURATION.as_bytes()).unwrap();
        fs::write(host.path("/proc/config.gz"), packed.finish().unwrap()).unwrap();
        judge(&host.kernel_configuration().unwrap());
    }

    #[test]
    fn what_cannot_be_read_has_a_reason() {
        let (_directory, host) = machine(&[("/empty", "\n"), ("/two", "a\tb\nc\u{7}\n")]);
        assert_eq!(host.text("/none"), Err("no /none".to_owned()));
        assert_eq!(host.line("/empty"), Err("/empty is empty".to_owned()));
        assert_eq!(host.line("/two"), Ok("a b c".to_owned()));
    }
}
