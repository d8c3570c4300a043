//! Checks of limits on the number of connections.

use super::super::descriptors::descriptors_for;
use super::{CheckInput, Judged, Level};

/// `TCP_TIMEWAIT_LEN` of the kernel, seconds.
const TIME_WAIT_S: u64 = 60;
/// With `tcp_tw_reuse` a port may be used again after this, seconds.
const REUSE_S: u64 = 1;
/// Share beyond which a limit is taken as reached: other processes count against it as well.
const NEARLY_FULL: f64 = 0.9;

pub(super) fn descriptors(asked: &CheckInput<'_>) -> Option<Judged> {
    let (limit, connections) = (asked.seen.open_files?, asked.need.connections);
    let (needed, soft, hard) = (descriptors_for(connections), limit.soft, limit.hard);
    if needed <= soft {
        return Some(Judged::ok(format!(
            "{soft} file descriptors, {hard} at most; {connections} connections need {needed}"
        )));
    }
    let found = format!("{connections} connections need {needed} file descriptors and the limit is {soft}");
    let wanted = format!("{needed} or more");
    Some(if needed <= hard {
        Judged::but(
            found,
            Level::Note,
            wanted,
            format!("bakeoff raises its own to {needed}, and what it starts inherits that"),
            format!(
                "A server that is already running keeps its limit; `ulimit -n {needed}` before it is started raises that one."
            ),
        )
    } else {
        Judged::but(
            found,
            Level::Spoils,
            wanted,
            "connections beyond it fail",
            format!(
                "The hard limit is {hard}; `ulimit -Hn {needed}` as root or `LimitNOFILE={needed}` in a systemd unit \
                 raises it."
            ),
        )
    })
}

pub(super) fn file_table(asked: &CheckInput<'_>) -> Option<Judged> {
    let (used, most) = asked.seen.network.file_table?;
    // Both ends of a connection may be on this machine.
    let needed = used.saturating_add(2 * descriptors_for(asked.need.connections));
    let found = format!("{used} files are open on the whole machine, of {most}");
    if needed as f64 <= NEARLY_FULL * most as f64 {
        return Some(Judged::ok(found));
    }
    Some(Judged::but(
        found,
        Level::Spoils,
        format!("room for {}", needed - used),
        "when the table is full, nobody can open anything",
        format!("`sysctl fs.file-max={}` raises it.", needed.saturating_mul(2)),
    ))
}

pub(super) fn ports(asked: &CheckInput<'_>) -> Option<Judged> {
    let (first, last) = asked.seen.port_range?;
    let reused = match asked.seen.tw_reuse {
        Some(1) => true,
        Some(2) => asked.need.loopback,
        _ => false,
    };
    let hold_s = if reused { REUSE_S } else { TIME_WAIT_S };
    let ports = u64::from(last.saturating_sub(first)) + 1;
    let most = ports / hold_s;
    let Some(rate) = asked.need.connection_rate else {
        return Some(Judged::ok(format!(
            "{ports} ports, enough for {most} new connections a second to one address"
        )));
    };
    if rate.get() * hold_s as f64 <= ports as f64 {
        return Some(Judged::ok(format!("{ports} ports, enough for {rate} new connections to one address")));
    }
    Some(Judged::but(
        format!(
            "at {rate} new connections and {hold_s} s until a port can be used again, the {ports} local ports are used \
             up"
        ),
        Level::Spoils,
        format!("at most {most} new connections a second"),
        "connections fail with `connect-failed`",
        "`sysctl net.ipv4.ip_local_port_range=\"1024 65535\"` and `net.ipv4.tcp_tw_reuse=1` help (or a wider range where \
         --ports or `ports` says one), or a lower rate, or keep-alive.",
    ))
}

pub(super) fn time_wait(asked: &CheckInput<'_>) -> Option<Judged> {
    let held = asked.seen.network.time_wait?;
    let (first, last) = asked.seen.port_range?;
    let ports = u64::from(last.saturating_sub(first)) + 1;
    let most = asked.seen.network.time_wait_most.unwrap_or(u64::MAX);
    let found = format!("{held} sockets wait for the end of TIME_WAIT");
    if held <= ports / 2 && held as f64 <= NEARLY_FULL * most as f64 {
        return Some(Judged::ok(found));
    }
    let each = asked.need.connection_rate.is_some();
    Some(Judged::but(
        found,
        if each { Level::Spoils } else { Level::Note },
        format!("at most {}", (ports / 2).min(most)),
        "an earlier load still holds their ports",
        format!(
            "Wait {TIME_WAIT_S} s; if they stay, something else opens connections: `ss -tan state time-wait`."
        ),
    ))
}

pub(super) fn conntrack(asked: &CheckInput<'_>) -> Option<Judged> {
    let Some((used, most)) = asked.seen.network.conntrack else {
        return Some(Judged::ok("connections are not tracked"));
    };
    let needed = used.saturating_add(asked.need.connections);
    let found = format!("{used} connections are tracked, of {most}");
    if needed as f64 <= NEARLY_FULL * most as f64 {
        return Some(Judged::ok(found));
    }
    Some(Judged::but(
        found,
        Level::Spoils,
        format!("room for {needed}"),
        "packets of new connections are dropped when the table is full, and tried again after a second",
        format!(
            "`sysctl net.netfilter.nf_conntrack_max={}`, or rules with `notrack` for the ports under load.",
            needed.saturating_mul(2)
        ),
    ))
}

pub(super) fn somaxconn(asked: &CheckInput<'_>) -> Option<Judged> {
    let most = asked.seen.network.somaxconn?;
    let found = format!("{most} connections may wait to be accepted");
    queue(asked, most, found, "net.core.somaxconn", "a server's own backlog counts too, if it is smaller")
}

pub(super) fn syn_backlog(asked: &CheckInput<'_>) -> Option<Judged> {
    let most = asked.seen.network.syn_backlog?;
    let cookies = asked.seen.network.syn_cookies == Some(true);
    let found = format!(
        "{most} connections may be half open{}",
        if cookies { ", then cookies are sent" } else { "" }
    );
    if cookies {
        return Some(Judged::ok(found));
    }
    queue(
        asked,
        most,
        found,
        "net.ipv4.tcp_max_syn_backlog",
        "`net.ipv4.tcp_syncookies=1` does without the limit",
    )
}

/// A queue that must hold all connections when they are opened together.
fn queue(asked: &CheckInput<'_>, most: u64, found: String, setting: &str, besides: &str) -> Option<Judged> {
    let needed = asked.need.connections;
    if needed <= most {
        return Some(Judged::ok(found));
    }
    Some(Judged::but(
        found,
        Level::Note,
        format!("{needed}, as many as there are connections"),
        "of connections that are opened together those beyond it are dropped, and tried again after a second",
        format!("`sysctl {setting}={needed}`; {besides}."),
    ))
}
