"""The file with a new cluster's first users, in the first log dir of each voter.

It is read before the broker joins, and removed once the cluster exists: it has served then.
"""

import logging

from tidelog.base.errors import StorageError
from tidelog.base.ports import Disk, read_file
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.security.bootstrap import Bootstrap

FILE = "security.bootstrap"

log = logging.getLogger("tidelog.broker.security")


def read_bootstrap(disk: Disk, log_dir: str, cluster_id: str | None) -> Bootstrap | None:
    """Raises StorageError for a file that is damaged, or made for another cluster than `cluster.id`."""
    path = f"{log_dir}/{FILE}"
    raw = read_file(disk, path)
    if raw is None:
        return None
    bootstrap = Bootstrap.load(raw, path)
    if cluster_id:
        _check_cluster(path, bootstrap, cluster_id)
    return bootstrap


def retire_bootstrap(disk: Disk, log_dir: str, bootstrap: Bootstrap | None, image: ClusterImage) -> None:
    """Removes the file of a cluster that exists now."""
    if bootstrap is None:
        return
    path = f"{log_dir}/{FILE}"
    _check_cluster(path, bootstrap, image.cluster_id)
    if not bootstrap.is_in(image):
        log.warning(
            "ignoring the users of %s: cluster %s has users of its own. tidelog security user add adds more",
            path,
            image.cluster_id,
        )
    disk.remove(path)
    disk.sync_dir(log_dir)


def _check_cluster(path: str, bootstrap: Bootstrap, cluster_id: str) -> None:
    if bootstrap.cluster_id not in ("", cluster_id):
        raise StorageError(
            f"{path} holds the first users of cluster {bootstrap.cluster_id}, and this broker belongs to "
            f"cluster {cluster_id}; remove the file, or give the broker the log dir that it was made for"
        )
