//! Messages byte by byte, and servers that answer them.

use super::*;

/// As captured bytes would have it: RFC 5531, section 9.
const CALL: [u8; 40] = [
    0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0x20, 0, 9, 0x99, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0,
];
const REPLY: [u8; 24] = [0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[test]
fn a_null_call_and_its_reply_are_what_the_standard_says() {
    assert_eq!(message::call(7), CALL);
    assert_eq!(message::reply(&CALL), Some(REPLY));
    assert!(message::is_success(&REPLY, 7));
    assert!(!message::is_success(&REPLY, 8));
    let mut record = [0; 44];
    message::mark(&mut record, &CALL);
    assert_eq!(record[..4], [0x80, 0, 0, 40]);
    assert_eq!(message::unmarked(&record), CALL);
    assert!(message::unmarked(&record[..43]).is_empty());
}

#[test]
fn another_program_version_or_procedure_is_refused_by_its_name() {
    for (word, status) in [(3, 1), (4, 2), (5, 3)] {
        let mut call = CALL;
        call[4 * word + 3] ^= 4;
        let reply = message::reply(&call).unwrap();
        assert_eq!(reply[20..], [0, 0, 0, status], "word {word}");
        assert!(!message::is_success(&reply, 7));
    }
    for word in [1, 2] {
        let mut call = CALL;
        call[4 * word + 3] ^= 4;
        assert_eq!(message::reply(&call), None, "word {word}");
    }
    assert_eq!(message::reply(&CALL[..39]), None);
}

#[test]
fn a_server_answers_every_call_and_nothing_else() {
    let (ours, theirs) = datagrams().unwrap();
    let server = std::thread::spawn(move || serve_datagrams(&theirs));
    let mut reply = [0; 64];
    ours.send(b"no call").unwrap();
    for xid in 0..20 {
        ours.send(&message::call(xid)).unwrap();
        let length = ours.recv(&mut reply).unwrap();
        assert!(message::is_success(&reply[..length], xid), "{:?}", &reply[..length]);
    }
    drop(server); // it answers until the process ends
}

#[test]
fn a_stream_is_served_until_it_is_closed() {
    let (listener, address) = listener(0).unwrap();
    let server = std::thread::spawn(move || serve_stream(listener.accept().unwrap().0));
    let mut stream = TcpStream::connect(address).unwrap();
    for xid in 0..20 {
        let mut call = [0; 44];
        message::mark(&mut call, &message::call(xid));
        // The network may cut where it likes.
        stream.write_all(&call[..9]).unwrap();
        stream.write_all(&call[9..]).unwrap();
        let mut reply = [0; 28];
        stream.read_exact(&mut reply).unwrap();
        assert!(message::is_success(message::unmarked(&reply), xid));
    }
    drop(stream);
    assert_eq!(server.join().unwrap(), 20);
}
