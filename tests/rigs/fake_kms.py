"""A small key management service as a command: keys in a file, the last of them is the current one.

The file given as argument is a JSON object of ids and keys in hexadecimal.
"""

import base64
import json
import sys
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE = bytes(12)


def main() -> None:
    keys = {
        name: AESGCM(bytes.fromhex(key)) for name, key in json.loads(Path(sys.argv[1]).read_text()).items()
    }
    request = json.load(sys.stdin)
    current = list(keys)[-1]
    answer = {"kek_id": current}
    if request["operation"] == "wrap":
        wrapped = keys[current].encrypt(NONCE, base64.b64decode(request["key"]), None)
        answer["wrapped"] = base64.b64encode(wrapped).decode()
    elif request["operation"] == "unwrap":
        if request["kek_id"] not in keys:
            sys.exit(f"access to {request['kek_id']} is denied")
        plain = keys[request["kek_id"]].decrypt(NONCE, base64.b64decode(request["wrapped"]), None)
        answer = {"key": base64.b64encode(plain).decode()}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
