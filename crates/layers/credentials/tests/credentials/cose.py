"""Verifies a statement with pycose and prints its claims, one a line: cose.py LABEL KEY STATEMENT."""

import sys

import cbor2
from pycose.keys import OKPKey
from pycose.keys.curves import Ed25519
from pycose.messages import Sign1Message


def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


label, key, path = sys.argv[1:]
with open(path, "rb") as file:
    message = Sign1Message.decode(file.read())
message.external_aad = label.encode()
message.key = OKPKey(crv=Ed25519, x=bytes.fromhex(key))
if not message.verify_signature():
    sys.exit("the signature is not that key's")
for claim, value in cbor2.loads(message.payload).items():
    print(f"{claim}: {plain(value)!r}")
