//! A client's connection, from its first frame to its end.
//!
//! Measured side, server process, a thread each, fed by strangers. Owns the order of messages. Data that is no frame,
//! or comes out of turn, closes the connection under a name of its own.

use super::coherence::Callback;
use super::counters::Count;
use super::error::No;
use super::principals::{NotAdmitted, Principals};
use super::state::Server;
use crate::frame::{
    ClientRequest, ConnectionPurpose, MOST_BODY_BYTES, MOST_CREDENTIALS_BYTES, MessageHead, ServerReply,
};
use crate::lease::SessionNumber;
use crate::network::{Cut, Receiver};
use crate::refusal::Refusal;
use crate::stream::{Peer, Stream};
use bakeoff_layers_base::daemon::door::{ConnectionHandler, Seat, Seats, SentAway};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for HELLO.
const FIRST: Duration = Duration::from_secs(10);
/// Time limit from a frame's first byte to its last: a mebibyte at a seventh of a megabit a second.
const WHOLE: Duration = Duration::from_secs(60);
/// Time without a question after which the thread checks whether the session is still alive.
const QUIET: Duration = Duration::from_secs(60);
/// Longest time for which a peer may not take an answer.
const TAKING: Duration = Duration::from_secs(60);
/// The same for a break or a sign of life, some bytes: a client that lets it wait is asleep, and its term ends.
const HEARING: Duration = Duration::from_secs(1);

/// The peer of a connection, if there are credentials.
type Known<'s> = Option<(&'s Principals, Peer)>;

impl ConnectionHandler for Server {
    fn seats(&self) -> &Arc<Seats> {
        &self.seats
    }

    fn attend(&self, stream: TcpStream, seat: &Seat) {
        attend(self, stream, seat);
    }

    fn send_away(&self, why: SentAway) {
        self.tally.refuse(match why {
            SentAway::TooMany => Refusal::TooManyConnections,
            SentAway::TooManyStrangers => Refusal::TooManyStrangers,
            SentAway::TooManyOfAddress => Refusal::TooManyOfAddress,
            SentAway::Silent => Refusal::NoHello,
        });
    }
}

/// Serves a connection until it ends.
fn attend(server: &Server, socket: TcpStream, seat: &Seat) {
    server.tally.add(Count::Connections, 1);
    let refused = match receiver(server, socket) {
        Ok(Some(mut receiver)) => serve(server, &mut receiver, seat).err().map(|refusal| (receiver, refusal)),
        Ok(None) => return server.tally.refuse(Refusal::NoLeaf),
        Err(_) => None,
    };
    if let Some((receiver, Some(refusal))) = refused {
        let _ = send(&receiver, &not_done(server, refusal.into()));
        // The thread that sends the session's breaks has the stream, too.
        let _ = receiver.stream().socket().shutdown(Shutdown::Both);
    }
}

/// Receiver of a connection; `None` if the server cannot prove its identity.
fn receiver(server: &Server, socket: TcpStream) -> std::io::Result<Option<Receiver>> {
    let stream = match &server.principals {
        None => Stream::plain(socket),
        Some(principals) => match principals.config() {
            Some(config) => Stream::server(socket, config)?,
            None => return Ok(None),
        },
    };
    Receiver::new(stream).map(Some)
}

/// Serves until the end; `None` if the other side just closed.
fn serve(server: &Server, receiver: &mut Receiver, seat: &Seat) -> Result<(), Option<Refusal>> {
    let began = Instant::now();
    let known = greet(server, receiver)?;
    let sits = known.as_ref().map(|(principals, peer)| principals.sit((peer.key, seat.machine())));
    let _seat = sits.transpose()?;
    let left = FIRST.saturating_sub(began.elapsed());
    receiver.limit(MOST_CREDENTIALS_BYTES as u32);
    let head = receiver.next(Some(left), left).map_err(|cut| match cut {
        Cut::Silent | Cut::HalfFrame => Some(Refusal::NoHello),
        cut => refusal(cut),
    })?;
    let request = ClientRequest::read(&head, receiver.body())?;
    let ClientRequest::Hello { class, session, boot, credentials } = request else {
        return Err(Some(Refusal::HelloOutOfTurn));
    };
    match class {
        ConnectionPurpose::Callback => {
            // A client that names its session of this start says that it is over.
            let last = (boot == server.boot && session != 0).then_some(session);
            let last = last.filter(|last| joins(&known, *last).is_ok());
            let credentials = credentials.to_vec();
            callbacks(server, (receiver, seat), last, (&known, &credentials))
        }
        ConnectionPurpose::Data if boot != server.boot => Err(Some(Refusal::OtherBoot)),
        ConnectionPurpose::Data => {
            joins(&known, session)?;
            seat.is_known();
            if let Some((principals, peer)) = known.as_ref().filter(|_| !credentials.is_empty()) {
                let renewed = principals.renew(peer, credentials, session);
                if let Err(why) = renewed {
                    return refuse(principals, why, |answer| {
                        let mut out = Vec::new();
                        answer.put(&mut out);
                        send(receiver, &out)
                    });
                }
                server.tally.add(Count::Renewals, 1);
            }
            server.coherence.join(session)?;
            let served = data(server, receiver, session);
            server.coherence.leave(session);
            served
        }
    }
}

/// Identifies the peer, if that is required.
fn greet<'s>(server: &'s Server, receiver: &mut Receiver) -> Result<Known<'s>, Option<Refusal>> {
    let Some(principals) = &server.principals else { return Ok(None) };
    receiver.shake_hands(FIRST).map_err(|cut| match cut {
        Cut::Silent => Some(Refusal::NoHello),
        Cut::Io(error) => match error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::NoCertificatesPresented) => Some(Refusal::NoCertificate),
            Some(_) => Some(Refusal::TlsRefused),
            None => None,
        },
        cut => refusal(cut),
    })?;
    let peer = receiver.stream().peer().ok_or(Refusal::NoCertificate)?;
    Ok(Some((&**principals, peer)))
}

/// Checks that a session belongs to this key.
fn joins(known: &Known<'_>, session: SessionNumber) -> Result<(), Refusal> {
    let Some((principals, peer)) = known else { return Ok(()) };
    if principals.of(session)?.key == peer.key { Ok(()) } else { Err(Refusal::OtherKey) }
}

/// Serves questions and answers.
fn data(server: &Server, receiver: &mut Receiver, session: SessionNumber) -> Result<(), Option<Refusal>> {
    receiver.limit(MOST_BODY_BYTES);
    receiver.stream().socket().set_write_timeout(Some(TAKING)).map_err(|_| None)?;
    let mut out = Vec::new();
    welcome(server, session).put(&mut out);
    send(receiver, &out)?;
    loop {
        let head = match receiver.next(Some(QUIET), WHOLE) {
            Err(Cut::Silent) if server.coherence.ask(session, &[]).is_ok() => continue,
            other => other.map_err(refusal)?,
        };
        let request = ClientRequest::read(&head, receiver.body())?;
        match request {
            ClientRequest::Hello { .. } => return Err(Some(Refusal::HelloOutOfTurn)),
            ClientRequest::Ping { .. }
            | ClientRequest::Ack { .. }
            | ClientRequest::Forget { .. }
            | ClientRequest::Bye => {
                return Err(Some(Refusal::WrongClass));
            }
            _ => {}
        }
        out.clear();
        match server.export.serve(session, &request, &mut out) {
            Ok(()) => send(receiver, &out)?,
            Err(No::Refused(Refusal::SessionOver)) => return Err(Some(Refusal::SessionOver)),
            Err(no) => send(receiver, &not_done(server, no))?,
        }
    }
}

/// Tells a client why it is not let in.
fn refuse(
    principals: &Principals,
    why: NotAdmitted,
    say: impl FnOnce(&ServerReply<'_>) -> Result<(), Option<Refusal>>,
) -> Result<(), Option<Refusal>> {
    match why {
        NotAdmitted::Here(refusal) => Err(Some(refusal)),
        NotAdmitted::Credentials(why) => {
            principals.refuse(&why);
            say(&ServerReply::Refused { name: why.name(), sentence: &why.to_string() })
        }
    }
}

/// Serves signs of life and acknowledgements; other threads send breaks the other way.
fn callbacks(
    server: &Server,
    (receiver, seat): (&mut Receiver, &Seat),
    last: Option<SessionNumber>,
    (known, credentials): (&Known<'_>, &[u8]),
) -> Result<(), Option<Refusal>> {
    receiver.stream().socket().set_write_timeout(Some(HEARING)).map_err(|_| None)?;
    let callback = Arc::new(Callback::new(receiver.stream().clone()));
    let open = || server.coherence.open(callback.clone(), last);
    let session = match known {
        None => open(),
        Some((principals, peer)) => match principals.admit(peer, credentials, open) {
            Ok(session) => session,
            Err(why) => {
                return refuse(principals, why, |answer| {
                    callback.say(answer);
                    Ok(())
                });
            }
        },
    };
    seat.is_known();
    callback.say(&welcome(server, session));
    let ended = hear(server, receiver, (session, &callback));
    // The session lives until its term is over: a kernel may keep its answers till then.
    server.coherence.leave(session);
    ended
}

fn hear(
    server: &Server,
    receiver: &mut Receiver,
    (session, callback): (SessionNumber, &Callback),
) -> Result<(), Option<Refusal>> {
    let is_asked = AtomicBool::new(false);
    let mut is_new = true;
    thread::scope(|scope| {
        loop {
            let head = receiver.next(None, WHOLE).map_err(refusal)?;
            match ClientRequest::read(&head, receiver.body())? {
                // Nobody waits for a session that was told nothing yet.
                request if request.is_small() && std::mem::take(&mut is_new) => {
                    callback.send(&answer(server, session, (&head, receiver.body())));
                }
                ClientRequest::Ping { stamp } => {
                    server.tally.add(Count::Pings, 1);
                    let left_ms = server.coherence.renew(session).ok_or(Refusal::SessionOver)?;
                    callback.say(&ServerReply::Alive { stamp, left_ms });
                }
                ClientRequest::Ack { number } => server.coherence.acknowledge(session, number),
                ClientRequest::Forget { object, count } => server.export.forget(session, object, count),
                ClientRequest::Bye => {
                    server.coherence.bye(session);
                    return Ok(());
                }
                ClientRequest::Hello { .. } => return Err(Some(Refusal::HelloOutOfTurn)),
                request if request.is_small() && !is_asked.swap(true, Ordering::AcqRel) => {
                    // It may wait for another client, which waits for an acknowledgement that comes here.
                    let (body, is_asked) = (receiver.body().to_vec(), &is_asked);
                    let answer = move || {
                        let answer = answer(server, session, (&head, &body));
                        // Before it is sent: its receiver may ask again.
                        is_asked.store(false, Ordering::Release);
                        callback.send(&answer);
                    };
                    thread::Builder::new().spawn_scoped(scope, answer).map_err(|_| None)?;
                }
                _ => return Err(Some(Refusal::WrongClass)),
            }
        }
    })
}

/// Answer to a question on the callback connection: a session's first, for which another connection would be
/// expensive.
fn answer(server: &Server, session: SessionNumber, (head, body): (&MessageHead, &[u8])) -> Vec<u8> {
    let mut out = Vec::new();
    let served = ClientRequest::read(head, body)
        .map_err(No::from)
        .and_then(|request| server.export.serve(session, &request, &mut out));
    served.map_or_else(|no| not_done(server, no), |()| out)
}

fn welcome(server: &Server, session: SessionNumber) -> ServerReply<'static> {
    ServerReply::Welcome { boot: server.boot, session, term_ms: server.term_ms }
}

fn send(receiver: &Receiver, bytes: &[u8]) -> Result<(), Option<Refusal>> {
    receiver.stream().write_all(bytes).map_err(|_| None)
}

/// Frame that says that something is not done; our own refusals are counted.
fn not_done(server: &Server, no: No) -> Vec<u8> {
    let (errno, refusal) = match no {
        No::Kernel(errno) => (errno, 0),
        No::Refused(refusal) => {
            server.tally.refuse(refusal);
            (refusal.errno(), refusal.number())
        }
    };
    let mut out = Vec::new();
    ServerReply::Error { errno: (errno as i32).unsigned_abs(), refusal }.put(&mut out);
    out
}

/// Reason why a connection gives no more frames, if the client is to blame.
fn refusal(cut: Cut) -> Option<Refusal> {
    match cut {
        Cut::Frame(refusal) => Some(refusal),
        Cut::HalfFrame => Some(Refusal::HalfFrame),
        Cut::Silent => Some(Refusal::SessionOver),
        Cut::Closed | Cut::Io(_) => None,
    }
}
