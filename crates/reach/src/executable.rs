//! The run's own executable on another host, told apart by its SHA-256 and sent there if it is missing.
//!
//! Cold. A shell there says `need`, takes exactly so many bytes, and becomes the far end. Where a host begins one by
//! itself, as a forced command does, nothing is said and nothing is sent.

use bakeoff_results::digest;
use bakeoff_units::Bytes;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

const OWN: &str = "/proc/self/exe";
/// The command that passes on what is said to a far end that somebody else calls, at a socket.
const RELAY: &str = "relay";
/// Bytes between two signs of progress.
const PIECE: usize = 1 << 20;
/// Line before the bytes: what was said until then is for the far end itself, and is said again.
const BEGINS: &[u8] = b"executable\n";
/// For `sh`: takes a SHA-256, a size and the words of a far end. The executable is that of the PATH or the cache if it
/// has the SHA-256; else it comes over standard input. A csh that passes it on wants one line, and neither `'` nor `!`.
const SCRIPT: &str = concat!(
    r#"d="${XDG_CACHE_HOME:-$HOME/.cache}/bakeoff"; own="$d/bakeoff"; sum="$1"; size="$2"; shift 2; t=""; line=""; u="$(umask)"; "#,
    r#"is() { [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -c1-64)" = "$sum" ]; }; "#,
    r#"for f in "$(command -v bakeoff)" "$own"; do if is "$f"; then exec "$f" "$@"; fi; done; "#,
    r#"echo "{\"n\":0,\"say\":{\"need\":{\"machine\":\"$(uname -sm)\"}}}"; "#,
    r#"trap "exit 74" HUP TERM; trap "rm -f \"\$t\"" EXIT; "#,
    r#"until [ "$line" = executable ]; do read -r line || exit 74; done; "#,
    r#"umask 077; mkdir -p "$d" && t="$(mktemp "$d/XXXXXX")" && head -c "$size" >"$t" && is "$t" && chmod 700 "$t" && "#,
    r#"mv -f "$t" "$own" && umask "$u" && exec "$own" "$@"; echo "the executable did not get to $own" >&2; exit 74"#,
);

/// The executable of this process.
#[derive(Clone, Debug)]
pub struct Executable {
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    size: Bytes,
}

impl Executable {
    /// That of this process.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn own() -> io::Result<Self> {
        let own = Path::new(OWN);
        Ok(Self { sha256: digest::sha256_of(own)?, size: Bytes::new(own.metadata()?.len()) })
    }

    /// Words that become it, with `arguments`, on a host that may lack it. Behind ssh they go through a login shell.
    pub(crate) fn words(&self, arguments: &[&str], is_login_shell: bool) -> Vec<String> {
        let script = if is_login_shell { format!("'{SCRIPT}'") } else { SCRIPT.to_owned() };
        let mut words = vec!["sh".to_owned(), "-c".to_owned(), script, "bakeoff".to_owned()];
        words.extend([self.sha256.clone(), self.size.get().to_string()]);
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        words
    }
}

/// Words that become the far end of this number, called by whoever listens at the socket.
pub(crate) fn relay(socket: &Path, number: usize) -> Vec<String> {
    vec![OWN.to_owned(), RELAY.to_owned(), socket.display().to_string(), number.to_string()]
}

/// Refuses a kind of machine that it is not for.
pub(crate) fn demand_kind(machine: &str) -> Result<(), String> {
    let own = format!("Linux {}", std::env::consts::ARCH);
    if machine == own {
        return Ok(());
    }
    Err(format!("it is a {machine}, and the run's executable is for {own}: both ends are of one build"))
}

/// Sends it to a shell that needs it, and says so after each piece that went.
///
/// # Errors
/// It cannot be read, or the channel takes no more.
pub(crate) fn send(output: &mut impl Write, mut went: impl FnMut()) -> io::Result<()> {
    let (mut own, mut piece) = (File::open(OWN)?, vec![0; PIECE]);
    output.write_all(BEGINS)?;
    loop {
        match own.read(&mut piece)? {
            0 => return output.flush(),
            count => output.write_all(&piece[..count])?,
        }
        went();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// Exit code and standard output of the far shell, which is told all this.
    fn far_end(home: &Path, of: &Executable, told: &[u8]) -> (Option<i32>, String) {
        let words = of.words(&["-"], false);
        let mut shell = Command::new(&words[0])
            .args(&words[1..])
            .env("HOME", home)
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _ = shell.stdin.take().unwrap().write_all(told);
        let ended = shell.wait_with_output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stdout).unwrap())
    }

    #[test]
    fn a_shell_takes_the_executable_once_and_what_follows_is_for_it() {
        let home = tempfile::tempdir().unwrap();
        // It prints the rest of its standard input.
        let program = b"#!/bin/sh\nexec cat \"$@\"\n";
        let of = Executable { sha256: digest::sha256(&[program]), size: Bytes::new(program.len() as u64) };
        let told = [b"hello\n", BEGINS, program, b"hello again\n"].concat();
        let (code, said) = far_end(home.path(), &of, &told);
        let (need, rest) = said.split_once('\n').unwrap();
        assert!(need.starts_with(r#"{"n":0,"say":{"need":{"machine":"Linux "#), "{need}");
        assert_eq!((code, rest), (Some(0), "hello again\n"));
        assert_eq!(far_end(home.path(), &of, b"hello\n"), (Some(0), "hello\n".to_owned()), "it is there");

        let kept = home.path().join(".cache/bakeoff");
        std::fs::write(kept.join("bakeoff"), "an older one").unwrap();
        let cut = [BEGINS, &program[..10]].concat();
        assert_eq!(far_end(home.path(), &of, &cut).0, Some(74));
        let names: Vec<_> = kept.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["bakeoff"], "half an executable is none");
        assert_eq!(std::fs::read(kept.join("bakeoff")).unwrap(), b"an older one");
    }

    #[test]
    fn any_login_shell_passes_the_script_on() {
        assert!(!SCRIPT.contains(['\'', '!', '\n']));
    }

    #[test]
    fn a_run_has_its_own_executable_to_send() {
        let (own, mut sent, mut pieces) = (Executable::own().unwrap(), Vec::new(), 0);
        send(&mut sent, || pieces += 1).unwrap();
        let bytes = sent.strip_prefix(BEGINS).unwrap();
        assert_eq!((bytes.len() as u64, digest::sha256(&[bytes])), (own.size.get(), own.sha256));
        assert!(pieces >= bytes.len() / PIECE);
    }
}
