"""Whether the generator's counts and the server's are the same. Pure: counts in, sentences out.

After a drain every request that was begun has ended on both sides, so all must be equal. After a hard stop
the requests in flight are `cut-off`: the server may have seen and answered any of them, and no other.
"""


def own(said):
    """The generator's counts among themselves."""
    faults = []
    by_class = sum(said["errors_by_class"].values())
    if said["requests"] != said["replies"] + said["errors"] or said["errors"] != by_class:
        faults.append(
            f"the generator's own counts do not add up: {said['requests']} requests, {said['replies']} replies, "
            f"{said['errors']} errors, {by_class} of them named"
        )
    for times in ("response_ns", "service_ns", "first_byte_ns"):
        if said[times]["count"] != said["replies"]:
            faults.append(f"{times} has {said[times]['count']} times for {said['replies']} replies")
    return faults


def drained(said, tally):
    """Nothing was in flight at the end."""
    faults = own(said)
    if said["errors"]:
        faults.append(f"{said['errors']} errors: {said['errors_by_class']}")
    if said["statuses"] != {"200": said["replies"]}:
        faults.append(f"statuses {said['statuses']} for {said['replies']} replies")
    for what, ours, theirs in (
        ("requests", said["requests"], tally.requests),
        ("replies", said["replies"], tally.replies),
        ("connections", said["connections"], tally.connections),
    ):
        if theirs is not None and ours != theirs:
            faults.append(f"{what}: the generator counts {ours} and the server {theirs} ({theirs - ours:+})")
    if tally.others:
        faults.append(f"the server also says: {tally.others}")
    return faults


def cut_off(said, tally, seats):
    """It was stopped with requests in flight, in at most so many seats."""
    faults = own(said)
    cut = said["errors_by_class"].get("cut-off", 0)
    if cut != said["errors"]:
        faults.append(f"other errors than those that were cut off: {said['errors_by_class']}")
    if cut > seats:
        faults.append(f"{cut} requests were cut off, and there are {seats} seats")
    for what, theirs in (("requests", tally.requests), ("replies", tally.replies)):
        if not said["replies"] <= theirs <= said["replies"] + cut:
            faults.append(f"{what}: the server counts {theirs}, the generator {said['replies']} replies and {cut} cut off")
    return faults
