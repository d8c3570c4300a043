//! The files of the guest's disk: programs of this machine with their libraries, a site, sources, scripts.
//!
//! Measuring side, cold. Laid out as Debian is, with one directory for programs and one for libraries, so that
//! the policy's labels fit. Every file has the same time, so that two builds of the same inputs are the same.

use super::elf;
use crate::GuestError;
use crate::GuestPart;
use crate::error::at;
use crate::part::FILES;
use crate::plan::GuestPlan;
use crate::tools::Tool;
use bakeoff_subject::find_program;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// What the guest's files are dated, in seconds since 1970.
pub(super) const DATED: u64 = 1_700_000_000;
/// Scripts of the guest.
const SCRIPTS: [(&str, &str); 2] =
    [("count.sh", include_str!("../assets/count.sh")), ("serve.sh", include_str!("../assets/serve.sh"))];
const NGINX: &str = include_str!("../assets/nginx.conf");
/// Directories that are there from the beginning.
const DIRECTORIES: [&str; 15] = [
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib64",
    "proc",
    "sys",
    "dev",
    "tmp",
    "run",
    "data",
    "scripts",
    "etc/nginx",
    "var/www",
    "var/log/nginx",
    "var/lib/nginx",
];
/// Links of a merged /usr.
const LINKS: [(&str, &str); 4] =
    [("bin", "usr/bin"), ("sbin", "usr/sbin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")];
/// What busybox is called in the guest.
const APPLETS: [&str; 12] =
    ["sh", "sort", "od", "grep", "tee", "wc", "rm", "cat", "true", "mkdir", "mkfifo", "dmesg"];
/// C files of the small compile, and functions in each: together some 40 lines of a small kernel file.
const SOURCES: u32 = 4;
const FUNCTIONS: u32 = 12;

/// busybox of this machine, which must need no library: nothing else is there when it starts.
pub(super) fn busybox() -> Result<PathBuf, GuestError> {
    let found = find_program(&["busybox"]).unwrap_or_else(|| "/bin/busybox".into());
    match elf::loader(&found)? {
        None => Ok(found),
        Some(_) => Err(GuestError::Recipe(format!(
            "{} is not linked statically; apt-get install busybox-static",
            found.display()
        ))),
    }
}

/// Fills an empty directory.
pub(super) fn plant(plan: &GuestPlan, root: &Path) -> Result<(), GuestError> {
    let tree = Tree { root };
    for name in DIRECTORIES {
        let path = root.join(name);
        fs::create_dir_all(&path).map_err(at(path))?;
    }
    for (link, target) in LINKS {
        symlink(target, root.join(link)).map_err(at(root.join(link)))?;
    }
    tree.copy(&busybox()?, "usr/bin/busybox")?;
    for applet in APPLETS {
        let path = root.join("usr/bin").join(applet);
        symlink("busybox", &path).map_err(at(path))?;
    }
    let own = std::env::current_exe().map_err(at("/proc/self/exe"))?;
    tree.program(&own, "usr/bin/bakeoff")?;
    for (name, text) in SCRIPTS {
        tree.file(&format!("scripts/{name}"), text.as_bytes())?;
    }
    tree.file("scripts/operations", plan.operation_words().join(",").as_bytes())?;
    tree.file("scripts/batches", plan.batches.to_string().as_bytes())?;
    for part in &plan.parts {
        tree.file(&format!("scripts/part-{}", part.word()), b"")?;
    }
    tree.file("etc/passwd", b"root:x:0:0:root:/:/bin/sh\n")?;
    tree.file("etc/group", b"root:x:0:\n")?;
    if plan.parts.contains(&GuestPart::Web) {
        site(&tree)?;
    }
    if plan.parts.contains(&GuestPart::Compile) {
        compiler(&tree)?;
    }
    Ok(())
}

/// nginx and WebStone's files, and one that the policy keeps from web servers though its mode does not.
fn site(tree: &Tree<'_>) -> Result<(), GuestError> {
    let nginx = find_program(&["nginx"]).unwrap_or_else(|| "/usr/sbin/nginx".into());
    tree.program(&nginx, "usr/sbin/nginx")?;
    tree.file("etc/nginx/nginx.conf", NGINX.as_bytes())?;
    for file in &FILES {
        tree.file(&format!("var/www/{}", file.name), &vec![b'x'; file.bytes])?;
    }
    tree.file("var/www/secret", b"secret")
}

/// make, the C compiler with what it executes, and sources that look like a kernel's small files.
fn compiler(tree: &Tree<'_>) -> Result<(), GuestError> {
    let dir = "usr/src/small";
    tree.file(
        &format!("{dir}/item.h"),
        b"struct item { int a, b; long c; char name[32]; };\n\
          static inline int helper(long c, int j) { return (int)(c >> j) ^ j; }\n",
    )?;
    tree.file(
        &format!("{dir}/Makefile"),
        b"O := $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(O)\n%.o: %.c item.h\n\tgcc -O1 -c -o $@ $<\n\
          clean:\n\trm -f *.o\n",
    )?;
    for number in 0..SOURCES {
        tree.file(&format!("{dir}/f{number}.c"), source(number).as_bytes())?;
    }
    tree.file("usr/src/empty.c", b"")?;
    let gcc = find_program(&["gcc"]).unwrap_or_else(|| "/usr/bin/gcc".into());
    let make = find_program(&["make"]).unwrap_or_else(|| "/usr/bin/make".into());
    tree.program(&gcc, "usr/bin/gcc")?;
    tree.program(&make, "usr/bin/make")?;
    for inner in ["cc1", "as"] {
        let said = Tool::new("gcc").words([format!("-print-prog-name={inner}")]).text()?;
        let path = Path::new(said.trim());
        let path = if path.is_absolute() { Some(path.to_owned()) } else { find_program(&[inner]) };
        let path =
            path.ok_or_else(|| GuestError::Recipe(format!("gcc has no {inner}; apt-get install gcc")))?;
        let place = path.strip_prefix("/").unwrap_or(&path).to_owned();
        tree.program(&path, &place.to_string_lossy())?;
    }
    // The headers that the sources read, which the compiler itself names: `f0.o: f0.c /usr/include/stdio.h \ ...`
    let first = tree.root.join(dir).join("f0.c");
    let read = Tool::new("gcc").words(["-O1".as_ref(), "-M".as_ref(), first.as_os_str()]).text()?;
    for header in read.split_whitespace().map(Path::new).filter(|path| path.starts_with("/usr")) {
        let plain = header.canonicalize().map_err(at(header))?;
        tree.copy(&plain, &plain.strip_prefix("/").unwrap_or(&plain).to_string_lossy())?;
    }
    Ok(())
}

fn source(number: u32) -> String {
    let head = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include \"item.h\"\n";
    let function = |f: u32| {
        format!(
            "int f{number}_{f}(struct item *p, int n)\n{{\n\tint s = {f};\n\tfor (int k = 0; k < n; k++) {{\n\
             \t\tif (p[k].a > s)\n\t\t\ts += p[k].b * {};\n\t\telse\n\t\t\ts -= helper(p[k].c, {f});\n\t}}\n\
             \treturn s;\n}}\n",
            number + 1
        )
    };
    head.to_owned() + &(0..FUNCTIONS).map(function).collect::<String>()
}

struct Tree<'r> {
    root: &'r Path,
}

impl Tree<'_> {
    fn file(&self, name: &str, bytes: &[u8]) -> Result<(), GuestError> {
        let path = self.place(name)?;
        fs::write(&path, bytes).map_err(at(&path))?;
        date(&path, 0o644)
    }

    /// A file of this machine, links followed.
    fn copy(&self, from: &Path, name: &str) -> Result<(), GuestError> {
        let path = self.place(name)?;
        if path.exists() {
            return Ok(());
        }
        let mode = fs::metadata(from).map_err(at(from))?.permissions().mode() & 0o755;
        fs::copy(from, &path).map_err(at(from))?;
        date(&path, mode)
    }

    /// A program with its libraries, which lie where its loader looks for them.
    fn program(&self, from: &Path, name: &str) -> Result<(), GuestError> {
        self.copy(from, name)?;
        for library in elf::libraries(from)? {
            // The directory may be a link of this machine's; the name is what is looked for.
            let dir = library.parent().unwrap_or(Path::new("/"));
            let dir = dir.canonicalize().map_err(at(dir))?;
            let plain = dir.join(library.file_name().unwrap_or_default());
            self.copy(&library, &plain.strip_prefix("/").unwrap_or(&plain).to_string_lossy())?;
            if library.starts_with("/lib64") {
                self.copy(&library, &format!("usr{}", library.display()))?;
            }
        }
        Ok(())
    }

    fn place(&self, name: &str) -> Result<PathBuf, GuestError> {
        let path = self.root.join(name);
        let above = path.parent().unwrap_or(self.root);
        fs::create_dir_all(above).map_err(at(above))?;
        Ok(path)
    }
}

fn date(path: &Path, mode: u32) -> Result<(), GuestError> {
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(at(path))?;
    let file = File::open(path).map_err(at(path))?;
    file.set_modified(UNIX_EPOCH + Duration::from_secs(DATED)).map_err(at(path))
}
