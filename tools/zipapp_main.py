"""The first code of tidelog.pyz: unpacks the file into a cache of the user, once, and runs it there.

The directory is named by a digest of the content, so versions live side by side, and an unpacked one is never
changed. It appears under its name only when it is complete. Python 3.6 must be able to read this file, to say
that it is too old.
"""

import json
import os
import shutil
import sys
import sysconfig
import tempfile
import zipfile


def main():
    archive = zipfile.ZipFile(os.path.abspath(sys.argv[0]))
    facts = json.loads(archive.read("facts.json").decode())
    _check(facts)
    site = os.path.join(_cache(), facts["digest"], "site")
    if not os.path.isdir(site):
        _unpack(archive, os.path.dirname(site))
    sys.path.insert(0, site)
    # Brokers of `tidelog up --brokers 3` are processes of their own.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [site, os.environ.get("PYTHONPATH")]))
    from tidelog.cli.main import main as command

    command()


def _check(facts):
    here = {"python": "%d.%d" % sys.version_info[:2], "platform": sysconfig.get_platform()}
    if any(here[name] != facts[name] for name in here):
        sys.exit(
            "Error: this tidelog.pyz is for Python {python} on {platform}, ".format(**facts)
            + "but this is Python {python} on {platform}.\n".format(**here)
            + "  Try: python{python} tidelog.pyz; or make one on such a host: make zipapp".format(**facts)
        )


def _cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    cache = os.path.join(base, "tidelog")
    try:
        os.makedirs(cache, mode=0o700, exist_ok=True)
    except OSError as error:
        sys.exit(
            "Error: cannot unpack tidelog.pyz to {}: {}.\n".format(cache, error.strerror)
            + "  Try: XDG_CACHE_HOME=DIR tidelog.pyz …, with a directory that only you can write to"
        )
    if os.stat(cache).st_uid != os.getuid():
        sys.exit("Error: {} belongs to another user, whose code would run here.".format(cache))
    return cache


def _unpack(archive, target):
    partial = tempfile.mkdtemp(dir=os.path.dirname(target))
    try:
        archive.extractall(partial, [name for name in archive.namelist() if name.startswith("site/")])
        os.rename(partial, target)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        if not os.path.isdir(target):  # else another process was faster
            sys.exit("Error: cannot unpack tidelog.pyz to {}: {}.".format(target, error.strerror))


if __name__ == "__main__":
    main()
