//! `bakeoff load`: TLS settings from its flags.
//!
//! Cold. Names and files are checked by `loadgen`, which knows them; here they get their exit code.

use crate::Failure;
use crate::args::{LoadArgs, TlsArgs};
use bakeoff_loadgen::{Alpn, ClientIdentity, Share, TlsOptions, TlsSettings, TlsSetupError, Trust};

/// What is asked of TLS.
pub(super) fn options(args: &LoadArgs) -> TlsOptions {
    let tls = &args.tls;
    let trust = match (&args.cacert, args.insecure) {
        (_, true) => Trust::Anyone,
        (Some(file), _) => Trust::File(file.clone()),
        (None, false) => Trust::system(),
    };
    // The parser lets no other through.
    let versions = tls.version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default();
    // The parser wants both or neither.
    let identity = tls.cert.clone().zip(tls.key.clone());
    let alpn: &[Alpn] = if args.http2 { &[Alpn::H2] } else { &[] };
    TlsOptions::new(trust)
        .alpn(alpn)
        .versions(versions)
        .suites(&tls.ciphers)
        .groups(&tls.groups)
        .post_quantum(!tls.no_post_quantum)
        .identity(identity.map(|(certificate, key)| ClientIdentity { certificate, key }))
        .resume(tls.resume.unwrap_or(Share::ALL))
}

/// The same, checked, with its files read.
pub(super) fn settings(args: &LoadArgs) -> Result<TlsSettings, Failure> {
    options(args).load().map_err(|error| match error {
        TlsSetupError::UnknownSuite { .. }
        | TlsSetupError::UnknownGroup { .. }
        | TlsSetupError::SuiteOfOtherVersion { .. }
        | TlsSetupError::GroupOfOtherVersion { .. }
        | TlsSetupError::PostQuantumOff { .. } => Failure::usage(error),
        TlsSetupError::Authority { .. }
        | TlsSetupError::Identity { .. }
        | TlsSetupError::IdentityUnfit { .. }
        | TlsSetupError::Library(_) => Failure::failed(error),
    })
}

/// Refuses flags that say something of TLS where there is none.
pub(super) fn none_wanted(tls: &TlsArgs) -> Result<(), Failure> {
    let given = [
        ("--tls", tls.version.is_some()),
        ("--cipher", !tls.ciphers.is_empty()),
        ("--group", !tls.groups.is_empty()),
        ("--no-post-quantum", tls.no_post_quantum),
        ("--cert", tls.cert.is_some()),
        ("--resume", tls.resume.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::usage(format!("{flag} is of TLS; give a URL with https://"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::exit::Exit;
    use bakeoff_loadgen::Versions;
    use clap::Parser;

    fn args(line: &str) -> Result<LoadArgs, String> {
        let words = ["bakeoff", "load", "https://localhost/"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Load(args) => Ok(args),
            other => Err(format!("{other:?}")),
        }
    }

    fn asked(line: &str) -> TlsOptions {
        options(&args(line).unwrap())
    }

    #[test]
    fn without_flags_all_is_left_to_the_library() {
        assert_eq!(asked(""), TlsOptions::new(Trust::system()));
        assert_eq!(asked("--insecure"), TlsOptions::new(Trust::Anyone));
        assert_eq!(asked("--cacert a.pem"), TlsOptions::new(Trust::File("a.pem".into())));
    }

    #[test]
    fn each_flag_is_one_wish() {
        let none = || TlsOptions::new(Trust::system());
        let identity = ClientIdentity { certificate: "c.pem".into(), key: "k.pem".into() };
        for (line, wish) in [
            ("--tls 1.2", none().versions(Versions::Tls12)),
            ("--tls 1.3", none().versions(Versions::Tls13)),
            ("--cipher a --cipher b", none().suites(["a", "b"])),
            ("--group X25519 --group secp256r1", none().groups(["X25519", "secp256r1"])),
            ("--no-post-quantum", none().post_quantum(false)),
            ("--cert c.pem --key k.pem", none().identity(Some(identity))),
            ("--resume 50%", none().resume("50%".parse().unwrap())),
            ("--resume 0%", none().resume(Share::NONE)),
        ] {
            assert_eq!(asked(line), wish, "{line}");
            assert!(none_wanted(&args(line).unwrap().tls).is_err(), "{line}");
        }
        assert!(none_wanted(&args("--insecure").unwrap().tls).is_ok());
    }

    #[test]
    fn wrong_values_are_refused_with_what_is_right() {
        for (line, hint) in [
            ("--tls 1.1", "1.2"),
            ("--cert c.pem", "--key"),
            ("--key k.pem", "--cert"),
            ("--resume 150%", "more than 100%"),
            ("--resume 0.5", "a share such as"),
        ] {
            let said = args(line).unwrap_err();
            assert!(said.contains(hint), "{line}: {said}");
        }
    }

    #[test]
    fn wrong_names_are_the_users_and_unreadable_files_are_not() {
        for (line, exit, hint) in [
            ("--insecure --cipher RC4", Exit::Usage, "TLS13_AES_256_GCM_SHA384"),
            ("--insecure --group X448", Exit::Usage, "X25519MLKEM768"),
            ("--insecure --group X25519MLKEM768 --tls 1.2", Exit::Usage, "of TLS 1.2"),
            ("--cacert /nowhere.pem", Exit::Failed, "/nowhere.pem"),
            ("--insecure --cert /nowhere.pem --key k", Exit::Failed, "/nowhere.pem"),
        ] {
            let failure = settings(&args(line).unwrap()).unwrap_err();
            assert_eq!(failure.exit, exit, "{line}");
            assert!(failure.message.contains(hint), "{line}: {}", failure.message);
        }
    }
}
