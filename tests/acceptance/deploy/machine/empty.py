"""The machine: root on it changes /etc, /opt and /var, and starts processes, for this test only."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agui_host.embedded import child
from tests import needs
from tests.acceptance.deploy.machine import programs
from tests.acceptance.host import ROOT, wait_for
from tests.backends.test_tls_engines import Authority

NAME = "agents.example.com"
LETSENCRYPT = f"/etc/letsencrypt/live/{NAME}"
# The first process of the machine; ended children leave nothing behind.
SETUP = """
set -eu
cd {folder}
for name in etc opt var; do
  mkdir -p $name.upper $name.work
  mount -t overlay overlay -o lowerdir=/$name,upperdir=$name.upper,workdir=$name.work /$name
done
mount -t tmpfs none /run
install -d -o postgres /run/postgresql
install -d -m 1777 /run/lock
mkdir /opt/packages /opt/python
mount --bind {packages} /opt/packages
mount --bind {base} /opt/python
# The interpreter can lie in a home that other accounts cannot enter.
mount -t tmpfs -o mode=755 none /root
mkdir -p {base}
mount --bind /opt/python {base}
echo 'fsync = off' > /etc/postgresql/15/main/conf.d/test.conf
echo '127.0.0.1 {name}' >> /etc/hosts
cat {ca} >> /etc/ssl/certs/ca-certificates.crt
install -d {letsencrypt}
cp {certificate} {letsencrypt}/fullchain.pem
cp {key} {letsencrypt}/privkey.pem
exec {python} -ISc 'import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
open("{folder}/up", "w").close()
while True: signal.pause()'
"""

# `python3 -m venv FOLDER`: with the packages of this environment, which no test downloads.
PYTHON = """#!/bin/sh
{} "$@"
for folder in "$3"/lib/python*/site-packages; do
  echo /opt/packages > "$folder/packages.pth"
done
"""


class Machine:
    """Commands of root in its clone of the repository."""

    def __init__(self, folder: Path, process: int, authority: Authority) -> None:
        self.folder, self.clone, self.authority = folder, folder / "clone", authority
        self._enter = ["nsenter", "-t", str(process), "-m", "-p", "--"]
        self._env = {
            "PATH": f"{folder / 'programs'}:{programs.PATH}", "HOME": "/root",
            # Packages that ours needs are there; pip installs ours.
            "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_ROOT_USER_ACTION": "ignore",
        }  # fmt: skip

    def type(self, text: str, *, fails: bool = False) -> str:
        """Run lines of a page in a shell; their output."""
        shell = ["/bin/bash", "-euc", f"cd {self.clone}\n{text}"]
        done = subprocess.run(
            [*self._enter, *shell], env=self._env, stdin=subprocess.DEVNULL, timeout=240,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert bool(done.returncode) is fails, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@contextmanager
def empty(folder: Path) -> Iterator[Machine]:
    """A machine on which nothing of ours is installed."""
    for tool in ("postgres", "redis-server", "nginx"):
        needs.need(tool)
    needs.need_root()
    authority = Authority(folder, "encrypt", "127.0.0.1", NAME)
    subprocess.run(["git", "clone", "-q", ROOT, folder / "clone"], check=True, timeout=60)
    (folder / "programs").mkdir()
    shutil.copy(programs.__file__, folder / "programs.py")
    for name in programs.PROGRAMS:
        path = folder / "programs" / name
        command = shlex.join([sys._base_executable, "-IS", str(folder / "programs.py"), name])
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        path.chmod(0o755)
    (folder / "programs" / "python3").write_text(PYTHON.format(sys._base_executable))
    (folder / "programs" / "python3").chmod(0o755)
    setup = SETUP.format(
        folder=folder, python=sys._base_executable, name=NAME, letsencrypt=LETSENCRYPT,
        packages=sysconfig.get_path("purelib"), base=sys.base_prefix,
        ca=authority.ca, certificate=authority.certificate, key=authority.key,
    )  # fmt: skip
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    with (folder / "setup.log").open("wb") as log:
        command = [*own, "/bin/bash", "-c", setup]
        process = child.spawn(command, death=signal.SIGKILL, log=log, env=dict(os.environ))
    try:
        try:
            wait_for(lambda: (folder / "up").exists() or process.poll() is not None, "it", 30)
        finally:
            if not (folder / "up").exists():
                needs.missing(f"needs mounts: {(folder / 'setup.log').read_text()[-300:]}")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        yield Machine(folder, int(children.split()[0]), authority)
    finally:
        process.kill()
        process.wait(30)
