"""The text of the systemd unit. `deploy/systemd/tidelog.service` is the one of the defaults.

The service can write to its log dirs and nowhere else, sees no home directories, devices or other processes,
and can gain no privilege. What is missing from the hardening that systemd offers is what a broker needs: the
network, and /proc/meminfo and the like for its metrics.
"""

import os
from typing import NamedTuple

NAME = "tidelog"
UNIT_PATH = "/etc/systemd/system/tidelog.service"
CONFIG_PATH = "/etc/tidelog/broker.yaml"
STATE_DIR = "/var/lib/tidelog"
STOP_TIMEOUT_S = 90
WATCHDOG_S = 60
OPEN_FILES = 1_048_576


class Service(NamedTuple):
    command: str
    """The path of `tidelog`."""
    config: str = CONFIG_PATH
    user: str = NAME
    alone: bool = False
    """A single broker rather than a member of a cluster."""
    writable: tuple[str, ...] = ()
    """Directories outside of STATE_DIR that the settings name."""
    first_log_dir: str = STATE_DIR


def unit_text(service: Service) -> str:
    writable = "".join(f"ReadWritePaths={path}\n" for path in service.writable)
    return _UNIT.format(
        command=service.command,
        verb="up" if service.alone else "broker",
        config=service.config,
        user=service.user,
        state=os.path.basename(STATE_DIR),
        state_dir=STATE_DIR,
        writable=writable,
        mounts=" ".join(dict.fromkeys((STATE_DIR, service.first_log_dir))),
        stop_s=STOP_TIMEOUT_S,
        watchdog_s=WATCHDOG_S,
        open_files=OPEN_FILES,
    )


_UNIT = """\
# Written by `tidelog service install`. Changes of your own: systemctl edit tidelog
[Unit]
Description=Tidelog broker
# A broker believes the clock that it starts with, and deletes by it what its topics keep for a time.
Wants=network-online.target time-sync.target
After=network-online.target time-sync.target
# The first log dir has the metadata: below a disk that is not mounted the broker would be a new one. It can
# do without its other disks.
RequiresMountsFor={mounts}

[Service]
# The broker says when it is ready. The first start of a cluster waits for its voters, and a start after a
# crash for the recovery of the logs, so there is no limit of time.
Type=notify
NotifyAccess=main
TimeoutStartSec=infinity
ExecStart={command} {verb} --config {config}
User={user}
Group={user}
WorkingDirectory={state_dir}

# SIGTERM hands the partitions to other brokers and flushes everything.
KillSignal=SIGTERM
KillMode=mixed
TimeoutStopSec={stop_s}
Restart=on-failure
RestartSec=2
# 2: the settings are wrong, which another start does not change.
RestartPreventExitStatus=2
WatchdogSec={watchdog_s}
OOMScoreAdjust=-500
LimitNOFILE={open_files}

# The only places that it can write to.
StateDirectory={state}
StateDirectoryMode=0750
{writable}ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
UMask=0027

NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
PrivateDevices=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""
