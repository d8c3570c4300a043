//! Generators of a run on another machine, called from the machine that asked for it: their bytes pass a socket there.
//!
//! Between the run, which starts a `relay` in place of each launcher, and the runner ([`listen`]). A relay says its number,
//! then what the run says; it is told blocks of standard output and standard error.

use crate::Failure;
use crate::args::RelayArgs;
use crate::exit::Exit;
use bakeoff_reach::{PieceOf, Voice, pass_on};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Relays by number.
type Relays = Arc<Mutex<BTreeMap<u32, UnixStream>>>;

/// Passes on what relays say, and to them what comes for them.
///
/// # Errors
/// The socket cannot be made.
pub(super) fn listen(socket: &Path, voice: &Voice) -> io::Result<()> {
    let listener = UnixListener::bind(socket)?;
    let relays = Relays::default();
    let own = relays.clone();
    voice.on_pass(Box::new(move |number, errors, bytes| {
        let mut relays = own.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(relay) = relays.get_mut(&number) else { return };
        // A relay that is gone says so by itself.
        if bytes.is_empty() && !errors {
            let _ = relay.shutdown(Shutdown::Write);
        } else {
            let _ = block(relay, errors, bytes);
        }
    }));
    let voice = voice.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (relays, voice) = (relays.clone(), voice.clone());
            thread::spawn(move || heard(stream, &relays, &voice));
        }
    });
    Ok(())
}

fn block(relay: &mut UnixStream, errors: bool, bytes: &[u8]) -> io::Result<()> {
    relay.write_all(&[u8::from(errors)])?;
    relay.write_all(&(bytes.len() as u32).to_be_bytes())?;
    relay.write_all(bytes)
}

/// Passes on what one relay says, until it ends.
fn heard(mut stream: UnixStream, relays: &Relays, voice: &Voice) -> io::Result<()> {
    let mut number = [0; 4];
    stream.read_exact(&mut number)?;
    let number = u32::from_be_bytes(number);
    relays.lock().unwrap_or_else(PoisonError::into_inner).insert(number, stream.try_clone()?);
    let mut at = 0;
    let passed = pass_on(&mut stream, |bytes| {
        voice.piece(PieceOf::Pass(number), at, bytes);
        at += bytes.len() as u64;
        Ok(())
    });
    voice.piece(PieceOf::Pass(number), at, &[]);
    passed
}

/// A launcher for the run, whose far end somebody else calls.
pub(crate) fn relay(args: &RelayArgs) -> Result<Exit, Failure> {
    passed_through(args).map(|()| Exit::Verdicts).map_err(Failure::failed)
}

fn passed_through(args: &RelayArgs) -> io::Result<()> {
    let mut stream = UnixStream::connect(&args.socket)?;
    stream.write_all(&args.number.to_be_bytes())?;
    let mut to = stream.try_clone()?;
    thread::spawn(move || {
        let _ = pass_on(&mut io::stdin(), |bytes| to.write_all(bytes));
        let _ = to.shutdown(Shutdown::Write);
    });
    loop {
        let mut head = [0; 5];
        match stream.read_exact(&mut head) {
            Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let [errors, length @ ..] = head;
        let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut bytes)?;
        if errors == 0 {
            let mut output = io::stdout().lock();
            output.write_all(&bytes)?;
            output.flush()?;
        } else {
            io::stderr().lock().write_all(&bytes)?;
        }
    }
}
